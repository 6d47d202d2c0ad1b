package report

import (
	"bytes"
	"fmt"
	"html"
	"math"
)

// The drawing's measures, in SVG units.
const (
	plotWidth, plotHeight             = 760, 420
	plotLeft, plotRight               = 70, 130
	plotTop, plotBottom               = 40, 50
	plotInnerWidth, plotInnerHeight   = plotWidth - plotLeft - plotRight, plotHeight - plotTop - plotBottom
	plotTimeLeast, plotTimeMost       = 0.1, 10000.0 // milliseconds, four decades and more
	plotLineWidth, plotPoint, plotGap = 2, 3, 6
	plotLetters                       = 14
)

// plotted are the lines that are drawn, one colour each that also differ in lightness.
var plotted = []struct {
	name, colour string
	of           func(Row) float64
}{
	{"p50", "#2b6cb0", func(r Row) float64 { return r.P50 }},
	{"p99", "#c05621", func(r Row) float64 { return r.P99 }},
	{"p99.9", "#742a2a", func(r Row) float64 { return r.P999 }},
}

// Plot draws times over offered rates, both on logarithmic scales: three lines for each thing that
// was measured.
func Plot(title string, rows []Row) []byte {
	var groups [][]Row
	place := map[string]int{} // of what was measured among the groups
	for _, row := range rows {
		if row.Offered == 0 {
			continue
		}
		if _, found := place[row.What]; !found {
			place[row.What] = len(groups)
			groups = append(groups, nil)
		}
		groups[place[row.What]] = append(groups[place[row.What]], row)
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" `+
		`font-family="sans-serif" font-size="12">`+"\n", plotWidth, max(1, len(groups))*plotHeight)
	fmt.Fprintf(&out, `<rect width="100%%" height="100%%" fill="#fff"/>`+"\n")
	for i, group := range groups {
		fmt.Fprintf(&out, `<g transform="translate(0 %d)">`+"\n", i*plotHeight)
		plotGroup(&out, title+": "+group[0].What, group)
		out.WriteString("</g>\n")
	}
	out.WriteString("</svg>\n")
	return out.Bytes()
}

func plotGroup(out *bytes.Buffer, title string, rows []Row) {
	least, most := rows[0].Offered, rows[0].Offered
	for _, row := range rows {
		least, most = min(least, row.Offered), max(most, row.Offered)
	}
	across := func(rate int) float64 {
		if least == most {
			return plotLeft + plotInnerWidth/2
		}
		return plotLeft + plotInnerWidth*math.Log(float64(rate)/float64(least))/math.Log(float64(most)/float64(least))
	}
	down := func(ms float64) float64 {
		ms = min(max(ms, plotTimeLeast), plotTimeMost)
		return plotTop + plotInnerHeight*(1-math.Log(ms/plotTimeLeast)/math.Log(plotTimeMost/plotTimeLeast))
	}
	fmt.Fprintf(out, `<text x="%d" y="%d" font-size="14">%s</text>`+"\n",
		plotLeft, plotTop-plotGap*3, html.EscapeString(title))
	for ms := plotTimeLeast; ms <= plotTimeMost*1.01; ms *= 10 {
		fmt.Fprintf(out, `<path d="M%d %.1fH%d" stroke="#ddd"/>`+
			`<text x="%d" y="%.1f" text-anchor="end">%g ms</text>`+"\n",
			plotLeft, down(ms), plotLeft+plotInnerWidth, plotLeft-plotGap, down(ms)+4, math.Round(ms*10)/10)
	}
	for _, row := range rows {
		fmt.Fprintf(out, `<text x="%.1f" y="%d" text-anchor="middle">%d/s</text>`+"\n",
			across(row.Offered), plotHeight-plotBottom+plotGap*3, row.Offered)
	}
	label := float64(plotHeight) // each stands above the one before it, with room for its letters
	for _, line := range plotted {
		path, command := "", "M"
		for _, row := range rows {
			path += fmt.Sprintf("%s%.1f %.1f", command, across(row.Offered), down(line.of(row)))
			command = "L"
			fmt.Fprintf(out, `<circle cx="%.1f" cy="%.1f" r="%d" fill="%s"/>`+"\n",
				across(row.Offered), down(line.of(row)), plotPoint, line.colour)
		}
		last := rows[len(rows)-1]
		label = min(down(line.of(last))+4, label-plotLetters)
		fmt.Fprintf(out, `<path d="%s" fill="none" stroke="%s" stroke-width="%d"/>`+
			`<text x="%.1f" y="%.1f" fill="%s">%s %.1f ms</text>`+"\n",
			path, line.colour, plotLineWidth, across(last.Offered)+plotGap*2, label, line.colour, line.name,
			line.of(last))
	}
}

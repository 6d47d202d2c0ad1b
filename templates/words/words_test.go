package words

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
	"time"

	"martelo/app/money"
	"martelo/app/refusal"
)

// constants are the values of a file's text constants, without those of unexported names.
func constants(t *testing.T, file string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !spec.Names[0].IsExported() {
			return true
		}
		if text, ok := spec.Values[0].(*ast.BasicLit); ok && text.Kind == token.STRING {
			value, err := strconv.Unquote(text.Value)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, value)
		}
		return true
	})
	if len(values) == 0 {
		t.Fatalf("%s has no texts", file)
	}
	return values
}

func TestEveryKeyHasASentence(t *testing.T) {
	t.Parallel()
	keys := constants(t, "keys.go")
	for _, key := range keys {
		if english.sentences[Key(key)] == "" {
			t.Errorf("%s has no sentence", key)
		}
	}
	if len(keys) != len(english.sentences) {
		t.Errorf("%d sentences for %d keys", len(english.sentences), len(keys))
	}
}

// figured are the reasons that carry figures, once for each of their codes.
func figured() []refusal.Reason {
	usd, jpy := money.MustCurrency("USD"), money.MustCurrency("JPY")
	return []refusal.Reason{
		refusal.TooLong{Max: 200}, refusal.TooShort{Min: 8}, refusal.OutOfRange{Min: 1, Max: 50},
		refusal.NotList{Max: 100},
		refusal.TooMany{Count: 100}, refusal.TooFar{Years: 5}, refusal.Hidden{}, refusal.Hidden{After: "a"},
		refusal.Skipped{Zone: "Europe/Berlin"}, refusal.ShownTwice{Zone: "Europe/Berlin"},
		refusal.AmountTooLarge{Digits: 12}, refusal.SumTooLarge{Digits: 12},
		refusal.TooPrecise{}, refusal.TooPrecise{Currency: usd}, refusal.TooPrecise{Currency: jpy},
		refusal.Typed{Currency: usd, Cause: money.ErrTooLarge},
		refusal.Typed{Currency: usd, Cause: money.ErrTooPrecise},
		refusal.Typed{Currency: jpy, Cause: money.ErrTooPrecise},
		refusal.Typed{Currency: usd, Cause: money.ErrNotDecimal},
		refusal.Typed{Currency: usd, Cause: &money.AmbiguousError{
			Readings: []money.Amount{money.FromMinor(150, usd), money.FromMinor(150000, usd)},
		}},
		refusal.WeakRedis{Setting: "appendonly", Value: "no"}, refusal.WeakRedis{Setting: "appendfsync", Value: "no"},
		refusal.WeakRedis{Setting: "maxmemory-policy", Value: "allkeys-lru"}, refusal.WeakRedis{Setting: "CONFIG"},
		refusal.OpenedLately{Count: 30}, refusal.TooManyOpen{Count: 1000}, refusal.NamedTwice{Name: "a"},
	}
}

// elsewhere are the codes that concern no field: the table of problems has them.
func elsewhere(code string) bool {
	_, is := english.problems[code]
	return is
}

func TestEveryReasonHasASentenceWithItsFigures(t *testing.T) {
	t.Parallel()
	for _, code := range constants(t, "../../app/refusal/reasons.go") {
		if own := ofOneField(code); !elsewhere(code) && english.reasons[code] == "" && !own {
			t.Errorf("%s has no sentence", code)
		}
	}
	for _, reason := range figured() {
		code := string(reason.Code())
		if !elsewhere(code) && english.reasons[code] == "" {
			t.Errorf("%s has no sentence", code)
		}
		for key, sentence := range english.reasons {
			if key == code || strings.HasSuffix(key, "."+code) {
				hasFigures(t, key, sentence, reason.Figures())
			}
		}
		if p := english.problems[code]; elsewhere(code) {
			hasFigures(t, code, p.Title+p.Detail, reason.Figures())
		}
	}
}

// ofOneField tells whether only sentences for single fields have the code.
func ofOneField(code string) bool {
	for key := range english.reasons {
		if strings.HasSuffix(key, "."+code) {
			return true
		}
	}
	return false
}

func hasFigures(t *testing.T, key, sentence string, figures refusal.Figures) {
	t.Helper()
	for place := range strings.SplitSeq(sentence, "{") {
		inside, _, isPlace := strings.Cut(place, "}")
		name, _, _ := strings.Cut(inside, ":")
		if _, has := figures[name]; isPlace && !has {
			t.Errorf("%s names {%s}, which its reason does not have", key, name)
		}
	}
}

func TestFiguresAreWrittenForWhoReads(t *testing.T) {
	t.Parallel()
	bid := money.FromMinor(1234567, money.MustCurrency("USD"))
	at := time.Date(2030, time.January, 31, 18, 0, 0, 5000, time.UTC)
	for want, got := range map[string]string{
		"Shorten the description to 10,000 characters.": In("en-US").Reason(
			refusal.Of("description", refusal.TooLong{Max: 10_000})),
		"Shorten the description to 10.000 characters.": In("de").Reason(
			refusal.Of("description", refusal.TooLong{Max: 10_000})),
		"The least bid is 12345.67.": API.Problem("too_low", refusal.Figures{"minimumBid": bid}).Detail,
		"$12,345.67 is too low. Bid at least $12,345.67.": In("en-US").Problem("too_low",
			refusal.Figures{"minimumBid": bid, "amount": bid}).Bid,
		"The auction ended at 2030-01-31T18:00:00.000005Z.": API.Problem(
			"closed", refusal.Figures{"endTime": at},
		).Detail,
		"Remove the hidden character U+202E after “Omega”.": API.Reason(
			refusal.Of("title", refusal.Hidden{Character: '\u202e', After: "Omega"})),
		"Remove the hidden character U+0007 at the beginning.": API.Reason(
			refusal.Of("title", refusal.Hidden{Character: '\a'})),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestABraceThatWasTypedIsNoPlace(t *testing.T) {
	t.Parallel()
	got := API.Reason(refusal.Of("title", refusal.Hidden{Character: '\a', After: "{after}"}))
	if want := "Remove the hidden character U+0007 after “{after}”."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

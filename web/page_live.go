package web

import (
	"bytes"
	"context"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"martelo/app/auction"
	"martelo/app/refusal"
	"martelo/templates/fragments"
	"martelo/web/read"
)

// The pages' own stream: PathLive?view=…&auctions=…&locale=…. With &have=…, the versions that the
// page shows, in the order of the auctions, it is an answer that ends at once.
const (
	pathLive  = "/live"
	viewPanel = "panel" // an auction's own page
	viewCard  = "card"  // a lot in a list
)

// pageLive is the pages' own stream of HTML.
func (s *Server) pageLive(c echo.Context) error {
	values, err := read.Query(c.Request())
	if err != nil {
		return err
	}
	view := values.Get("view")
	if view != viewPanel && view != viewCard {
		return refusal.Of("view", refusal.Unknown)
	}
	locale := read.KnownLocale(values.Get("locale"))
	if values.Has("have") {
		asked, err := read.Asked(values)
		if err != nil {
			return err
		}
		return s.streams.PageStates(c.Response(), c.Request(), asked, view, locale)
	}
	ids, err := s.watched(c, values)
	if err != nil {
		return err
	}
	return s.streams.PageStream(c.Response(), c.Request(), ids, view, locale)
}

// liveURL is where a page finds its stream; "" when it shows nothing that moves.
func liveURL(view, locale string, ids ...int64) string {
	if len(ids) == 0 {
		return ""
	}
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = strconv.FormatInt(id, 10)
	}
	return pathLive + "?" + url.Values{
		"view": {view}, "auctions": {strings.Join(texts, ",")}, "locale": {locale},
	}.Encode()
}

// watched reads which auctions a stream is to carry, each once, and checks that there are such
// auctions.
func (s *Server) watched(c echo.Context, values url.Values) ([]int64, error) {
	ids, err := read.AuctionIDs(values)
	if err != nil {
		return nil, err
	}
	return ids, s.known(c, ids)
}

func (s *Server) known(c echo.Context, ids []int64) error {
	missing, err := s.Hub.Known(c.Request().Context(), ids)
	if err == nil && len(missing) > 0 {
		err = auction.ErrNotFound
	}
	return err
}

// drawLive draws an update for all viewers of a view and locale at once. What cannot be drawn is
// not sent: the next update may.
func (s *Server) drawLive(view, locale string, u auction.Update, now time.Time) []byte {
	var drawing templ.Component
	lot := fragments.LotView{State: u.State, Locale: locale, Now: now, Since: u.Since, Confirmed: u.Confirmed}
	if view == viewPanel {
		drawing = fragments.LivePanel(fragments.LivePanelView{Lot: lot, History: history(lot, u.Recent)})
	} else {
		drawing = fragments.LiveCard(lot)
	}
	var drawn bytes.Buffer
	if err := drawing.Render(context.Background(), &drawn); err != nil {
		s.Log.Error("a live view cannot be drawn", "view", view, "auction", u.State.ID, "error", err.Error())
		return nil
	}
	return drawn.Bytes()
}

package web

import (
	"net/http"
	"unicode/utf8"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"martelo/app/auction"
	"martelo/app/catalog"
	"martelo/templates/components"
	"martelo/templates/fragments"
	"martelo/templates/layouts"
	"martelo/templates/pages"
	"martelo/web/read"
)

// auctionShow is GET /auctions/{id}.
func (s *Server) auctionShow(c echo.Context) error {
	c.Response().Header().Set("Vary", "Accept, User-Agent") // also of a refusal
	id, err := auctionID(c)
	if err != nil {
		return err
	}
	if read.AsksPage(c.Request()) {
		return s.drawnPage(c, func() (int, templ.Component, error) { return s.auctionPage(c, id) })
	}
	found, err := s.Catalog.One(c.Request().Context(), id)
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, read.MediaJSON, toAuctionJSON(found))
}

func (s *Server) auctionPage(c echo.Context, id int64) (int, templ.Component, error) {
	found, err := s.Catalog.One(c.Request().Context(), id)
	if err != nil {
		return 0, nil, err
	}
	view, err := s.auctionView(c, found, auction.RecentMax)
	if err != nil {
		return 0, nil, err
	}
	if read.AsksFragment(c.Request()) {
		return http.StatusOK, fragments.LivePanel(fragments.LivePanelView{Lot: view.Lot, History: view.History}), nil
	}
	// A link on another site fills in nothing: what stands in the field is what the viewer typed.
	if site := c.Request().Header.Get("Sec-Fetch-Site"); site != "cross-site" && site != "same-site" {
		bringAmountBack(&view.Desk, c.QueryParam(fragments.FieldAmount))
	}
	return http.StatusOK, pages.Auction(view), nil
}

// typedLengthMax bounds an amount that is brought back, in bytes: nobody types more.
const typedLengthMax = 128

// bringAmountBack puts an amount that was typed before signing in into the field again. It is not bid by that.
func bringAmountBack(desk *fragments.BidFormView, amount string) {
	if amount == "" || len(amount) > typedLengthMax || !utf8.ValidString(amount) {
		return
	}
	desk.Amount = amount
	if desk.Bidding == fragments.BiddingSignIn {
		desk.SignInURL = signInToBid(desk.Lot.ID, typedBid{text: amount})
	}
}

// auctionView is an auction's page for whoever looks, with its newest bids.
func (s *Server) auctionView(c echo.Context, a catalog.Auction, bidsShown int) (view pages.AuctionView, err error) {
	ctx := c.Request().Context()
	if view.PageView, err = s.frame(c, pages.LotHeading(a.ID, a.Title), components.AuctionPath(a.ID)); err != nil {
		return view, err
	}
	bids, err := s.Catalog.Latest(ctx, a.ID, bidsShown)
	if err != nil {
		return view, err
	}
	view.ServerTime = a.Now
	view.Title, view.Description, view.Seller = a.Title, a.Description, sellerView(a.SellerID, a.Seller)
	view.PageView.Title = pages.LotHeading(a.ID, a.Title)
	view.Summary = pages.LotSummary(a.ID, a.Description)
	view.Lot = fragments.LotView{State: a.State, Locale: view.Locale, Now: a.Now}
	view.History = history(view.Lot, bids)
	if !a.Status.Over() {
		view.LiveURL = liveURL(viewPanel, view.Locale, a.ID)
	}
	view.MayCancel = a.MayCancel(view.Viewer.Actor(), a.Now) == nil
	if view.Desk, err = s.desk(c, view.Viewer, view.Lot); err != nil {
		return view, err
	}
	return view, nil
}

// desk is the viewer's place at a lot, with a fresh key.
func (s *Server) desk(c echo.Context, viewer *layouts.Viewer, lot fragments.LotView) (fragments.BidFormView, error) {
	desk := fragments.BidFormView{Lot: lot, Bidding: fragments.BiddingAllowed, Key: newKey()}
	if viewer == nil {
		desk.Bidding = fragments.BiddingSignIn
		desk.SignInURL = components.ReturnURL(components.PathSignIn, components.AuctionPath(lot.ID))
		return desk, nil
	}
	if viewer.ID == lot.SellerID {
		desk.Bidding = fragments.BiddingOwn
		return desk, nil
	}
	var err error
	if lot.BidCount > 0 {
		desk.BidHere, err = s.Catalog.HasBid(c.Request().Context(), lot.ID, viewer.ID)
	}
	return desk, err
}

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
	return answer(c,
		func() error { return s.auctionAsJSON(c, http.StatusOK, id) },
		func() error {
			return s.sharedPage(c, func() (int, templ.Component, error) { return s.drawAuction(c, id) })
		},
		func() error {
			return s.sharedFragment(c, func() (int, templ.Component, error) { return s.drawLivePanel(c, id) })
		},
	)
}

// auctionAsJSON answers a program with an auction as it is now.
func (s *Server) auctionAsJSON(c echo.Context, status int, id int64) error {
	found, err := s.Catalog.One(c.Request().Context(), id)
	if err != nil {
		return err
	}
	return writeJSON(c, status, read.MediaJSON, toAuctionJSON(found))
}

func (s *Server) drawAuction(c echo.Context, id int64) (int, templ.Component, error) {
	found, err := s.Catalog.One(c.Request().Context(), id)
	if err != nil {
		return 0, nil, err
	}
	view, err := s.auctionView(c, found, auction.RecentMax)
	if err != nil {
		return 0, nil, err
	}
	// A link on another site fills in nothing: what stands in the field is what the viewer typed.
	if site := c.Request().Header.Get("Sec-Fetch-Site"); site != "cross-site" && site != "same-site" {
		bringAmountBack(&view.BidForm, c.QueryParam(fragments.FieldAmount))
	}
	return http.StatusOK, pages.Auction(view), nil
}

// drawLivePanel draws what changes of an auction's page.
func (s *Server) drawLivePanel(c echo.Context, id int64) (int, templ.Component, error) {
	found, err := s.Catalog.One(c.Request().Context(), id)
	if err != nil {
		return 0, nil, err
	}
	bids, err := s.Catalog.Latest(c.Request().Context(), found.State, auction.RecentMax)
	if err != nil {
		return 0, nil, err
	}
	lot := lotView(found, read.Locale(c.Request()))
	return http.StatusOK, fragments.LivePanel(fragments.LivePanelView{Lot: lot, History: history(lot, bids)}), nil
}

// typedLengthMax bounds an amount that is brought back, in bytes: nobody types more.
const typedLengthMax = 128

// bringAmountBack puts an amount that was typed before signing in into the field again. It is not
// bid by that.
func bringAmountBack(form *fragments.BidFormView, amount string) {
	if amount == "" || len(amount) > typedLengthMax || !utf8.ValidString(amount) {
		return
	}
	form.Amount = amount
	if form.Bidding == fragments.BiddingSignIn {
		form.SignInURL = signInToBid(form.Lot.ID, typedBid{text: amount})
	}
}

// auctionView is an auction's page for whoever looks, with its newest bids.
func (s *Server) auctionView(c echo.Context, a catalog.Auction, bidsShown int) (view pages.AuctionView, err error) {
	ctx := c.Request().Context()
	if view.PageView, err = s.pageView(c, pages.LotHeading(a.ID, a.Title), components.AuctionPath(a.ID)); err != nil {
		return view, err
	}
	bids, err := s.Catalog.Latest(ctx, a.State, bidsShown)
	if err != nil {
		return view, err
	}
	view.ServerTime = a.Now
	view.LotTitle, view.Description, view.Seller = a.Title, a.Description, sellerView(a.SellerID, a.Seller)
	view.Summary = pages.LotSummary(a.ID, a.Description)
	view.Lot = lotView(a, view.Locale)
	view.History = history(view.Lot, bids)
	if !a.Status.Over() {
		view.LiveURL = liveURL(viewPanel, view.Locale, a.ID)
	}
	view.MayCancel = a.MayCancel(view.Viewer.Actor(), a.Now) == nil
	if view.BidForm, err = s.bidForm(c, view.Viewer, view.Lot); err != nil {
		return view, err
	}
	return view, nil
}

// bidForm is the viewer's place at a lot, with a fresh key.
func (s *Server) bidForm(
	c echo.Context, viewer *layouts.Viewer, lot fragments.LotView,
) (form fragments.BidFormView, err error) {
	form = newBidForm(viewer, lot)
	if form.Bidding == fragments.BiddingAllowed && lot.BidCount > 0 {
		form.BidHere, err = s.Catalog.HasBid(c.Request().Context(), lot.ID, viewer.ID)
	}
	return form, err
}

// newBidForm is the same for somebody who has not bid there.
func newBidForm(viewer *layouts.Viewer, lot fragments.LotView) fragments.BidFormView {
	form := fragments.BidFormView{Lot: lot, Bidding: fragments.BiddingAllowed, Key: newKey()}
	switch {
	case viewer == nil:
		form.Bidding = fragments.BiddingSignIn
		form.SignInURL = components.ReturnURL(components.PathSignIn, components.AuctionPath(lot.ID))
		return form
	case viewer.ID == lot.SellerID:
		form.Bidding = fragments.BiddingOwn
	}
	form.ViewerID = viewer.ID
	return form
}

func lotView(a catalog.Auction, locale string) fragments.LotView {
	return fragments.LotView{State: a.State, Locale: locale, Now: a.Now}
}

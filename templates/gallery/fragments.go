package gallery

import (
	"time"

	"github.com/google/uuid"

	"github.com/a-h/templ"

	"martelo/app/auction"
	"martelo/app/money"
	"martelo/app/refusal"
	"martelo/templates/components"
	"martelo/templates/fragments"
	"martelo/templates/words"
)

// fragmentLocale writes amounts otherwise than the samples of pages do.
const fragmentLocale = "de-DE"

var (
	german = words.In(fragmentLocale)

	// Kwd is a currency with three decimals.
	Kwd = money.MustCurrency("KWD")
	key = uuid.MustParse(Key)
)

// SampleLot is an auction in a currency with three decimals that has had three bids; change makes
// it the one a case needs.
func SampleLot(change func(*auction.State)) fragments.LotView {
	s := auction.State{
		ID: 42, SellerID: 7, Currency: Kwd,
		StartPrice: money.FromMinor(100_000, Kwd), MinIncrement: money.FromMinor(2_500, Kwd),
		CurrentPrice: money.FromMinor(110_500, Kwd),
		LeaderID:     9, LeaderPaddle: 3, BidCount: 3, BidderCount: 3, Status: auction.Open,
		SoftClose: auction.DefaultSoftClose,
		StartAt:   sampleNow.Add(-time.Hour), EndAt: sampleNow.Add(90 * time.Second),
		OriginalEndAt: sampleNow.Add(90 * time.Second), Version: 9_007_199_254_740_993,
	}
	if change != nil {
		change(&s)
	}
	return fragments.LotView{State: s, Locale: fragmentLocale, Now: sampleNow}
}

func unbid(s *auction.State) {
	s.CurrentPrice, s.LeaderID, s.LeaderPaddle, s.BidCount, s.BidderCount = s.StartPrice, 0, 0, 0, 0
}

// Close makes an auction one that was sold, or not, a second ago.
func Close(s *auction.State) {
	s.Status, s.EndAt, s.ClosedAt = auction.Closed, sampleNow.Add(-time.Second), sampleNow
}

func lotHistory(view fragments.LotView) fragments.BidHistoryView {
	h := fragments.BidHistoryView{Lot: view}
	for seq := view.BidCount; seq > 0; seq-- {
		h.Bids = append(h.Bids, auction.Bid{
			AuctionID: view.ID, Seq: seq, BidderID: 6 + seq, Paddle: int(seq), Key: key,
			Amount:     money.FromMinor(100_000+3_500*seq, Kwd),
			AcceptedAt: sampleNow.Add(time.Duration(seq-4) * time.Minute),
		})
	}
	return h
}

func livePanel(view fragments.LotView) templ.Component {
	return fragments.LivePanel(fragments.LivePanelView{Lot: view, History: lotHistory(view)})
}

// Fragments are every fragment in its representative states, by name, all of one lot. Elements are
// named after their lot, so that fragments of different lots can stand on one page.
func Fragments(lotID int64) map[string]templ.Component {
	lot := func(change func(*auction.State)) fragments.LotView {
		view := SampleLot(change)
		view.ID = lotID
		return view
	}
	open := lot(nil)
	extended := lot(func(s *auction.State) { s.OriginalEndAt = sampleNow.Add(-30 * time.Second) })
	scheduled := lot(
		func(s *auction.State) { unbid(s); s.Status, s.StartAt = auction.Scheduled, sampleNow.Add(time.Minute) },
	)
	sold := lot(Close)
	unsold := lot(func(s *auction.State) { unbid(s); Close(s) })
	cancelled := lot(func(s *auction.State) { Close(s); s.Status = auction.Cancelled })
	due := lot(func(s *auction.State) { s.EndAt = sampleNow })
	asked := &auction.UnconfirmedError{
		Questions: auction.Questions{FarAbove: true}, Amount: open.MinimumBid().Times(9),
		CurrentPrice: open.CurrentPrice, MinimumBid: open.MinimumBid(),
	}
	return map[string]templ.Component{
		"live_panel_open": livePanel(open), "live_panel_extended": livePanel(extended),
		"live_panel_scheduled": livePanel(scheduled),
		"live_panel_sold":      livePanel(sold), "live_panel_unsold": livePanel(unsold),
		"live_panel_cancelled": livePanel(cancelled),
		"live_card_open":       fragments.LiveCard(open), "live_card_due": fragments.LiveCard(due),
		"live_card_sold":   fragments.LiveCard(sold),
		"live_card_unsold": fragments.LiveCard(unsold), "live_card_scheduled": fragments.LiveCard(scheduled),
		"live_card_cancelled": fragments.LiveCard(cancelled),
		"bid_form": fragments.BidForm(fragments.BidFormView{
			Lot: open, Bidding: fragments.BiddingAllowed, Key: Key,
		}),
		"bid_form_refused": fragments.BidForm(fragments.BidFormView{
			Lot: open, Bidding: fragments.BiddingAllowed, Key: Key, BidHere: true, Amount: HostileText, Wrong: true,
			Message: fragments.RefusedMessage(HostileText),
		}),
		"bid_form_signed_out": fragments.BidForm(fragments.BidFormView{
			Lot: open, SignInURL: "/signin?next=%2Fauctions%2F42", Message: &components.Notice{
				Kind: components.NoticeBad, Text: german.Problem("signed_out", nil).Bid,
				LinkURL: "/signin?next=%2Fauctions%2F42", LinkText: german.Say(words.LinkSignIn, nil),
			},
		}),
		"bid_form_accepted": fragments.BidForm(fragments.BidFormView{
			Lot: open, Bidding: fragments.BiddingAllowed, Key: Key, ViewerID: 9, BidHere: true, Accepted: true,
			Message: fragments.AcceptedMessage(open, auction.Bid{BidderID: 9, Amount: open.CurrentPrice}, false),
		}),
		"bid_form_asked": fragments.BidForm(fragments.BidFormView{
			Lot: open, Bidding: fragments.BiddingAllowed, Key: Key, Amount: "1017,000",
			Message: fragments.UnconfirmedMessage(open, asked),
			Choices: []fragments.Choice{{
				Name: fragments.FieldConfirm, Value: asked.Amount.String() + " far",
				Label: german.Say(words.ChoiceConfirm, refusal.Figures{"amount": asked.Amount}),
			}},
		}),
		"bid_form_own": fragments.BidForm(fragments.BidFormView{Lot: open, Bidding: fragments.BiddingOwn}),
		"bid_form_scheduled": fragments.BidForm(fragments.BidFormView{
			Lot: scheduled, Bidding: fragments.BiddingAllowed, Key: Key,
		}),
		"bid_form_too_late": fragments.BidForm(fragments.BidFormView{
			Lot: sold, Bidding: fragments.BiddingAllowed,
			Message: fragments.RefusedMessage(
				german.Problem("closed", refusal.Figures{"endTime": sold.EndAt, "serverTime": sampleNow}).Bid),
		}),
		"standing_leading":   fragments.Standing(open, 9, true),
		"standing_outbid":    fragments.Standing(open, 8, true),
		"standing_won":       fragments.Standing(sold, 9, true),
		"standing_lost":      fragments.Standing(sold, 8, true),
		"standing_cancelled": fragments.Standing(cancelled, 9, true),
	}
}

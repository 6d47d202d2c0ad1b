// Package gallery has samples of every component, fragment and page in its representative states.
// The golden files are drawn from them, and so is the gallery that a developer looks at.
package gallery

import (
	"strings"
	"time"

	"github.com/a-h/templ"

	"martelo/app/auction"
	"martelo/app/money"
	"martelo/app/refusal"
	"martelo/templates/components"
	"martelo/templates/fragments"
	"martelo/templates/layouts"
	"martelo/templates/pages"
	"martelo/templates/words"
)

// sampleNow is the database's time in every sample.
var sampleNow = time.Date(2026, time.November, 30, 19, 3, 22, 0, time.UTC)

// HostileText is what somebody types who wants a script to run in other people's pages.
const HostileText = `<script>alert(1)</script>"'&`

var (
	usd = money.MustCurrency("USD")
	jpy = money.MustCurrency("JPY")
)

const (
	sampleBidder = 9
	sampleSeller = 7
)

func sampleViewer(id int64, role string) *layouts.Viewer {
	if id == 0 {
		return nil
	}
	return &layouts.Viewer{ID: id, Name: "Ana Duarte", Role: role}
}

func samplePage(title, path string, viewer *layouts.Viewer) layouts.PageView {
	return layouts.PageView{Title: title, Locale: "en-US", Viewer: viewer, Path: path, ServerTime: sampleNow}
}

var sampleSellerView = pages.SellerView{ID: sampleSeller, Name: "Alma Watches", Since: sampleNow.AddDate(0, -3, 0)}

// SampleState is an open auction with three bids, ending in two hours, led by sampleBidder.
func SampleState(id int64) auction.State {
	return auction.State{
		ID: id, SellerID: sampleSeller, Currency: usd,
		StartPrice: money.FromMinor(100_000, usd), MinIncrement: money.FromMinor(1_000, usd),
		CurrentPrice: money.FromMinor(110_000, usd),
		LeaderID:     sampleBidder, LeaderPaddle: 3, BidCount: 3, BidderCount: 3, Status: auction.Open,
		Lane:      auction.Standard,
		SoftClose: auction.DefaultSoftClose, StartAt: sampleNow.Add(-48 * time.Hour),
		EndAt: sampleNow.Add(2*time.Hour + 14*time.Minute), OriginalEndAt: sampleNow.Add(2*time.Hour + 14*time.Minute),
		Version: 4,
	}
}

func withoutBids(s auction.State) auction.State {
	s.CurrentPrice, s.LeaderID, s.LeaderPaddle, s.BidCount, s.BidderCount, s.Version = s.StartPrice, 0, 0, 0, 0, 1
	return s
}

func scheduled(s auction.State) auction.State {
	s = withoutBids(s)
	s.Status, s.StartAt = auction.Scheduled, sampleNow.Add(26*time.Hour)
	s.EndAt, s.OriginalEndAt = sampleNow.Add(74*time.Hour), sampleNow.Add(74*time.Hour)
	return s
}

func closed(s auction.State) auction.State {
	s.Status, s.EndAt, s.ClosedAt = auction.Closed, sampleNow.Add(-10*time.Minute), sampleNow.Add(-10*time.Minute)
	s.StartAt, s.OriginalEndAt = s.EndAt.Add(-72*time.Hour), s.EndAt.Add(-4*time.Minute)
	s.Version++
	return s
}

func cancelled(s auction.State) auction.State {
	s = closed(s)
	s.Status = auction.Cancelled
	return s
}

func extended(s auction.State) auction.State {
	s.OriginalEndAt = sampleNow.Add(-3 * time.Minute)
	s.EndAt = sampleNow.Add(97 * time.Second)
	return s
}

func sampleLot(s auction.State) fragments.LotView {
	return fragments.LotView{State: s, Locale: "en-US", Now: sampleNow}
}

func sampleHistory(s auction.State) fragments.BidHistoryView {
	history := fragments.BidHistoryView{Lot: sampleLot(s)}
	bidders := []int64{9, 12, 11}
	for i := range s.BidCount {
		if i == 10 {
			break
		}
		seq := s.BidCount - i
		n := int(i) % len(bidders)
		history.Bids = append(history.Bids, auction.Bid{
			ID: 100 + seq, AuctionID: s.ID, Seq: seq, BidderID: bidders[n], Paddle: len(bidders) - n,
			Amount:     money.FromMinor(s.CurrentPrice.Minor()-i*s.MinIncrement.Minor()*4, s.Currency),
			AcceptedAt: sampleNow.Add(-time.Duration(i*i*7+2) * time.Minute),
		})
	}
	return history
}

const sampleDescription = `A Reverso of about 1948 in steel, case number 91207. The movement, calibre 438, was ` +
	`cleaned and regulated in 2024 and runs at +4 seconds a day; the timing sheet comes with it.

The dial is original and shows an even, warm patina. Two hairlines at six o'clock can be seen under the glass. ` +
	`The strap is new, the buckle is not.

Box and papers are lost.`

// Key is the key of every form.
const Key = "7d4c1c1e-8f0f-4d56-9c0b-2f2f5a3c9a10"

// SampleAuction is the page of an auction for somebody.
func SampleAuction(s auction.State, viewer *layouts.Viewer, bidding fragments.Bidding) pages.AuctionView {
	title := "Jaeger-LeCoultre Reverso, steel, about 1948"
	page := samplePage(pages.LotHeading(s.ID, title), components.AuctionPath(s.ID), viewer)
	if !s.Status.Over() {
		page.LiveURL = "/live/auctions/" + components.Number(s.ID)
	}
	return pages.AuctionView{
		PageView: page, Lot: sampleLot(s), LotTitle: title, Description: sampleDescription, Seller: sampleSellerView,
		History: sampleHistory(s),
		BidForm: fragments.BidFormView{Lot: sampleLot(s), Bidding: bidding, Key: Key, SignInURL: page.SignInURL()},
	}
}

var sampleTitles = []string{
	"Jaeger-LeCoultre Reverso, steel, about 1948",
	"Kilim from Şarkışla, central Anatolia, 19th century",
	"Leica M3, double stroke, with Summicron 50 mm",
	"Set of six dining chairs, Brazilian rosewood, 1962",
	"Tea bowl, Raku ware, signed box",
	"First edition: Machado de Assis, Dom Casmurro, 1899",
	"Violin, Mirecourt school, labelled and restored",
	"Fountain pen, ebonite, gold nib, never inked",
	HostileText,
	"Globe, Berlin 1911, on an oak stand; colonial borders, some foxing, axis repaired by hand, otherwise in " +
		"untouched condition",
	"Box of unsorted letters",
	"Copper fish kettle",
}

// sampleLots are lots in many situations.
func sampleLots() []pages.LotCard {
	var cards []pages.LotCard
	for i, title := range sampleTitles {
		s := SampleState(int64(40 + i*7))
		s.EndAt = sampleNow.Add(time.Duration(i*i*i) * 19 * time.Minute).Add(72 * time.Second)
		s.OriginalEndAt = s.EndAt
		s.BidCount = int64(i * 5 % 11)
		s.CurrentPrice = money.FromMinor(int64(i*i)*133_700+110_000, usd)
		if i == 4 {
			s.Currency, s.StartPrice = jpy, money.FromMinor(80_000, jpy)
			s.MinIncrement, s.CurrentPrice = money.FromMinor(5_000, jpy), money.FromMinor(185_000, jpy)
		}
		if i == 0 {
			s.BidCount = 23
		}
		if s.BidCount == 0 {
			s = withoutBids(s)
		}
		cards = append(cards, pages.LotCard{Lot: sampleLot(s), Title: title, Seller: sampleSellerView})
	}
	return cards
}

func sampleList() pages.ListView {
	page := samplePage("", "/", nil)
	page.LiveURL = "/live/lots?auctions=40,47"
	return pages.ListView{
		PageView: page, Lots: sampleLots(), NewsURL: "/live/list", NextURL: "/auctions?cursor=abc", PageSize: 24,
	}
}

func sampleMyBids() pages.MyBidsView {
	page := samplePage("My bids", components.PathMyBids, sampleViewer(sampleBidder, ""))
	page.LiveURL = "/live/lots?auctions=40,47"
	states := []auction.State{
		extended(SampleState(40)), SampleState(47), closed(SampleState(54)), closed(SampleState(61)),
		cancelled(SampleState(68)),
	}
	states[1].LeaderID, states[1].LeaderPaddle = 11, 1
	states[3].LeaderID, states[3].LeaderPaddle = 11, 1
	view := pages.MyBidsView{PageView: page, PageSize: 24}
	for i, s := range states {
		view.Lots = append(view.Lots, pages.MyBid{
			LotCard: pages.LotCard{Lot: sampleLot(s), Title: sampleTitles[i], Seller: sampleSellerView},
			Highest: money.FromMinor(108_000, usd),
		})
	}
	return view
}

func sampleMyAuctions() pages.MyAuctionsView {
	page := samplePage("My lots", components.PathMyAuctions, sampleViewer(sampleSeller, "seller"))
	page.LiveURL = "/live/lots?auctions=40,47"
	states := []auction.State{
		SampleState(40), withoutBids(SampleState(47)), scheduled(SampleState(54)), closed(SampleState(61)),
		closed(withoutBids(SampleState(68))),
	}
	view := pages.MyAuctionsView{PageView: page, PageSize: 24}
	for i, s := range states {
		view.Lots = append(view.Lots, pages.LotCard{Lot: sampleLot(s), Title: sampleTitles[i]})
	}
	return view
}

func sampleCreate() pages.CreateView {
	return pages.CreateView{
		PageView: samplePage(
			"Put a lot up for sale", components.PathNewAuction, sampleViewer(sampleSeller, "seller"),
		),
		Form:            pages.NewCreateForm(Key, "USD", ""),
		OtherCurrencies: []string{"AED", "CLP", "TND"},
	}
}

func sampleCreateWrong() pages.CreateView {
	v := sampleCreate()
	v.Form.Title, v.Form.Description = HostileText, "</textarea>"+HostileText
	v.Form.Currency, v.Form.StartPrice, v.Form.MinIncrement = "TND", "1.500", "0"
	v.Form.EndTime, v.Form.Zone = "2020-01-01T10:00", "America/Sao_Paulo"
	v.Problems = components.Problems{
		{Field: pages.FieldStartPrice, Label: "Start price", Text: "Did you mean $1.50 or $1,500.00? Choose the " +
			"amount.", Choices: []components.Choice{
			{Label: "$1.50", Value: "startPrice=1.50"}, {Label: "$1,500.00", Value: "startPrice=1500.00"},
		}},
		{Field: pages.FieldMinIncrement, Label: "Step", Text: "Enter a step greater than 0."},
		{Field: pages.FieldEndTime, Label: "Bidding ends", Text: "Choose an end time in the future."},
	}
	return v
}

func sampleReview() pages.ReviewView {
	saoPaulo := time.FixedZone("America/Sao_Paulo", -3*60*60)
	s := withoutBids(SampleState(0))
	form := pages.NewCreateForm(Key, "USD", "America/Sao_Paulo")
	form.Title, form.Description = "Jaeger-LeCoultre Reverso, steel, about 1948", sampleDescription
	form.StartPrice, form.MinIncrement, form.EndTime = "1000.00", "10.00", "2026-11-30T18:17:22"
	return pages.ReviewView{
		PageView: samplePage(
			"Check your lot before publishing", components.PathNewAuction, sampleViewer(sampleSeller, "seller"),
		),
		Form: form, State: s, StartsNow: true, Zone: saoPaulo,
	}
}

func sampleReviewScheduled() pages.ReviewView {
	v := sampleReview()
	v.State, v.StartsNow = scheduled(v.State), false
	v.State.SoftClose = auction.SoftClose{}
	v.Form.Title, v.Form.SoftClose = HostileText, false
	return v
}

func sampleAccount() pages.AccountView {
	v := pages.AccountView{
		PageView: samplePage("Your account", components.PathAccount, sampleViewer(sampleBidder, "")),
		Email:    "ana@example.org", OpenSelling: true,
	}
	v.Tokens = []pages.TokenRow{
		{ID: 1, Name: "Price watcher", CreatedAt: sampleNow.Add(-200 * time.Hour)},
		{ID: 2, Name: HostileText, CreatedAt: sampleNow.Add(-20 * time.Hour)},
		{ID: 3, CreatedAt: sampleNow.Add(-10 * time.Hour)},
	}
	return v
}

func sampleNewToken() pages.AccountView {
	v := sampleAccount()
	v.Viewer.Role = "seller"
	v.SellerName = "Ana's Attic"
	v.NewToken = "martelo_" + strings.Repeat("k3Jq9x", 7)
	v.Flash = &components.Notice{Kind: components.NoticeGood, Text: "The token was made."}
	return v
}

func sampleSignIn() pages.SignInView {
	return pages.SignInView{
		PageView: samplePage("Sign in", components.PathSignIn, nil), Next: "/auctions/42",
		Contact: "help@house.example",
	}
}

func sampleSignInWrong() pages.SignInView {
	v := sampleSignIn()
	v.Email = HostileText
	v.Problems = components.Problems{{Text: "The e-mail or password is wrong."}}
	return v
}

func sampleSignUp() pages.SignUpView {
	return pages.SignUpView{
		PageView: samplePage("Create account", components.PathSignUp, nil), Next: "/auctions/42", Name: "Ana",
		Email: "ana",
		Problems: components.Problems{
			{Field: pages.FieldEmail, Text: "Write the whole e-mail address, such as ana@example.org."},
		},
	}
}

func sampleBids() pages.BidsView {
	s := SampleState(42)
	v := pages.BidsView{
		PageView: samplePage("The bids on lot 42", components.BidsPath(42), sampleViewer(sampleBidder, "")),
		Lot:      sampleLot(s), LotTitle: HostileText, NextURL: components.BidsPath(42) + "?after=3",
	}
	newest := sampleHistory(s).Bids
	for i := range newest {
		v.Bids = append(v.Bids, newest[len(newest)-1-i])
	}
	return v
}

func sampleError(status int) pages.ErrorView {
	return pages.ErrorView{
		PageView: samplePage("Something is amiss", "/auctions/42", nil), Status: status, RequestID: "01JD9M2T7C",
	}
}

func sampleAnswer() pages.AnswerView {
	english := words.In("en-US")
	amount := money.FromMinor(110_000, usd)
	return pages.AnswerView{
		PageView: samplePage(
			english.Say(words.BidAcceptedTitle, nil), components.AuctionPath(42), sampleViewer(sampleBidder, ""),
		),
		Text: english.Say(words.BidAcceptedBlind, refusal.Figures{"amount": amount}),
	}
}

// Pages are every page in its representative situations, by name.
func Pages() map[string]templ.Component {
	bidder, seller := sampleViewer(sampleBidder, ""), sampleViewer(sampleSeller, "seller")

	leading := SampleAuction(SampleState(42), bidder, fragments.BiddingAllowed)
	leading.BidForm.BidHere = true
	leading.BidForm.Message = fragments.AcceptedMessage(leading.Lot, leading.History.Bids[0], false)

	late := extended(SampleState(42))
	late.LeaderID, late.LeaderPaddle, late.BidCount = 11, 1, 23
	outbid := SampleAuction(late, bidder, fragments.BiddingAllowed)
	outbid.BidForm.BidHere, outbid.BidForm.Wrong, outbid.BidForm.Amount = true, true, HostileText
	tooLow := refusal.Figures{"amount": late.CurrentPrice, "minimumBid": late.MinimumBid()}
	outbid.BidForm.Message = fragments.RefusedMessage(words.In("en-US").Problem("too_low", tooLow).Bid)

	visitor := SampleAuction(withoutBids(SampleState(42)), nil, fragments.BiddingSignIn)
	visitor.LotTitle, visitor.Description, visitor.Seller.Name = HostileText, HostileText, HostileText
	visitor.Title = pages.LotHeading(42, HostileText)

	own := SampleAuction(withoutBids(SampleState(42)), seller, fragments.BiddingOwn)
	own.MayCancel, own.CancelProblem = true, "Somebody has bid meanwhile, so the lot can no longer be withdrawn."

	won := SampleAuction(closed(SampleState(42)), bidder, fragments.BiddingAllowed)
	won.BidForm.BidHere = true

	searched := sampleList()
	searched.Lots, searched.NextURL, searched.FirstURL = nil, "", "/auctions"
	searched.Query = pages.ListQuery{Q: HostileText, Status: auction.Closed, Sort: "price", Seller: "7"}
	searched.Seller = pages.SellerView{ID: 7, Name: HostileText}

	return map[string]templ.Component{
		"list": pages.List(sampleList()), "list_searched": pages.List(searched),
		"auction_leading": pages.Auction(leading), "auction_outbid": pages.Auction(outbid),
		"auction_visitor": pages.Auction(visitor),
		"auction_own":     pages.Auction(own), "auction_won": pages.Auction(won),
		"auction_scheduled": pages.Auction(SampleAuction(scheduled(SampleState(42)), bidder, fragments.BiddingAllowed)),
		"auction_unsold": pages.Auction(
			SampleAuction(closed(withoutBids(SampleState(42))), nil, fragments.BiddingSignIn),
		),
		"auction_cancelled": pages.Auction(SampleAuction(cancelled(SampleState(42)), bidder, fragments.BiddingAllowed)),
		"bids":              pages.Bids(sampleBids()),
		"create":            pages.Create(sampleCreate()), "create_wrong": pages.Create(sampleCreateWrong()),
		"review": pages.Review(sampleReview()), "review_scheduled": pages.Review(sampleReviewScheduled()),
		"my_bids": pages.MyBids(sampleMyBids()), "my_auctions": pages.MyAuctions(sampleMyAuctions()),
		"account": pages.Account(sampleAccount()), "account_new_token": pages.Account(sampleNewToken()),
		"sign_in": pages.SignIn(sampleSignIn()), "sign_in_wrong": pages.SignIn(sampleSignInWrong()),
		"sign_up":   pages.SignUp(sampleSignUp()),
		"answer":    pages.Answer(sampleAnswer()),
		"help":      pages.Help(samplePage("How bidding works", components.PathHelp, nil)),
		"error_401": pages.Error(sampleError(401)), "error_429": pages.Error(sampleError(429)),
		"error_404": pages.Error(sampleError(404)), "error_503": pages.Error(sampleError(503)),
	}
}

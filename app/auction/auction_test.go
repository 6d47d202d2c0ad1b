package auction_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"martelo/app/auction"
	"martelo/app/money"
	"martelo/app/refusal"
)

var (
	usd  = money.MustCurrency("USD")
	noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
)

func cents(n int64) money.Amount { return money.FromMinor(n, usd) }

func decimal(text string) money.Decimal {
	d, err := money.Parse(text)
	if err != nil {
		panic(err)
	}
	return d
}

// watch is an open auction: start 1000.00, increment 10.00, seller 7, ends an hour after noon.
func watch() auction.State {
	return auction.State{
		ID: 42, SellerID: 7, Currency: usd, StartPrice: cents(100000), MinIncrement: cents(1000),
		CurrentPrice: cents(100000),
		Status:       auction.Open, Lane: auction.Standard, SoftClose: auction.DefaultSoftClose,
		StartAt: noon, EndAt: noon.Add(time.Hour), OriginalEndAt: noon.Add(time.Hour), Version: 1,
	}
}

func bid(bidder int64, amount string) auction.Request {
	return auction.Request{AuctionID: 42, BidderID: bidder, Amount: decimal(amount), Key: uuid.New()}
}

func TestFirstBidIsStartPlusIncrement(t *testing.T) {
	s := watch()
	if s.MinimumBid().String() != "1010.00" {
		t.Fatalf("minimum bid is %s", s.MinimumBid())
	}
	_, _, err := s.Decide(bid(9, "1009.99"), 0, noon)
	var low *auction.TooLowError
	if !errors.As(err, &low) || low.MinimumBid.String() != "1010.00" || low.CurrentPrice.String() != "1000.00" ||
		!low.EndAt.Equal(s.EndAt) {
		t.Fatalf("a cent below: %v", err)
	}
	after, accepted, err := s.Decide(bid(9, "1010"), 0, noon)
	if err != nil || after.CurrentPrice.String() != "1010.00" || after.LeaderID != 9 || after.LeaderPaddle != 1 ||
		after.BidCount != 1 ||
		after.BidderCount != 1 || after.Version != 2 || accepted.Seq != 1 || accepted.Paddle != 1 ||
		!accepted.AcceptedAt.Equal(noon) {
		t.Fatalf("the minimum: %+v %+v %v", after, accepted, err)
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*auction.State)
		bid    auction.Request
		at     time.Duration
		want   error
	}{
		{"the seller", nil, bid(7, "5000"), 0, auction.ErrOwnAuction},
		{"at the very end", nil, bid(9, "5000"), time.Hour, &auction.ClosedError{}},
		{"a microsecond before the end", nil, bid(9, "5000"), time.Hour - time.Microsecond, nil},
		{"closed", func(s *auction.State) { s.Status = auction.Closed }, bid(9, "5000"), 0, &auction.ClosedError{}},
		{"cancelled", func(s *auction.State) { s.Status = auction.Cancelled }, bid(9, "5000"), 0, auction.ErrCancelled},
		{
			"before the start",
			func(s *auction.State) { s.Status = auction.Scheduled; s.StartAt = noon.Add(time.Minute) }, bid(9, "5000"),
			0, &auction.NotStartedError{},
		},
		{
			"at the start, not flipped yet", func(s *auction.State) { s.Status = auction.Scheduled; s.StartAt = noon },
			bid(9, "5000"), 0, nil,
		},
		{"a tenth of a cent", nil, bid(9, "5000.001"), 0, &refusal.FieldError{}},
	} {
		s := watch()
		if c.change != nil {
			c.change(&s)
		}
		after, _, err := s.Decide(c.bid, 0, noon.Add(c.at))
		if !sameRefusal(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if err != nil && after != s {
			t.Errorf("%s: a refused bid changed %+v to %+v", c.name, s, after)
		}
		if err == nil && after.Status != auction.Open {
			t.Errorf("%s: a bid leaves the auction %s", c.name, after.Status)
		}
	}
}

func sameRefusal(got, want error) bool {
	switch want.(type) { //nolint:errorlint // the wanted refusals are written out, and wrapped by nobody
	case *auction.ClosedError:
		var e *auction.ClosedError
		return errors.As(got, &e)
	case *auction.NotStartedError:
		var e *auction.NotStartedError
		return errors.As(got, &e)
	case *refusal.FieldError:
		var e *refusal.FieldError
		return errors.As(got, &e)
	default:
		return errors.Is(got, want)
	}
}

func TestSoftCloseMovesTheEndOnlyForLateAcceptedBids(t *testing.T) {
	minutes := func(n float64) time.Duration { return time.Duration(n * float64(time.Minute)) }
	for _, c := range []struct {
		name           string
		window, extend time.Duration
		left, want     time.Duration // from the bid on
	}{
		{"long before", minutes(2), minutes(2), minutes(30), minutes(30)},
		{"just outside", minutes(2), minutes(2), minutes(2) + time.Microsecond, minutes(2) + time.Microsecond},
		{"inside", minutes(2), minutes(2), time.Second, minutes(2)},
		{"off", 0, 0, time.Second, time.Second},
		{"window without extension", minutes(2), 0, time.Second, time.Second},
		{"extension shorter than what is left", minutes(10), minutes(1), minutes(5), minutes(5)},
		{"auction shorter than its window", minutes(120), minutes(120), minutes(60), minutes(120)},
	} {
		s := watch()
		s.SoftClose = auction.SoftClose{Window: c.window, Extend: c.extend}
		now := s.EndAt.Add(-c.left)
		if now.Before(s.StartAt) {
			now = s.StartAt
		}
		after, _, err := s.Decide(bid(9, "1010"), 0, now)
		if err != nil || after.EndAt.Sub(now) != c.want {
			t.Errorf("%s: %s left, want %s (%v)", c.name, after.EndAt.Sub(now), c.want, err)
		}
		low, _, _ := s.Decide(bid(9, "1000"), 0, now)
		if !low.EndAt.Equal(s.EndAt) {
			t.Errorf("%s: a refused bid moved the end", c.name)
		}
	}
}

// 110, 115, 121 with a step of 10: 115 is refused and must not raise the bar for 121.
func TestFoldIsNotARunningMaximum(t *testing.T) {
	s := watch()
	s.StartPrice, s.CurrentPrice, s.MinIncrement = cents(10000), cents(10000), cents(1000)
	after, accepted, answers := s.Fold([]auction.Request{bid(1, "110"), bid(2, "115"), bid(3, "121")}, memory(), noon)
	if len(accepted) != 2 || after.CurrentPrice.String() != "121.00" || answers[1].Refusal == nil {
		t.Fatalf("%+v", answers)
	}
}

func memory() auction.Memory {
	return auction.Memory{ByKey: map[uuid.UUID]auction.Bid{}, Paddles: map[int64]int{}}
}

func TestAKeyAnswersWithItsFirstBidAlsoAfterTheClose(t *testing.T) {
	m := memory()
	first := bid(9, "1010")
	other, dearer := first, first
	other.BidderID, dearer.Amount = 8, decimal("1020")
	same := first
	same.Amount = decimal("1010.00")
	s, accepted, _ := watch().Fold([]auction.Request{first}, m, noon)
	s, _, _ = s.Fold([]auction.Request{bid(8, "1500")}, m, noon)
	closed, ok := s.Close(s.EndAt)
	if !ok {
		t.Fatal("due, but not closed")
	}
	for _, state := range []auction.State{s, closed} {
		_, again, answers := state.Fold([]auction.Request{same, other, dearer}, m, noon.Add(2*time.Hour))
		if len(again) != 0 || !answers[0].Replayed || answers[0].Bid != accepted[0] || answers[0].Refusal != nil {
			t.Errorf("%s: the twin got %+v", state.Status, answers[0])
		}
		for _, a := range answers[1:] {
			if !errors.Is(a.Refusal, auction.ErrKeyReused) {
				t.Errorf("%s: reuse got %+v", state.Status, a)
			}
		}
	}
}

// Whatever comes in, in whatever order: the log is gapless, each bid beats the one before by the
// increment, accepted bids lie before the end in force, leader and price are the last bid's, the
// end never moves back, and paddles number the bidders.
func TestFoldKeepsThePromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := watch()
		s.SoftClose.Window = time.Duration(rapid.IntRange(0, 300).Draw(t, "window")) * time.Second
		m := memory()
		keys := []uuid.UUID{uuid.New(), uuid.New(), uuid.New(), uuid.New(), uuid.New(), uuid.New()}
		now := noon
		var log []auction.Bid
		for range rapid.IntRange(1, 12).Draw(t, "batches") {
			now = now.Add(time.Duration(rapid.IntRange(0, 20*60).Draw(t, "step")) * time.Second)
			var requests []auction.Request
			for range rapid.IntRange(0, 8).Draw(t, "size") {
				requests = append(requests, auction.Request{
					AuctionID: 42, BidderID: rapid.Int64Range(5, 9).Draw(t, "bidder"),
					Amount: decimal(cents(rapid.Int64Range(99000, 130000).Draw(t, "amount")).String()),
					Key:    rapid.SampledFrom(keys).Draw(t, "key"),
				})
			}
			before := s
			var accepted []auction.Bid
			var answers []auction.Answer
			s, accepted, answers = s.Fold(requests, m, now)
			if len(answers) != len(requests) {
				t.Fatal("somebody got no answer")
			}
			for _, b := range accepted {
				if !b.AcceptedAt.Before(before.EndAt) || b.BidderID == s.SellerID {
					t.Fatalf("%+v was accepted with the end at %s", b, before.EndAt)
				}
			}
			if s.EndAt.Before(before.EndAt) || s.Version != before.Version+int64(len(accepted)) {
				t.Fatalf("%+v became %+v", before, s)
			}
			log = append(log, accepted...)
		}
		holdsTogether(t, s, log)
	})
}

func holdsTogether(t *rapid.T, s auction.State, log []auction.Bid) {
	price, paddles, seen := s.StartPrice, map[int64]int{}, map[uuid.UUID]bool{}
	for i, b := range log {
		if b.Seq != int64(i+1) || b.Amount.Less(price.Add(s.MinIncrement)) || seen[b.Key] {
			t.Fatalf("bid %d is %+v after %s", i+1, b, price)
		}
		price, seen[b.Key] = b.Amount, true
		if paddles[b.BidderID] == 0 {
			paddles[b.BidderID] = len(paddles) + 1
		}
		if b.Paddle != paddles[b.BidderID] {
			t.Fatalf("bidder %d has paddle %d, not %d", b.BidderID, b.Paddle, paddles[b.BidderID])
		}
	}
	if !s.CurrentPrice.Equal(price) || s.BidCount != int64(len(log)) || s.BidderCount != len(paddles) {
		t.Fatalf("%+v after %d bids", s, len(log))
	}
	if len(log) > 0 && (s.LeaderID != log[len(log)-1].BidderID || s.LeaderPaddle != log[len(log)-1].Paddle) {
		t.Fatalf("leader %d after %+v", s.LeaderID, log[len(log)-1])
	}
	closed, ok := s.Close(s.EndAt)
	result := closed.Result()
	if !ok || result.WinnerID != s.LeaderID || len(log) > 0 && !result.HammerPrice.Equal(price) ||
		closed.Version <= s.Version {
		t.Fatalf("closed as %+v", result)
	}
}

func TestOpenChecksADraft(t *testing.T) {
	good := func() auction.Draft {
		return auction.Draft{
			SellerID: 7, Title: " Vintage watch ", Currency: usd, StartPrice: cents(0), MinIncrement: cents(1),
			EndAt: noon.Add(time.Second), SoftClose: auction.DefaultSoftClose, Lane: auction.Standard,
		}
	}
	s, err := good().Open(noon)
	if err != nil || s.Status != auction.Open || !s.StartAt.Equal(noon) || s.Version != 1 ||
		!s.EndAt.Equal(s.OriginalEndAt) {
		t.Fatalf("%+v %v", s, err)
	}
	later := good()
	later.StartAt, later.EndAt = noon.Add(time.Minute), noon.Add(time.Hour)
	if s, err := later.Open(noon); err != nil || s.Status != auction.Scheduled {
		t.Fatalf("%+v %v", s, err)
	}
	for field, spoil := range map[string]func(*auction.Draft){
		"title":        func(d *auction.Draft) { d.Title = "  " },
		"description":  func(d *auction.Draft) { d.Description = strings.Repeat("x", auction.DescriptionLengthMax+1) },
		"startPrice":   func(d *auction.Draft) { d.StartPrice = cents(-1) },
		"minIncrement": func(d *auction.Draft) { d.MinIncrement = cents(0) },
		"endTime":      func(d *auction.Draft) { d.EndAt = noon },
		"softClose":    func(d *auction.Draft) { d.SoftClose.Extend = -time.Second },
		"lane":         func(d *auction.Draft) { d.Lane = "fast" },
	} {
		d := good()
		spoil(&d)
		var wrong refusal.FieldErrors
		if _, err := d.Open(noon); !errors.As(err, &wrong) || len(wrong) != 1 || wrong[0].Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	edge := good()
	edge.StartPrice, edge.MinIncrement = cents(99_999_999_999_998), cents(1)
	if s, err := edge.Open(noon); err != nil || s.MinimumBid().String() != "999999999999.99" {
		t.Errorf("the dearest auction there is: %v", err)
	}
	edge.MinIncrement = cents(2)
	if _, err := edge.Open(noon); err == nil {
		t.Error("an auction on which nobody can bid was taken")
	}
	for _, title := range []string{
		"\u200b", "\u3164", "\u2800", "\U000e0041", "a\x00b", "a\u202eb", "two\nlines", string([]byte{0xff}),
		strings.Repeat("é", 201),
	} {
		d := good()
		d.Title = title
		if _, err := d.Open(noon); err == nil {
			t.Errorf("title %q was taken", title)
		}
	}
	copied := good()
	copied.Title, copied.Description = " cafe\u0301\u200b ", "one\vtwo\u2028three\u200e"
	if _, err := copied.Open(noon); err != nil || copied.CleanTitle() != "café" ||
		copied.CleanDescription() != "one\ntwo\nthree" {
		t.Errorf("what other programs put into a text: %v %+q %+q", err, copied.CleanTitle(), copied.CleanDescription())
	}
}

func TestCancel(t *testing.T) {
	seller, admin, stranger := auction.Actor{UserID: 7}, auction.Actor{UserID: 1, Admin: true}, auction.Actor{UserID: 9}
	fresh := watch()
	sold, _, _ := fresh.Decide(bid(9, "1010"), 0, noon)
	closed, _ := sold.Close(sold.EndAt)
	cancelled, err := fresh.Cancel(seller, noon)
	if err != nil || cancelled.Status != auction.Cancelled || !cancelled.ClosedAt.Equal(noon) ||
		cancelled.Version != 2 {
		t.Fatalf("%+v %v", cancelled, err)
	}
	if c, err := sold.Cancel(admin, noon); err != nil || c.Result().WinnerID != 0 {
		t.Fatalf("a cancelled auction has winner %d (%v)", c.Result().WinnerID, err)
	}
	for _, c := range []struct {
		name string
		s    auction.State
		by   auction.Actor
		at   time.Time
		want error
	}{
		{"stranger", fresh, stranger, noon, auction.ErrForbidden},
		{"seller after a bid", sold, seller, noon, auction.ErrHasBids},
		{"admin after the end, before the closer", sold, admin, sold.EndAt, &auction.ClosedError{}},
		{"admin after the close", closed, admin, noon, &auction.ClosedError{}},
		{"twice", cancelled, seller, noon, auction.ErrCancelled},
	} {
		if _, err := c.s.Cancel(c.by, c.at); !sameRefusal(err, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

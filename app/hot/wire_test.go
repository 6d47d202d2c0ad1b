package hot

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"martelo/app/auction"
	"martelo/app/money"
	"martelo/app/refusal"
)

var usd = money.StoredCurrency("USD", 2)

// openTerms are those of an auction at 1000.00 in steps of 10.00, as a row tells them.
func openTerms() *terms {
	start := time.UnixMicro(1_700_000_000_000_000).UTC()
	return &terms{epoch: 7, State: auction.State{
		ID: 42, SellerID: 1, Currency: usd, StartPrice: money.FromMinor(100_000, usd),
		CurrentPrice: money.FromMinor(100_000, usd),
		MinIncrement: money.FromMinor(1000, usd), Status: auction.Open, Lane: auction.Hot, StartAt: start,
		EndAt:         start.Add(time.Hour),
		OriginalEndAt: start.Add(time.Hour), Version: 1,
	}}
}

// What is written of a bid is read as the same bid, whatever it is.
func TestABidComesBackAsItWas(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.Int64Range(1, 1<<40)
		bid := auction.Bid{
			ID: rapid.Int64Range(0, 1<<40).Draw(t, "id"), AuctionID: 42, Seq: whole.Draw(t, "seq"),
			BidderID: whole.Draw(t, "bidder"),
			Paddle:   rapid.IntRange(1, 1<<20).Draw(t, "paddle"), Key: uuid.New(),
			Amount:     money.FromMinor(rapid.Int64Range(1, 9_999_999_999_999_999).Draw(t, "amount"), usd),
			AcceptedAt: time.UnixMicro(rapid.Int64Range(1, 1<<52).Draw(t, "at")).UTC(),
		}
		if got, err := readBid(bidText(bid)+":"+bid.Key.String(), openTerms()); err != nil || got != bid {
			t.Fatalf("%+v came back as %+v, %v", bid, got, err)
		}
	})
}

// Amounts as texts are ordered as the amounts are, also above 2^53.
func TestAmountsAsTextsCompareAsAmounts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		minor := rapid.Int64Range(0, 20_000_000_000_000_000)
		a, b := money.FromMinor(minor.Draw(t, "a"), usd), money.FromMinor(minor.Draw(t, "b"), usd)
		if (amountText(a) < amountText(b)) != a.Less(b) {
			t.Fatalf("%s and %s", amountText(a), amountText(b))
		}
	})
}

func TestWhatIsNoBidIsGarbled(t *testing.T) {
	t.Parallel()
	const good = "2:00000000000101000:1:1:1700000000000000:9"
	if _, err := readBid(good, openTerms()); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"", "2", "2:1:1:1:1", good + ":not a key", strings.Replace(good, "2:", "x:", 1),
		strings.Replace(good, ":1:1:", ":0:1:", 1),
		strings.Replace(good, ":1:1:", ":1:0:", 1), strings.Replace(good, "101000", "-00001", 1),
		strings.Replace(good, "2:", "99999999999999999999:", 1),
	} {
		if bid, err := readBid(text, openTerms()); !errors.Is(err, errGarbled) {
			t.Errorf("%q was read as %+v, %v", text, bid, err)
		}
	}
}

func TestReplies(t *testing.T) {
	t.Parallel()
	bid := "2:00000000000101000:1:1:1700000000000000:9"
	state := []any{"1700003600000000", "00000000000101000", "2", "1", "1", "1", "2"}
	ok := func(state, answers, recent any) []any { return []any{"OK", state, answers, recent, "1700000000000000"} }
	for name, c := range map[string]struct {
		values []any
		word   string
		good   bool
	}{
		"accepted":            {ok(state, []any{"NEW " + bid}, []any{bid + ":" + uuid.NewString()}), "OK", true},
		"not loaded":          {[]any{"UNLOADED"}, "UNLOADED", true},
		"frozen":              {[]any{"FROZEN"}, "FROZEN", true},
		"nothing":             {nil, "", false},
		"too short":           {[]any{"OK", state}, "", false},
		"no list":             {ok(state, "NEW", []any{}), "", false},
		"an answer too many":  {ok(state, []any{"OWN", "OWN"}, []any{}), "", false},
		"an answer too few":   {ok(state, []any{}, []any{}), "", false},
		"a state too short":   {ok(state[:6], []any{"OWN"}, []any{}), "", false},
		"a state with a word": {ok([]any{"x", "1", "2", "1", "1", "1", "2"}, []any{"OWN"}, []any{}), "", false},
		"a state out of range": {
			ok([]any{"1700003600000000", "00000000000101000", "2", "5", "1", "9", "2"}, []any{"OWN"}, []any{}), "",
			false,
		},
		"a bid that is none":   {ok(state, []any{"OWN"}, []any{"x"}), "", false},
		"a clock that is none": {[]any{"OK", state, []any{"OWN"}, []any{}, "now"}, "", false},
	} {
		r, err := readReply(c.values, openTerms(), 1)
		if (err == nil) != c.good || c.good && r.word != c.word {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	amount, err := money.Parse("1010")
	if err != nil {
		t.Fatal(err)
	}
	r := auction.Request{AuctionID: 42, BidderID: 2, Amount: amount, Key: uuid.New()}
	now := time.UnixMicro(1_700_000_000_000_000).UTC()
	var low *auction.TooLowError
	var closed *auction.ClosedError
	var early *auction.NotStartedError
	var field *refusal.FieldError
	var open *auction.UnconfirmedError
	for text, holds := range map[string]func(auction.Answer) bool{
		"NEW 2:00000000000101000:1:1:1700000000000000:9": func(a auction.Answer) bool {
			return a.Refusal == nil && !a.Replayed && a.Bid.Key == r.Key && a.Bid.ID == 9
		},
		"AGAIN 2:00000000000101000:1:1:1700000000000000:9": func(a auction.Answer) bool {
			return a.Refusal == nil && a.Replayed && a.Bid.Key == r.Key
		},
		"REUSED": func(a auction.Answer) bool { return errors.Is(a.Refusal, auction.ErrKeyReused) },
		"OWN":    func(a auction.Answer) bool { return errors.Is(a.Refusal, auction.ErrOwnAuction) },
		"EARLY":  func(a auction.Answer) bool { return errors.As(a.Refusal, &early) && early.StartAt.Equal(now) },
		"CLOSED 1700003600000000": func(a auction.Answer) bool {
			return errors.As(a.Refusal, &closed) && closed.EndAt.Equal(now.Add(time.Hour)) &&
				closed.DecidedAt.Equal(now)
		},
		"LOW 00000000000105000:1700003600000000": func(a auction.Answer) bool {
			return errors.As(a.Refusal, &low) && low.CurrentPrice.Minor() == 105_000 &&
				low.MinimumBid.Minor() == 106_000
		},
		"ASK own::00000000000105000": func(a auction.Answer) bool {
			return errors.As(a.Refusal, &open) && open.Questions == auction.Questions{OwnLead: true} &&
				open.MinimumBid.Minor() == 106_000
		},
		"ASK :far:00000000000105000": func(a auction.Answer) bool {
			return errors.As(a.Refusal, &open) && open.Questions == auction.Questions{FarAbove: true}
		},
	} {
		if a, err := openTerms().answer(r, text, now); err != nil || !holds(a) {
			t.Errorf("%q is %+v, %v", text, a, err)
		}
	}
	fine := r
	if fine.Amount, err = money.Parse("1010.001"); err != nil {
		t.Fatal(err)
	}
	if a, err := openTerms().answer(fine, "AMOUNT", now); err != nil || !errors.As(a.Refusal, &field) ||
		field.Field != "amount" {
		t.Errorf("an amount with too many decimals is %+v, %v", a, err)
	}
	for _, text := range []string{
		"", "MAYBE", "NEW", "NEW x", "LOW", "LOW x:y", "CLOSED", "CLOSED soon", "ASK own", "ASK own:far:x",
	} {
		if a, err := openTerms().answer(r, text, now); err == nil {
			t.Errorf("%q was read as %+v", text, a)
		}
	}
}

func TestEntries(t *testing.T) {
	t.Parallel()
	key := uuid.NewString()
	entry := func(change map[string]any) redis.XMessage {
		values := map[string]any{
			"bid": "2:00000000000101000:1:1:1700000000000000:9", "request": key, "end": "1700003600000000",
			"version": "2",
		}
		for name, value := range change {
			values[name] = value
		}
		return redis.XMessage{ID: "1-0", Values: values}
	}
	read, err := readEntries([]redis.XMessage{entry(nil)}, openTerms())
	if err != nil || read[0].bid.Key.String() != key || read[0].version != 2 ||
		read[0].endAt.UnixMicro() != 1700003600000000 {
		t.Fatalf("%+v %v", read, err)
	}
	for name, value := range map[string]any{"bid": "x", "request": "x", "end": nil, "version": "two"} {
		if read, err := readEntries(
			[]redis.XMessage{entry(nil), entry(map[string]any{name: value})}, openTerms(),
		); !errors.Is(err, errGarbled) {
			t.Errorf("%s %v: %+v %v", name, value, read, err)
		}
	}
}

// Replaying what Redis decided finds any difference from what the rulebook would have.
func TestReplayFindsEveryDifference(t *testing.T) {
	t.Parallel()
	s := openTerms().State
	at := s.StartAt.Add(time.Minute)
	var entries []entry
	state := s
	for i := range 3 {
		amount, _ := money.Parse(money.FromMinor(int64(101_000+i*1000), usd).String())
		memory := auction.Memory{ByKey: map[uuid.UUID]auction.Bid{}, Paddles: map[int64]int{}}
		next, accepted, _ := state.Fold(
			[]auction.Request{{AuctionID: 42, BidderID: int64(2 + i), Amount: amount, Key: uuid.New()}}, memory, at,
		)
		bid := accepted[0]
		bid.ID = int64(i + 1)
		entries = append(entries, entry{bid: bid, endAt: next.EndAt, version: next.Version})
		state = next
	}
	memory := func() auction.Memory {
		return auction.Memory{ByKey: map[uuid.UUID]auction.Bid{}, Paddles: map[int64]int{}}
	}
	if after, agreed, err := replay(s, memory(), entries); err != nil || agreed != 3 || after != state {
		t.Fatalf("%+v %d %v", after, agreed, err)
	}
	for name, change := range map[string]func(*entry){
		"amount too low": func(e *entry) { e.bid.Amount = money.FromMinor(101_500, usd) },
		"paddle":         func(e *entry) { e.bid.Paddle++ },
		"seq":            func(e *entry) { e.bid.Seq++ },
		"end":            func(e *entry) { e.endAt = e.endAt.Add(time.Second) },
		"version":        func(e *entry) { e.version++ },
		"after the end":  func(e *entry) { e.bid.AcceptedAt = s.EndAt },
		"the seller's":   func(e *entry) { e.bid.BidderID = s.SellerID },
		"a key twice":    func(e *entry) { e.bid.Key = entries[0].bid.Key },
	} {
		changed := append([]entry{}, entries...)
		change(&changed[1])
		_, agreed, err := replay(s, memory(), changed)
		var differs *differError
		if !errors.As(err, &differs) || agreed != 1 {
			t.Errorf("%s: %d agreed, %v", name, agreed, err)
		}
	}
}

package live_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"martelo/app/auction"
	"martelo/app/live"
	"martelo/app/money"
)

// What travels is the whole state and the newest bids, without the keys they were sent with.
func TestWireCarriesEverythingButKeys(t *testing.T) {
	t.Parallel()
	closed := state(12)
	closed.Status, closed.ClosedAt = auction.Closed, closed.EndAt
	large := state(1)
	large.Currency = money.MustCurrency("CLF") // four decimals
	large.StartPrice, large.MinIncrement = money.FromMinor(1, large.Currency), money.FromMinor(1, large.Currency)
	large.CurrentPrice = money.FromMinor(9_999_999_999_999_999, large.Currency) // above what a float holds exactly
	updates := []auction.Update{
		{State: state(0)},
		{State: state(12), Recent: history(12, 10)},
		{State: closed, Recent: history(12, 10)},
		{State: large},
	}
	fields := reflect.TypeFor[auction.State]()
	for i := range fields.NumField() {
		if !slices.ContainsFunc(
			updates, func(u auction.Update) bool { return !reflect.ValueOf(u.State).Field(i).IsZero() },
		) {
			t.Errorf("%s is never set here, so that nobody knows whether it travels", fields.Field(i).Name)
		}
	}
	for _, u := range updates {
		message, err := live.EncodeWire("ours", &u)
		if err != nil {
			t.Fatal(err)
		}
		got, err := live.DecodeWire("ours", u.State.ID, string(message))
		if err != nil {
			t.Fatal(err)
		}
		if got.State != u.State {
			t.Errorf("sent     %+v\nreceived %+v", u.State, got.State)
		}
		for i, bid := range u.Recent {
			if strings.Contains(string(message), bid.Key.String()) {
				t.Errorf("the message holds a bid's key: %s", message)
			}
			if bid.Key = uuid.Nil; got.Recent[i] != bid {
				t.Errorf("sent bid %+v, received %+v", bid, got.Recent[i])
			}
		}
	}
}

// A message that is not whole, or about something else, is refused, whatever is wrong with it.
func TestWireRefusesNonsense(t *testing.T) {
	t.Parallel()
	u := auction.Update{State: state(3), Recent: history(3, 3)}
	message, err := live.EncodeWire("ours", &u)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := live.DecodeWire("ours", 2, string(message)); err == nil {
		t.Error("a message about another auction was taken")
	}
	const later = 9_000_000_000_000_000_000 // microseconds after 1970: beyond PostgreSQL's calendar
	for _, change := range []map[string]any{
		// Three bids have led to version 4 at least.
		{"version": 0}, {"version": -1}, {"version": int64(math.MaxInt64)}, {"version": 3},
		{"currency": "XX"}, {"status": "SOLD"}, {"lane": "cold"}, {"id": nil}, {"seller": 0},
		{"price": "12"}, {"price": -5}, {"price": 0}, {"price": 99_999}, {"price": 100_500},
		{"price": int64(math.MaxInt64)}, {"price": 104_000},
		{"start": -1}, {"start": int64(math.MinInt64)}, {"increment": 0}, {"increment": -1},
		{"increment": int64(math.MaxInt64)},
		{"leader": 0}, {"leader": 2}, {"leader": -3}, {"paddle": 0}, {"paddle": 9}, {"bidders": 4}, {"bidders": 0},
		{"bids": 0}, {"bids": -1},
		{"endAt": 1.5}, {"endAt": 0}, {"endAt": later}, {"endAt": 1}, {"startAt": -later}, {"startAt": 0},
		{"originalEndAt": 0},
		{"closedAt": 1}, {"status": "CLOSED"}, {"status": "CLOSED", "closedAt": 1}, {"status": "SCHEDULED"},
		{"windowSeconds": -1}, {"windowSeconds": int64(math.MaxInt64)}, {"extendSeconds": 86_401},
		{"extendSeconds": int64(math.MinInt64) + 1},
		{"recent": make([]any, auction.RecentMax+1)}, {"recent": []any{map[string]any{}}},
		{"recent": []any{map[string]any{"id": 1, "seq": 3, "bidder": 3, "paddle": 1, "amount": 102_000}}},
		{"recent": []any{map[string]any{"id": 1, "seq": 4, "bidder": 3, "paddle": 1, "amount": 103_000}}},
		{"recent": []any{map[string]any{"id": 1, "seq": 3, "bidder": 4, "paddle": 1, "amount": 103_000}}},
	} {
		var fields map[string]any
		decoder := json.NewDecoder(bytes.NewReader(message))
		decoder.UseNumber()
		if err := decoder.Decode(&fields); err != nil {
			t.Fatal(err)
		}
		maps.Copy(fields, change)
		changed, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := live.DecodeWire("ours", 1, string(changed)); err == nil {
			t.Errorf("%v was taken as %+v", change, got.State)
		}
	}
	for _, house := range []string{"", "theirs"} {
		if _, err := live.DecodeWire(house, 1, string(message)); !errors.Is(err, live.ErrForeign) {
			t.Errorf("a message of another house than %q: %v", house, err)
		}
	}
}

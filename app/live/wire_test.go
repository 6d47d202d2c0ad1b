package live_test

import (
	"encoding/json"
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
	updates := []live.Update{
		{State: state(0)},
		{State: state(12), Recent: history(12, 10)},
		{State: closed, Recent: history(12, 10)},
		{State: large},
	}
	fields := reflect.TypeFor[auction.State]()
	for i := range fields.NumField() {
		if !slices.ContainsFunc(updates, func(u live.Update) bool { return !reflect.ValueOf(u.State).Field(i).IsZero() }) {
			t.Errorf("%s is never set here, so that nobody knows whether it travels", fields.Field(i).Name)
		}
	}
	for _, u := range updates {
		message, err := live.EncodeWire(&u)
		if err != nil {
			t.Fatal(err)
		}
		got, err := live.DecodeWire(u.State.ID, string(message))
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
	u := live.Update{State: state(3), Recent: history(3, 3)}
	message, err := live.EncodeWire(&u)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := live.DecodeWire(2, string(message)); err == nil {
		t.Error("a message about another auction was taken")
	}
	for field, nonsense := range map[string]any{
		"version": 0, "currency": "XX", "status": "SOLD", "price": "12", "endAt": 1.5, "recent": make([]any, live.RecentMax+1), "id": nil,
	} {
		var fields map[string]any
		if err := json.Unmarshal(message, &fields); err != nil {
			t.Fatal(err)
		}
		fields[field] = nonsense
		changed, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := live.DecodeWire(1, string(changed)); err == nil {
			t.Errorf("%s %v was taken as %+v", field, nonsense, got.State)
		}
	}
}

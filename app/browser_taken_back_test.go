package main_test

import (
	"fmt"
	"time"
)

// takenBack publishes an end that never was: the open page says so for a moment, and then has its
// price and its bid form again, which works.
func (f *fair) takenBack() {
	lot := f.lot(nil)
	ann := f.ann.visit(f.T, f.here, lotPath(lot)).live()
	f.ben.visit(f.T, f.there, lotPath(lot)).live()
	ann.shows(fmt.Sprintf("#amount-%d", lot.ID))
	store := f.store()
	eventually(f, 10*time.Second, "both nodes listen", func() bool {
		channel := fmt.Sprintf("auction:%d", lot.ID)
		return store.PubSubNumSub(f.Context(), channel).Val()[channel] == 2
	})
	f.publish(store, lot.ID, f.message(f.here, lot.ID, map[string]any{
		"version": 5000, "status": "CLOSED", "closedAt": lot.EndTime.UnixMicro(), "price": 999900,
		"leader": lot.SellerID + 1, "paddle": 1, "bids": 1,
		"bidders": 1,
	}))
	eventually(
		f, convergeWithin, "it is taken back",
		func() bool { return f.here.metric("martelo_live_taken_back_total") != "0" },
	)
	ann.reads(".panel .price--large", "$1,000.00")
	ann.holds(fmt.Sprintf(`document.querySelector('[data-lot="%d"]').dataset.status === 'OPEN'`, lot.ID))
	ann.shows(fmt.Sprintf("#amount-%d", lot.ID))
	ann.presses(placeBid(lot))
	ann.reads(".standing", "You are the highest bidder.")
	ann.reads(".panel .price--large", "$1,010.00")
}

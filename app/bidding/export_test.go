package bidding

import "time"

// Remember has a desk remember each auction's price from the first bid on, for as long as told.
func (d *Desk) Remember(fresh time.Duration) { d.early.fresh, d.early.company = fresh, 1 }

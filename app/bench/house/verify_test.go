package house

import (
	"slices"
	"testing"
)

// A load on two auctions, one of which had bids before: what is right goes by, and each kind of
// fault is found.
func TestVerifyCatchesACorruptedLog(t *testing.T) {
	t.Parallel()
	const (
		fresh, older = 41, 42
		bids         = 20 // on each of the two
		stood        = 7  // bids on the older one before
	)
	k := NewKeys()
	before := map[int64]Standing{fresh: {}, older: {Price: 500, Count: stood}}
	type house struct {
		log   []logged
		after map[int64]Standing
		sent  []Sent
	}
	good := func() house {
		h := house{after: map[int64]Standing{
			fresh: {Price: 1000 + bids, Count: bids}, older: {Price: 1000 + bids, Count: stood + bids},
		}}
		for i := range 2 * bids {
			id, n := int64(fresh), int64(i+1)
			seq := n
			if i >= bids {
				id, n = older, int64(i-bids+1)
				seq = stood + n
			}
			h.sent = append(h.sent, Sent{Auction: id, Amount: 1000 + n, Seq: seq})
			h.log = append(h.log, logged{auction: id, seq: seq, amount: 1000 + n, key: k.Of(i)})
		}
		// An answer that got lost is no fault of the log, and neither are bids that were too low.
		h.sent[3].Seq = 0
		h.sent = append(h.sent, Sent{Auction: fresh, Amount: 1005}, Sent{Auction: older, Amount: 1000000})
		return h
	}
	h := good()
	if wrong := verify(h.log, before, h.after, h.sent, k); len(wrong) > 0 {
		t.Fatalf("a good log: %v", wrong)
	}
	nobody := map[int64]Standing{fresh: {Price: 5, Count: 2}}
	if wrong := verify(nil, nobody, nobody, nil, k); len(wrong) > 0 {
		t.Fatalf("an auction that nobody bid on: %v", wrong)
	}
	for name, corrupt := range map[string]func(h *house){
		"a gap": func(h *house) { h.log = slices.Delete(h.log, 7, 8); h.sent[7].Seq = 0 },
		"the load's first is missing": func(h *house) {
			h.log = slices.Delete(h.log, bids, bids+1)
			h.sent[bids].Seq = 0
		},
		"the last is missing": func(h *house) {
			h.log = h.log[:2*bids-1]
			h.after[older] = Standing{1019, stood + 19}
		},
		"an amount":                  func(h *house) { h.log[5].amount = 1005 },
		"an amount that nobody sent": func(h *house) { h.log[bids-1].amount++; h.after[fresh] = Standing{1021, bids} },
		"less than before the load":  func(h *house) { h.log[bids].amount, h.sent[bids].Amount = 499, 499 },
		"somebody else's":            func(h *house) { h.log[5].key = NewKeys().Of(5) },
		"another auction's": func(h *house) {
			h.log[5].key, h.log[bids+5].key = k.Of(bids+5), k.Of(5)
			h.sent[5].Seq, h.sent[bids+5].Seq = 0, 0
		},
		"another number":                 func(h *house) { h.sent[4].Seq = 6 },
		"an older price":                 func(h *house) { h.after[fresh] = Standing{1019, bids} },
		"a count":                        func(h *house) { h.after[older] = Standing{1020, bids} },
		"acknowledged and never written": func(h *house) { h.sent[2*bids].Seq = bids + 1 },
		"twice": func(h *house) {
			h.log = append(h.log, logged{older, stood + bids + 1, 1021, k.Of(2*bids - 1)})
			h.after[older] = Standing{1021, stood + bids + 1}
		},
	} {
		h := good()
		corrupt(&h)
		if len(verify(h.log, before, h.after, h.sent, k)) == 0 {
			t.Errorf("%s went by", name)
		}
	}
}

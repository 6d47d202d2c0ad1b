package main

import (
	"flag"
	"time"
)

// scenarios are what can be measured, in the order in which they are listed.
var scenarios = []scenario{
	{
		name: "hot", summary: "bids on one auction at several rates", nodes: true, run: (*bench).hot,
		about: `Each rate has an auction of its own, whose log is verified afterwards. Bids come in ascending order,
each a step above the last; what reaches the auction in another order is too low.
`,
		short: size{rates: []int{1000, 2000, 5000, 10000}, warm: 2 * time.Second, span: 6 * time.Second},
		long:  size{rates: []int{1000, 2000, 5000, 10000, 20000}, warm: 3 * time.Second, span: 30 * time.Second},
		more: func(o *options, set *flag.FlagSet) {
			o.laneFlag(set)
			set.IntVar(&o.low, "low", 0, "`N` bids of a hundred that are too low on purpose")
		},
	},
	{
		name: "mixed", summary: "bids on one hot auction, and meanwhile on many quiet ones",
		nodes: true, run: (*bench).mixed,
		about: `The two loads have connections of their own and are told apart; the logs of all auctions are
verified. With --lock the row of one quiet auction is held in the middle of the run, after the usual
span and before another: what the others notice of it is told apart, and so are the bids on that
auction.
`,
		short: size{rates: []int{5000}, warm: 2 * time.Second, span: 6 * time.Second, auctions: 100_000},
		long:  size{rates: []int{5000, 20000}, warm: 3 * time.Second, span: 30 * time.Second, auctions: 100_000},
		more: func(o *options, set *flag.FlagSet) {
			o.laneFlag(set)
			o.quiet = quietOr
			set.Func("quiet", "`N` bids a second on the quiet auctions (usually 500)", number(&o.quiet))
			set.Func("lock", "`TIME` that a row is held (usually none is)", duration(&o.lock))
		},
	},
	{
		name: "burst", summary: "many bid once on the same auction, all within half a second",
		nodes: true, run: (*bench).burst,
		about: `Times run until a bidder has an answer that is final: who is asked to come again sends the same bid
with the same key. Each round has an auction of its own, whose log is verified.
`,
		short: size{bidders: []int{1000}, span: 500 * time.Millisecond, rounds: 3},
		long:  size{bidders: []int{1000, 5000}, span: 500 * time.Millisecond, rounds: 9},
		more:  func(o *options, set *flag.FlagSet) { o.laneFlag(set) },
	},
	{
		name: "desk", summary: "the house beside two other designs, on one auction, without HTTP", run: (*bench).desk,
		about: `In this process, each bidder bids again as soon as the last bid is answered: how many a second does
the house accept, the published transaction, and one conditional statement a bid? The designs take
turns.
`,
		short: size{bidders: []int{64}, warm: time.Second, span: 8 * time.Second, rounds: 1},
		long:  size{bidders: []int{64, 256}, warm: 3 * time.Second, span: 30 * time.Second, rounds: 3},
	},
	{
		name: "cold", summary: "bids spread over many auctions: like desk, and then through HTTP",
		nodes: true, run: (*bench).cold,
		about: `Hardly two bids meet. The designs take turns on the same auctions; after that the house is offered
several rates through HTTP, and the logs of all auctions are verified.
`,
		short: size{
			rates: []int{500, 1000}, warm: time.Second, span: 6 * time.Second, auctions: 20_000,
			bidders: []int{64}, rounds: 1,
		},
		long: size{
			rates: []int{500, 1000, 2000, 4000}, warm: 3 * time.Second, span: 30 * time.Second, auctions: 100_000,
			bidders: []int{64, 256}, rounds: 3,
		},
	},
	{
		name: "close", summary: "many auctions end in the same second", nodes: true, run: (*bench).closing,
		about: `How long after the first end are all of them closed, and when are all their events told?
`,
		short: size{auctions: 20_000}, long: size{auctions: 100_000},
	},
	{
		name: "viewers", summary: "many watch live while bids come in", nodes: true, run: (*bench).viewers,
		about: `How long after a bid was sent does each viewer see its price, and what does a viewer cost? The bids
are measured without viewers and with them; at the end all viewers must show the last price.
`,
		short: size{rates: []int{200}, warm: time.Second, span: 8 * time.Second, viewers: 1000, auctions: 1},
		long: size{
			rates: []int{200, 2000}, warm: 2 * time.Second, span: 30 * time.Second, viewers: 10_000, auctions: 1,
		},
	},
	{
		name: "browse", summary: "the home page and an auction's page, for visitors", nodes: true, run: (*bench).browse,
		about: `Many auctions are open, and the visitors have not signed in.
`,
		short: size{rates: []int{500, 1000, 3000}, warm: time.Second, span: 4 * time.Second, auctions: 20_000},
		long: size{
			rates: []int{500, 1000, 2000, 3000, 4000, 5000}, warm: 3 * time.Second, span: 30 * time.Second,
			auctions: 100_000,
		},
	},
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"martelo/app/account"
	"martelo/app/auction"
	"martelo/app/auctioneer"
	"martelo/app/catalog"
	"martelo/app/money"
	"martelo/db"
)

var demoSellers = []account.Account{
	{Email: "alma@demo.example", Name: "Alma Watches", SellerName: "Alma Watches", Role: account.RoleSeller},
	{Email: "northgate@demo.example", Name: "Northgate Books", SellerName: "Northgate Books", Role: account.RoleSeller},
	{Email: "oficina@demo.example", Name: "Oficina Tavares", SellerName: "Oficina Tavares", Role: account.RoleSeller},
}

var demoBuyers = []account.Account{
	{Email: "ines@demo.example", Name: "Inês"},
	{Email: "jonas@demo.example", Name: "Jonas"},
	{Email: "mei@demo.example", Name: "Mei"},
}

var demoAdmin = account.Account{Email: "house@demo.example", Name: "The house", Role: account.RoleAdmin}

type demoLot struct {
	seller             int
	title, description string
	currency           string
	start, increment   string
	starts, ends       time.Duration
	bids               []string // by the buyers in turn
}

var demoLots = []demoLot{
	{
		0, "Omega Seamaster 300, 1967",
		"Steel, automatic calibre 552, original dial with light patina. Serviced last spring; keeps time within " +
			"six seconds a day. On its later bracelet, with the box.",
		"USD", "1000.00", "10.00", 0, 2 * time.Minute, []string{"1010.00", "1100.00", "1150.00"},
	},
	{
		2, "Carpenter's workbench in beech, about 1930",
		"Two vices, tool well, dog holes along the front. Some worm in one foot, treated. 196 × 62 × 84 cm. " +
			"Collection only.",
		"EUR", "180.00", "10.00", 0, 4 * time.Minute, []string{"190.00", "210.00"},
	},
	{
		1, "Darwin, On the Origin of Species, sixth edition, 1872",
		"John Murray, London. Original green cloth, spine faded, hinges sound. Folding diagram present. Ownership " +
			"inscription on the half-title.",
		"GBP", "650.00", "25.00", 0, 25 * time.Minute, []string{"675.00", "725.00", "800.00", "850.00"},
	},
	{
		0, "Seiko 6139 chronograph, blue dial, 1971",
		"The reference with the blue tachymeter ring. Chronograph runs and resets cleanly; the bezel has two small " +
			"marks.",
		"JPY", "60000", "1000", 0, time.Hour, []string{"61000", "65000"},
	},
	{
		2, "Six azulejo tiles, Lisbon, eighteenth century",
		"Blue on white, a running border of acanthus. Two with old repairs to the corners. Each about 14 × 14 cm.",
		"EUR", "240.00", "20.00", 0, 3 * time.Hour, []string{"260.00"},
	},
	{
		1, "Admiralty chart of the Azores, 1911",
		"Engraved, corrected in ink to 1916, backed on linen. Fold lines, one tear closed. 101 × 66 cm.", "GBP",
		"90.00", "5.00", 0, 6 * time.Hour, nil,
	},
	{
		0, "Longines pocket watch, silver, 1908",
		"Open face, white enamel dial without a hairline, hinged back with a hunting scene. Running; not timed.", "USD",
		"220.00", "10.00", 0, 11 * time.Hour, []string{"230.00", "240.00", "250.00"},
	},
	{
		2, "Pair of Thonet bentwood chairs, no. 14", "Stamped under the seat rails. New cane in both, old finish kept.",
		"EUR", "160.00", "10.00", 0, 26 * time.Hour, []string{"170.00"},
	},
	{
		1, "Le Petit Prince, first French edition, 1945",
		"Gallimard, Paris. Wrappers with small losses at the head of the spine; inside clean and unopened in part.",
		"EUR", "400.00", "20.00", 0, 50 * time.Hour, nil,
	},
	{
		0, "Box of watchmaker's tools",
		"Staking set by Boley, screwdrivers, hand removers, a loupe and two movement holders, in a beech box with " +
			"drawers.",
		"USD", "0.00", "5.00", 0, 3 * 24 * time.Hour, []string{"5.00", "40.00", "45.00"},
	},
	{
		2, "Portuguese guitar by Grácio, about 1965",
		"Coimbra pattern, spruce top, twelve strings. One closed crack by the bridge. In its case.", "EUR", "700.00",
		"25.00", 0, 5 * 24 * time.Hour, []string{"725.00"},
	},
	{
		1, "Complete run of The Yellow Book, 1894–1897",
		"Thirteen volumes in yellow cloth, spines toned, plates complete.", "GBP", "1200.00", "50.00", 20 * time.Minute,
		7 * 24 * time.Hour, nil,
	},
}

// demo fills an empty house: three sellers, three buyers, an admin, a dozen lots that end from two
// minutes to a week from now, some with bids. Everybody may read the password of these accounts, so
// it is refused where anybody else is. Run again, it opens the lots that have ended meanwhile once
// more, so that there is always something about to end.
func demo(ctx context.Context, out io.Writer) error {
	return withPool(func(pool *pgxpool.Pool) error {
		people := account.New(pool)
		if err := onlyDemo(ctx, people); err != nil {
			return err
		}
		sellers, err := admit(ctx, people, demoSellers)
		if err != nil {
			return err
		}
		buyers, err := admit(ctx, people, demoBuyers)
		if err != nil {
			return err
		}
		if _, err := admit(ctx, people, []account.Account{demoAdmin}); err != nil {
			return err
		}
		if err := openLots(ctx, pool, sellers, buyers); err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "demo logins, password %s: seller %s, buyers %s and %s, admin %s\n",
			account.DemoPassword, demoSellers[0].Email, demoBuyers[0].Email, demoBuyers[1].Email, demoAdmin.Email)
		return err
	})
}

// onlyDemo refuses a house in which somebody is no demo account.
func onlyDemo(ctx context.Context, people *account.People) error {
	ours := []string{demoAdmin.Email}
	for _, a := range slices.Concat(demoSellers, demoBuyers) {
		ours = append(ours, a.Email)
	}
	others, err := people.Outside(ctx, ours)
	if err != nil {
		return err
	}
	if others > 0 {
		return fmt.Errorf("demo: refused: %d people of this house are no demo accounts, "+
			"and the demo's admin has a password that everybody may read", others)
	}
	return nil
}

// admit signs up who is not there yet.
func admit(ctx context.Context, people *account.People, accounts []account.Account) ([]int64, error) {
	var ids []int64
	for _, a := range accounts {
		person, err := people.ByEmail(ctx, a.Email)
		if errors.Is(err, account.ErrNoSuchUser) {
			person, err = people.SignUpDemo(ctx, a)
		}
		if err != nil {
			return nil, fmt.Errorf("demo: %s: %w", a.Email, err)
		}
		ids = append(ids, person.ID)
	}
	return ids, nil
}

// onOffer are the titles of a seller's auctions that are open or still to open.
func onOffer(ctx context.Context, pool *pgxpool.Pool, seller int64) (map[string]bool, error) {
	titles := map[string]bool{}
	for _, status := range []auction.Status{auction.Open, auction.Scheduled} {
		page, err := catalog.New(pool).List(
			ctx, catalog.Filter{SellerID: seller, Status: status, Sort: catalog.SortNewest, Limit: catalog.PageMax},
		)
		if err != nil {
			return nil, err
		}
		for _, a := range page.Auctions {
			titles[a.Title] = true
		}
	}
	return titles, nil
}

// openLots opens the lots that nobody can bid on now.
func openLots(ctx context.Context, pool *pgxpool.Pool, sellers, buyers []int64) error {
	// Nobody is told: nodes that run find new auctions in the database.
	auctioneer := auctioneer.New(auctioneer.Options{Database: pool, Log: slog.New(slog.DiscardHandler)})
	now, err := db.New(pool).Clock(ctx)
	if err != nil {
		return err
	}
	for _, lot := range demoLots {
		offered, err := onOffer(ctx, pool, sellers[lot.seller])
		if err != nil {
			return err
		}
		if offered[lot.title] {
			continue
		}
		draft, err := lot.draft(sellers[lot.seller], now)
		if err != nil {
			return fmt.Errorf("demo: %s: %w", lot.title, err)
		}
		id, err := auctioneer.Open(ctx, draft)
		if err != nil {
			return fmt.Errorf("demo: %s: %w", lot.title, err)
		}
		for i, text := range lot.bids {
			amount, err := money.Parse(text)
			if err != nil {
				return err
			}
			bid := auction.Request{AuctionID: id, BidderID: buyers[i%len(buyers)], Amount: amount, Key: uuid.New()}
			if _, _, err := auctioneer.Place(ctx, bid); err != nil {
				return fmt.Errorf("demo: bid of %s on %s: %w", text, lot.title, err)
			}
		}
	}
	return auctioneer.Stop(ctx)
}

func (l demoLot) draft(seller int64, now time.Time) (auction.Draft, error) {
	currency, err := money.ParseCurrency(l.currency)
	if err != nil {
		return auction.Draft{}, err
	}
	draft := auction.Draft{
		SellerID: seller, Title: l.title, Description: l.description, Currency: currency,
		EndAt: now.Add(l.ends), SoftClose: auction.DefaultSoftClose, Lane: auction.Standard,
	}
	if l.starts > 0 {
		draft.StartAt = now.Add(l.starts)
	}
	if draft.StartPrice, err = parseAmount(l.start, currency); err != nil {
		return draft, err
	}
	draft.MinIncrement, err = parseAmount(l.increment, currency)
	return draft, err
}

func parseAmount(text string, c money.Currency) (money.Amount, error) {
	decimal, err := money.Parse(text)
	if err != nil {
		return money.Amount{}, err
	}
	return decimal.In(c)
}

package catalog_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"martelo/app/auction"
	"martelo/app/catalog"
	"martelo/db"
	"martelo/db/dbtest"
)

// shelf is a house with a few lots of our own words.
func shelf(t *testing.T) *house {
	t.Helper()
	pool, err := db.OpenReader(dbtest.URL(t), 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	h := &house{TB: t, pool: pool, catalog: catalog.New(pool)}
	user, err := db.New(pool).UserInsert(t.Context(), db.UserInsertParams{Name: "Seller", Role: "seller"})
	if err != nil {
		t.Fatal(err)
	}
	h.sellers = []int64{user.ID}
	return h
}

// add adds a lot of a status that ends so many minutes from now, and returns its id.
func (h *house) add(status auction.Status, title string, minutes int) int64 {
	h.Helper()
	var id int64
	err := h.pool.QueryRow(h.Context(), `
		INSERT INTO auctions (seller_id, currency, currency_digits, start_price, min_increment, current_price, status,
		start_at, end_at, original_end_at, closed_at)
		SELECT $1, 'USD', 2, 100, 100, 100, $2, now() - interval '9 days', ends, ends, CASE WHEN $2 IN ('CLOSED',
		'CANCELLED') THEN now() + interval '1 day' END
		FROM (SELECT now() + make_interval(mins => $3) AS ends) AS made
		RETURNING id`, h.sellers[0], string(status), minutes).Scan(&id)
	if err != nil {
		h.Fatal(err)
	}
	h.exec("INSERT INTO lots (auction_id, title, description) VALUES ($1, $2, '')", id, title)
	return id
}

func TestSearchFindsWhatPeopleMean(t *testing.T) {
	t.Parallel()
	h := shelf(t)
	titles := []string{
		"Inês de Castro, engraving", "cafe\u0301 table", "アンティーク時計", "Đồng hồ cổ, gốm Bát Tràng", "Vintage watch",
		"Grácio bowl", "Часы «Ёлка»", "ＳＥＩＫＯ ｸﾞﾗﾝﾄﾞ", "Glas straße",
		"골동품시계", "นาฬิกาเก่า", "Box of berries", "Ærø map", "ガラス", "e-mail 12.50 O'Brien", "שָׁעוֹן", "سَاعَة",
	}
	ids := map[string]int64{}
	for _, title := range titles {
		ids[title] = h.add(auction.Open, title, 60)
	}
	for query, want := range map[string][]int{
		"ines": {0}, "INÊS": {0}, "ine\u0302s": {0}, "castro inês": {0}, "café": {1}, "cafe": {1}, "CAFE\u0301": {1},
		"時計": {2}, "時": {2}, "アンティーク": {2}, "ティーク時": {2}, "計": {2}, "アンティーク 時計": {2}, "計時": {}, "時計店": {},
		"ｱﾝﾃｨｰｸ": {2},
		"gom":    {3}, "gốm": {3}, "bat trang": {3}, "dong ho": {3}, "đồng": {3}, "GỐM BÁT": {3},
		"watch": {4}, "watches": {4}, "wat": {4}, "gracio": {5}, "bowls": {5}, "часы": {6}, "ЕЛКА": {6}, "ёлка": {6},
		"seiko": {7}, "グランド": {7}, "strasse": {8}, "STRASSE": {8}, "glass": {},
		"시계": {9}, "골동품": {9}, "นาฬิกา": {10}, "เก่า": {10}, "boxes": {11}, "berries": {11}, "berry": {}, "aero": {12},
		"ガラ": {13}, "カラス": {},
		"e-mail": {14}, "12.50": {14}, "o'brien": {14}, "שעון": {15}, "ساعة": {16}, "w": {}, "atch": {}, "omega時計": {},
		"vintage watches": {4}, "'": {}, "\\": {},
	} {
		page, err := h.catalog.List(t.Context(), catalog.Filter{Query: query})
		if err != nil {
			t.Errorf("%q: %v", query, err)
			continue
		}
		var got, wanted []string
		for _, a := range page.Auctions {
			got = append(got, a.Title)
		}
		for _, i := range want {
			wanted = append(wanted, titles[i])
		}
		if !slices.Equal(got, wanted) {
			t.Errorf("%q finds %q, want %q", query, got, wanted)
		}
	}
	// Words that are changed are found anew.
	h.exec("UPDATE lots SET title = 'Chávena' WHERE auction_id = $1", ids["Vintage watch"])
	for query, want := range map[string]int{"chavenas": 1, "vintage": 0} {
		if page, err := h.catalog.List(t.Context(), catalog.Filter{Query: query}); err != nil ||
			len(page.Auctions) != want {
			t.Errorf("%q finds %d %v, want %d", query, len(page.Auctions), err, want)
		}
	}
}

func TestANumberOffersThatLotFirst(t *testing.T) {
	t.Parallel()
	h := shelf(t)
	named := h.add(auction.Open, "Plain chair", 500)
	closed := h.add(auction.Closed, "Plain table", -10)
	texts := []int64{
		h.add(auction.Open, fmt.Sprintf("Set of %d spoons", named), 10),
		h.add(auction.Open, fmt.Sprintf("Medal no. %d of 50", named), 20),
	}
	for _, query := range []string{
		fmt.Sprint(named), fmt.Sprintf("#%d", named), fmt.Sprintf("Lot %d", named), fmt.Sprintf(" lot no. %d", named),
	} {
		for _, sort := range []catalog.Sort{catalog.SortEnding, catalog.SortNewest, catalog.SortPrice} {
			for limit := 1; limit <= 4; limit++ {
				f := catalog.Filter{Query: query, Sort: sort, Limit: limit}
				page, err := h.catalog.List(t.Context(), f)
				if err != nil || len(page.Auctions) == 0 || page.Auctions[0].ID != named || page.Named == nil ||
					page.Named.ID != named {
					t.Fatalf("%q by %s: %+v %v", query, sort, page, err)
				}
				all := h.walk(f)
				if query == fmt.Sprint(named) &&
					(len(all) != 3 || all[1].ID == all[2].ID ||
						!slices.Contains(texts, all[1].ID) || !slices.Contains(texts, all[2].ID)) {
					t.Errorf("%q by %s, %d to a page: %d lots", query, sort, limit, len(all))
				}
			}
		}
	}
	page, err := h.catalog.List(t.Context(), catalog.Filter{Query: fmt.Sprint(closed)})
	if err != nil || len(page.Auctions) != 0 || page.Named == nil || page.Named.ID != closed {
		t.Errorf("a closed lot among the open ones: %+v %v", page, err)
	}
	if page, err := h.catalog.List(t.Context(), catalog.Filter{Query: "999999999"}); err != nil || page.Named != nil {
		t.Errorf("no such lot: %+v %v", page, err)
	}
}

func TestCountsSayWhereElseWordsAre(t *testing.T) {
	t.Parallel()
	h := shelf(t)
	h.add(auction.Closed, "Omega 1965", -10)
	h.add(auction.Closed, "Omega 1970", -20)
	h.add(auction.Cancelled, "Ômega", 20)
	counts, err := h.catalog.Counts(t.Context(), catalog.Filter{Query: "omega"})
	if err != nil || counts[auction.Closed] != 2 || counts[auction.Cancelled] != 1 || counts[auction.Open] != 0 {
		t.Errorf("%v %v", counts, err)
	}
	if counts, err := h.catalog.Counts(
		t.Context(), catalog.Filter{Query: "omega", SellerID: h.sellers[0] + 1},
	); err != nil || len(counts) != 0 {
		t.Errorf("%v %v", counts, err)
	}
	if counts, err := h.catalog.Counts(t.Context(), catalog.Filter{Query: "!"}); err != nil || len(counts) != 0 {
		t.Errorf("%v %v", counts, err)
	}
}

// TestPagesHoldWhileAuctionsEnd walks through the list by end while auctions are extended and
// closed: each auction that was there at the beginning is seen, and the order on every page is
// right.
func TestPagesHoldWhileAuctionsEnd(t *testing.T) {
	t.Parallel()
	h := shelf(t)
	ids := map[int64]bool{}
	for i := range 24 {
		status := []auction.Status{auction.Open, auction.Scheduled, auction.Closed, auction.Cancelled}[i%4]
		ids[h.add(status, "Lot", map[bool]int{true: -i - 1, false: i + 10}[status == auction.Closed])] = true
	}
	for _, filter := range []catalog.Filter{
		{Status: catalog.All, Limit: 5}, {Status: catalog.All, Limit: 5, SellerID: h.sellers[0]},
		{Status: catalog.All, Limit: 5, Query: "lot"},
	} {
		seen, round := map[int64]bool{}, 0
		for f := filter; ; round++ {
			page, err := h.catalog.List(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			for i, a := range page.Auctions {
				seen[a.ID] = true
				if i > 0 && !inOrder(page.Auctions[i-1], a) {
					t.Errorf("%+v: %d before %d", f, page.Auctions[i-1].ID, a.ID)
				}
			}
			if page.Next == "" {
				break
			}
			f.Cursor = page.Next
			// The auction that ends first is closed, and another is extended by a late bid.
			h.exec(`UPDATE auctions SET status = 'CLOSED', closed_at = end_at, version = version + 1
				WHERE id = (SELECT id FROM auctions WHERE status = 'OPEN' ORDER BY end_at LIMIT 1)`)
			h.exec(`UPDATE auctions SET end_at = end_at + interval '7 minutes', version = version + 1
				WHERE id = (SELECT id FROM auctions WHERE status = 'OPEN' ORDER BY end_at LIMIT 1)`)
			h.follow()
			if round > 20 {
				t.Fatal("the list has no end")
			}
		}
		for id := range ids {
			if !seen[id] {
				t.Errorf("%+v: auction %d was never shown", filter, id)
			}
		}
	}
}

// inOrder tells whether one auction comes before another in the order of end.
func inOrder(a, b catalog.Auction) bool {
	if a.Status.Over() != b.Status.Over() {
		return b.Status.Over()
	}
	if a.Status.Over() {
		a, b = b, a
	}
	return a.EndAt.Before(b.EndAt) || a.EndAt.Equal(b.EndAt) && a.ID < b.ID
}

// TestALongTextIsReadInTime bounds what the longest description without a space costs to write and
// to search for.
func TestALongTextIsReadInTime(t *testing.T) {
	t.Parallel()
	h := shelf(t)
	id := h.add(auction.Open, "Scroll", 10)
	began := time.Now()
	h.exec(
		"UPDATE lots SET description = $2 WHERE auction_id = $1", id,
		strings.Repeat("山路を登りながら", auction.DescriptionLengthMax/8),
	)
	page, err := h.catalog.List(t.Context(), catalog.Filter{Query: strings.Repeat("登りながら山路を", 8)})
	if err != nil || len(page.Auctions) != 1 {
		t.Errorf("%d %v", len(page.Auctions), err)
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("it took %v", took)
	}
}

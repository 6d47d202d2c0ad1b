package catalog

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"martelo/app/auction"
	"martelo/db"
)

const (
	// searchWordsMax is how many words of a search count: more narrow nothing that people look for.
	searchWordsMax = 8
	// searchWordLengthMax is how many characters of a word count.
	searchWordLengthMax = 64
	// CountMax is how far Counts counts: from there on it is enough to know that there are many.
	CountMax = 1000
)

// search lists what has words in it. On the first page the auction whose number was typed stands
// before all others.
func (c *Catalog) search(ctx context.Context, words []string, f Filter, from cursor) (Page, error) {
	named, err := c.named(ctx, f.Query)
	if err != nil {
		return Page{}, err
	}
	over, place, tie := from.after()
	limit := f.Limit
	first := named != nil && f.Cursor == "" && f.lets(*named)
	if first {
		limit--
	}
	arg := db.CatalogSearchParams{
		Words: words, SellerID: f.seller(), Status: oneStatus(f.Status), Sort: string(f.Sort), AfterOver: over,
		AfterPlace: place, AfterTie: tie,
		RowLimit: int32(limit + 1),
	}
	if named != nil {
		arg.ExceptID = named.ID
	}
	var rows []db.CatalogSearchRow
	err = c.inTurn(ctx, func(queries *db.Queries) (err error) {
		rows, err = queries.CatalogSearch(ctx, arg)
		return err
	})
	found, err := readMany(rows, func(r db.CatalogSearchRow) db.CatalogOneRow { return db.CatalogOneRow(r) }, err)
	if err != nil {
		return Page{}, err
	}
	page := cut(found, limit, f.Sort)
	if f.Cursor == "" {
		page.Named = named
	}
	if first {
		page.Auctions = slices.Insert(page.Auctions, 0, *named)
	}
	return page, nil
}

// named is the auction whose number was searched for, nil when none was or there is no such
// auction.
func (c *Catalog) named(ctx context.Context, query string) (*Auction, error) {
	id := numberIn(query)
	if id == 0 {
		return nil, nil
	}
	found, err := c.One(ctx, id)
	if errors.Is(err, auction.ErrNotFound) {
		return nil, nil
	}
	return &found, err
}

// numberOnly is a lot's number as people write it in the languages the house speaks: "13", "#13",
// "Lot 13", "lote nº 13".
var numberOnly = regexp.MustCompile(
	`(?i)^(?:(?:lots?|lotes?|lô|auction|leilão)\s*)?(?:(?:#|№|no\.?|n[ºo°]\.?|nr\.?|number|número|số)\s*)?0*(\d{1` +
		`,18})$`,
)

// numberIn is the auction's id that a search names and nothing else; 0 without one.
func numberIn(query string) int64 {
	match := numberOnly.FindStringSubmatch(strings.TrimSpace(norm.NFKC.String(strings.ToValidUTF8(query, " "))))
	if match == nil {
		return 0
	}
	id, err := strconv.ParseInt(match[1], 10, 64)
	if err != nil {
		return 0
	}
	return id
}

func (f Filter) lets(a Auction) bool {
	return (f.Status == All || f.Status == a.Status) && (f.SellerID == 0 || f.SellerID == a.SellerID)
}

func (f Filter) seller() *int64 {
	if f.SellerID == 0 {
		return nil
	}
	return &f.SellerID
}

// Counts is how many auctions of each status a search finds, whatever status its filter has. All of
// them together are at most CountMax.
func (c *Catalog) Counts(ctx context.Context, f Filter) (map[auction.Status]int, error) {
	words, _ := searchWords(f.Query)
	if len(words) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	var rows []db.CatalogSearchCountsRow
	err := c.inTurn(ctx, func(queries *db.Queries) (err error) {
		arg := db.CatalogSearchCountsParams{Words: words, SellerID: f.seller(), CountLimit: CountMax}
		rows, err = queries.CatalogSearchCounts(ctx, arg)
		return err
	})
	if err != nil {
		return nil, db.Unavailable(err)
	}
	counts := map[auction.Status]int{}
	for _, row := range rows {
		counts[auction.Status(row.Status)] = int(row.Auctions)
	}
	return counts, nil
}

// searchWords are the words of what somebody typed that may occur in a text. It tells whether
// anything was searched for: without words nothing can be found then. How words are compared says
// the database's function lot_query.
func searchWords(typed string) (words []string, searches bool) {
	for word := range strings.FieldsFuncSeq(strings.ToValidUTF8(typed, " "), separates) {
		searches = true
		if len(words) == searchWordsMax {
			break
		}
		if strings.ContainsFunc(word, carriesMeaning) {
			words = append(words, firstOfWord(word))
		}
	}
	return words, searches
}

func separates(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }

func carriesMeaning(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

func firstOfWord(word string) string {
	if utf8.RuneCountInString(word) <= searchWordLengthMax {
		return word
	}
	return string([]rune(word)[:searchWordLengthMax])
}

// Package pages holds one function and one view per page of the house. Views are plain data; the
// web room fills them.
package pages

import (
	"net/url"

	"martelo/app/auction"
	"martelo/templates/components"
	"martelo/templates/fragments"
	"martelo/templates/layouts"
)

// LotCard is one lot in a list.
type LotCard struct {
	Lot   fragments.LotView
	Title string
	// Seller is whose it is; without an ID it is not shown.
	Seller SellerView
}

// ListQuery is what a list of lots was asked for, as it stands in the page's URL.
type ListQuery struct {
	Q      string         // words to search for
	Status auction.Status // "" is Open
	Sort   string         // "ending", "newest" or "price"; "" is "ending"
	Seller string         // a seller's id; "" is everybody
}

// ListView is the list of lots, which is also the home page.
type ListView struct {
	layouts.PageView
	Query ListQuery
	// Seller is set when Query.Seller is: whose lots these are.
	Seller SellerView
	Lots   []LotCard
	// NextURL leads to the next page of the list, "" on the last. FirstURL leads back to the first,
	// "" on it.
	NextURL, FirstURL string
	// NewsURL is where the page asks whether the list is still what it was; "" for a list that does
	// not ask.
	NewsURL string
	// PageSize is how many lots a page of the list has at most.
	PageSize int
	// Problem says what was wrong with the query, when something was ignored.
	Problem string
}

// url is the list's URL for a changed query. A cursor is never kept: another question starts on its
// first page.
func (q ListQuery) url() string {
	values := url.Values{}
	set := func(name, value string) {
		if value != "" {
			values.Set(name, value)
		}
	}
	set("q", q.Q)
	set("seller", q.Seller)
	set("sort", q.Sort)
	if q.Status != auction.Open {
		set("status", string(q.Status))
	}
	if len(values) == 0 {
		return components.PathAuctions
	}
	return components.PathAuctions + "?" + values.Encode()
}

func (q ListQuery) withStatus(status auction.Status) ListQuery { q.Status = status; return q }

func (q ListQuery) withoutSeller() ListQuery { q.Seller = ""; return q }

func (q ListQuery) status() auction.Status {
	if q.Status == "" {
		return auction.Open
	}
	return q.Status
}

func (q ListQuery) sort() string {
	if q.Sort == "" {
		return "ending"
	}
	return q.Sort
}

type choice struct{ value, label string }

// sections are the parts of the sale a visitor can look at.
var sections = []choice{
	{string(auction.Open), "Open"},
	{string(auction.Scheduled), "Upcoming"},
	{string(auction.Closed), "Closed"},
	{string(auction.Cancelled), "Withdrawn"},
}

var sorts = []choice{
	{"ending", "Ending first"},
	{"newest", "Newest first"},
	{"price", "Lowest price first"},
}

func (v ListView) heading() string {
	switch v.Query.status() {
	case auction.Scheduled:
		return "Coming up"
	case auction.Closed:
		return "Closed lots"
	case auction.Cancelled:
		return "Withdrawn lots"
	default:
		return "Open for bidding"
	}
}

// welcomes tells whether to say where one is: to visitors who have asked for nothing in particular.
func (v ListView) welcomes() bool {
	return v.Viewer == nil && v.FirstURL == "" && v.Query.url() == components.PathAuctions
}

// none says what an empty list means.
func (v ListView) none() string {
	if v.Query.Q != "" || v.Query.Seller != "" {
		return "No lot here matches what you asked for."
	}
	switch v.Query.status() {
	case auction.Scheduled:
		return "Nothing is waiting to open."
	case auction.Closed:
		return "No lot has closed yet."
	case auction.Cancelled:
		return "No lot has been withdrawn."
	default:
		return "Nothing is open for bidding at this moment."
	}
}

func sellerURL(id int64) string {
	return ListQuery{Seller: components.Number(id)}.url()
}

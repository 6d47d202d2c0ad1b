package components

import (
	"net/url"
	"strconv"
)

// The paths that pages link to and forms post to. They live beside the markup so that a form and
// its route are compared in one place; the web room registers its routes with the same words.
const (
	PathHome       = "/"
	PathAuctions   = "/auctions"
	PathNewAuction = "/auctions/new"
	PathReview     = "/auctions/new/review"
	PathMyBids     = "/me/bids"
	PathMyAuctions = "/me/auctions"
	PathAccount    = "/me"
	PathHelp       = "/help"
	PathSelling    = "/me/selling"
	PathTokens     = "/me/tokens"
	PathPassword   = "/me/password"
	PathSessions   = "/me/sessions/end"
	PathSignIn     = "/signin"
	PathSignUp     = "/signup"
	PathSignOut    = "/signout"
)

// AuctionPath is the page of one auction.
func AuctionPath(id int64) string { return PathAuctions + "/" + Number(id) }

// QueryDraft names the key of a form that is kept, in an address.
const QueryDraft = "draft"

// DraftPath is the page of a kept form: PathNewAuction for the form itself, PathReview for its
// review.
func DraftPath(path, key string) string { return path + "?" + url.Values{QueryDraft: {key}}.Encode() }

// BidsPath is where a bid is posted and the bids of an auction are listed.
func BidsPath(id int64) string { return AuctionPath(id) + "/bids" }

// CancelPath is where an auction is cancelled.
func CancelPath(id int64) string { return AuctionPath(id) + "/cancel" }

// TokenRevokePath is where an API token is revoked.
func TokenRevokePath(id int64) string { return PathTokens + "/" + Number(id) + "/revoke" }

// Number writes an id the way attributes and paths need it, without grouping.
func Number(n int64) string { return strconv.FormatInt(n, 10) }

// ID joins a name and a number to the id of an element: ID("price-panel", 42) is "price-panel-42".
func ID(name string, n int64) string { return name + "-" + Number(n) }

// ReturnURL is the path of a sign-in or sign-up page that leads back to next afterwards.
func ReturnURL(path, next string) string {
	if next == "" || next == PathHome {
		return path
	}
	return path + "?" + url.Values{"next": {next}}.Encode()
}

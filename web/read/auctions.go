package read

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"martelo/app/live"
	"martelo/app/refusal"
)

// WatchedMax is how many auctions one stream carries: as many as a page of a list has.
const WatchedMax = 100

// AuctionIDs reads which auctions a stream is to carry, each once.
func AuctionIDs(values url.Values) ([]int64, error) {
	ids, ok := parseIDs(values.Get("auctions"))
	if !ok {
		return nil, refusal.Of("auctions", refusal.NotList{Max: WatchedMax})
	}
	return ids, nil
}

// Asked reads which auctions a page asks about, and the version that it has of each.
func Asked(values url.Values) ([]live.Asked, error) {
	ids, err := AuctionIDs(values)
	if err != nil {
		return nil, err
	}
	versions := strings.Split(values.Get("have"), ",")
	wrong := refusal.Of("have", refusal.NotList{Max: WatchedMax})
	if len(versions) != len(ids) {
		return nil, wrong
	}
	asked := make([]live.Asked, len(ids))
	for i, id := range ids {
		version, err := strconv.ParseUint(versions[i], 10, 63)
		if err != nil {
			return nil, wrong
		}
		asked[i] = live.Asked{Auction: id, Version: int64(version)}
	}
	return asked, nil
}

func parseIDs(text string) ([]int64, bool) {
	var ids []int64
	for part := range strings.SplitSeq(text, ",") {
		id, ok := ID(part)
		if !ok || len(ids) == WatchedMax {
			return nil, false
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, true
}

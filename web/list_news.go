package web

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"martelo/app/catalog"
	"martelo/web/read"
)

// pathListNews is where a list's page asks which lots the list has by now:
// pathListNews?status=…&seller=…, as the list itself.
const pathListNews = "/live/list"

const (
	// listKeptFor is how long the order of a list answers those who ask for its news. Pages ask
	// less often than that, so none hears of a list that is older than itself; and however many
	// look at a list, it is read once in this time.
	listKeptFor = 2 * time.Second
	// listsKeptMax bounds the lists whose order is kept: the sections in all their orders, and many
	// sellers.
	listsKeptMax = 256
)

// keptLists are the orders of lists that were asked for lately. The zero value is ready.
type keptLists struct {
	mu    sync.Mutex
	lists map[catalog.Filter]*keptList
}

type keptList struct {
	read time.Time // by this process's own clock, which measures a span here
	done chan struct{}
	ids  []string
	err  error
}

// listNews is GET pathListNews: the ids of the lots of a list in their order, with commas between
// them.
func (s *Server) listNews(c echo.Context) error {
	values, err := read.Query(c.Request())
	if err != nil {
		return err
	}
	filter, err := readFilter(values)
	if err != nil {
		return err
	}
	filter.Query = "" // a search is not repeated for every page that shows its result
	kept := s.kept.of(filter, func() ([]string, error) { return s.listIDs(c.Request().Context(), filter) })
	if kept.err != nil {
		return kept.err
	}
	return c.String(http.StatusOK, strings.Join(kept.ids, ","))
}

func (s *Server) listIDs(ctx context.Context, filter catalog.Filter) ([]string, error) {
	// The others wait for this reading, also if the client that it is for goes away.
	page, err := s.Catalog.List(context.WithoutCancel(ctx), filter)
	ids := make([]string, len(page.Auctions))
	for i, a := range page.Auctions {
		ids[i] = strconv.FormatInt(a.ID, 10)
	}
	return ids, err
}

// of returns a list as it was read a moment ago, or reads it: once for all who ask meanwhile.
func (k *keptLists) of(filter catalog.Filter, read func() ([]string, error)) *keptList {
	k.mu.Lock()
	kept := k.lists[filter]
	mine := kept == nil || time.Since(kept.read) > listKeptFor
	if mine {
		kept = &keptList{read: time.Now(), done: make(chan struct{}), err: errUndrawn}
		k.keep(filter, kept)
	}
	k.mu.Unlock()
	if mine {
		defer close(kept.done)
		kept.ids, kept.err = read()
		return kept
	}
	<-kept.done
	return kept
}

// keep takes a list in. When there are too many, those that are old go, and if there are none all
// go. The caller holds k.mu.
func (k *keptLists) keep(filter catalog.Filter, kept *keptList) {
	if len(k.lists) >= listsKeptMax {
		for other, list := range k.lists {
			if time.Since(list.read) > listKeptFor {
				delete(k.lists, other)
			}
		}
	}
	if k.lists == nil || len(k.lists) >= listsKeptMax {
		k.lists = map[catalog.Filter]*keptList{}
	}
	k.lists[filter] = kept
}

// listNewsURL is where the page of a list asks for its news; "" for a search, which has none.
func listNewsURL(values url.Values, filter catalog.Filter) string {
	if filter.Query != "" {
		return ""
	}
	if len(values) == 0 {
		return pathListNews
	}
	return pathListNews + "?" + values.Encode()
}

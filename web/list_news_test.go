package web_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// The news of a list are its lots in their order; however many pages ask, the list is read once.
func TestListNewsAreReadOnceForAll(t *testing.T) {
	t.Parallel()
	h := open(t)
	one, two := h.lot(), h.lot()
	news := h.get("/live/list?sort=newest")
	news.status(t, http.StatusOK)
	if got, want := strings.TrimSpace(news.Body.String()), fmt.Sprintf("%d,%d", two, one); got != want {
		t.Errorf("the list is %s, want %s", got, want)
	}
	h.exec("ALTER TABLE lots RENAME TO lots_gone") // so that a list cannot be read
	var asking sync.WaitGroup
	for range 20 {
		asking.Go(func() {
			answer := h.get("/live/list?sort=newest")
			if answer.Code != http.StatusOK || answer.Body.String() != news.Body.String() {
				t.Errorf("%d %s", answer.Code, answer.Body)
			}
		})
	}
	asking.Wait()
	h.get("/live/list?status=NONE").status(t, http.StatusUnprocessableEntity)
	h.get("/live/list?limit="+strconv.Itoa(1<<20)).status(t, http.StatusUnprocessableEntity)
	page := h.get("/auctions?q=watch", header("Accept", "text/html"))
	if strings.Contains(page.Body.String(), "data-list-news") {
		t.Error("a search asks for news")
	}
}

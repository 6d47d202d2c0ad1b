package stream

import (
	"testing"

	"martelo/web/read"
)

func TestEveryLiveViewHasItsPlace(t *testing.T) {
	t.Parallel()
	if views := 2 * len(read.Locales); views > pagesMax {
		t.Errorf("%d views in all locales are more than the %d there may be", views, pagesMax)
	}
}

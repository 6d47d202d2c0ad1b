package components

import "testing"

func TestReturnURLKeepsTheWholeAddress(t *testing.T) {
	t.Parallel()
	if got, want := ReturnURL(
		PathSignIn, "/auctions?q=a&sort=price",
	), "/signin?next=%2Fauctions%3Fq%3Da%26sort%3Dprice"; got != want {
		t.Errorf("ReturnURL = %q, want %q", got, want)
	}
	if got := ReturnURL(PathSignIn, ""); got != PathSignIn {
		t.Errorf("ReturnURL without a next = %q", got)
	}
}

func TestEveryNoticeHasARoleThatFits(t *testing.T) {
	t.Parallel()
	for kind, want := range map[NoticeKind]string{NoticeGood: "status", NoticeInfo: "status", NoticeBad: "alert"} {
		if got := (Notice{Kind: kind}).role(); got != want {
			t.Errorf("a %s notice has role %q, want %q", kind, got, want)
		}
	}
}

package components

// NoticeKind says how a notice is meant, for its colour and for how insistently it is read out.
type NoticeKind string

const (
	// NoticeGood tells that what was asked has happened.
	NoticeGood NoticeKind = "good"
	// NoticeInfo tells something without judging it.
	NoticeInfo NoticeKind = "info"
	// NoticeBad tells that what was asked has not happened, and why.
	NoticeBad NoticeKind = "bad"
)

// Notice is one message to the person in front of the page. Text is plain; LinkURL and LinkText,
// when set, add a way out of the situation.
type Notice struct {
	Kind              NoticeKind
	Text              string
	LinkURL, LinkText string
}

// role makes refusals interrupt a screen reader and everything else wait its turn.
func (n Notice) role() string {
	if n.Kind == NoticeBad {
		return "alert"
	}
	return "status"
}

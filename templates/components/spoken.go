package components

import "github.com/a-h/templ"

// Spoken are the words that a page's script reads out, puts before the page's title, and writes in
// a countdown's place. They stand in the markup, so that the script has no words of its own.
var Spoken = templ.Attributes{
	"data-say-open":     "Bidding is open.",
	"data-say-extended": "Extended to",
	"data-say-closed":   "Closed.",
	"data-say-least":    "The least bid is now",
	"data-say-left-600": "Ten minutes left.",
	"data-say-left-120": "Two minutes left.",
	"data-say-left-30":  "Thirty seconds left.",
	"data-say-opening":  "opening …",
	"data-say-closing":  "closing …",
	"data-title-outbid": "● Outbid",
	"data-title-won":    "● Won",
	"data-title-ended":  "● Ended",
}

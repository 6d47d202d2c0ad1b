package text_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"martelo/app/refusal"
	"martelo/app/text"
)

func TestLinesAreCleaned(t *testing.T) {
	for typed, want := range map[string]string{
		"  Omega  1965 ":                 "Omega 1965",
		"cafe\u0301":                     "café",
		"a\tb\u2028c\u000bd\u00a0e":      "a b c d e",
		"\u2029Omega\u0085":              "Omega",
		"Al\u200bma\u00ad W\ufeffatch":   "Alma Watch",
		"Alma\u200e Watches\u200f":       "Alma Watches",
		"\u2066Alma\u2069 \u202aB\u202c": "Alma B",
		"\u3164":                         "",
		"\u2800 \u2800":                  "",
		"a\u2800b":                       "a b",
		"\U000e0041\U000e0001":           "",
		"A\U000e0042":                    "A",
		"می\u200cخواهم":                  "می\u200cخواهم", // Persian
		"क्\u200dष":                      "क्\u200dष",     // Hindi
		"ന്\u200d":                       "ന്\u200d",      // Malayalam, at the end of a word
		"Auf\u200clage":                  "Auflage",
		"\u200dAlma":                     "Alma",
		"👩🏽\u200d🚒 ❤️\u200d🔥":            "👩🏽\u200d🚒 ❤️\u200d🔥",
		"👩\u200d Alma":                   "👩 Alma",
		"🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f": "" +
			"🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
		"1\ufe0f\u20e3":                          "1\ufe0f\u20e3",
		"葛\U000e0100城":                           "葛\U000e0100城",
		"\ufe0f\ufe0fAlma":                       "Alma",
		"Đồng hồ cổ, gốm Bát Tràng":              "Đồng hồ cổ, gốm Bát Tràng",
		"ที่นี่":                                 "ที่นี่",
		"שּׁ֔ מִ":                                norm.NFC.String("שּׁ֔ מִ"),
		"مُحَمَّدٌ":                              norm.NFC.String("مُحَمَّدٌ"),
		"རྒྱལ་ཧཱུྃ":                              norm.NFC.String("རྒྱལ་ཧཱུྃ"),
		"ကျွန်ုပ်":                               "ကျွန်ုပ်",
		"x" + strings.Repeat("\u0301", 150):      "x\u0301\u0301\u0301\u0301",
		"\u0301Alma \u0301Watch":                 "Alma Watch",
		"x" + strings.Repeat("\u0301\u034f", 99): "x\u0301\u0301\u0301\u0301",
		"ساعة Omega 1965!":                       "ساعة Omega 1965!",
		"セイコー\u3000腕時計":                          "セイコー 腕時計",
	} {
		got, err := text.Line(typed)
		if err != nil || got != want {
			t.Errorf("%+q becomes %+q %v, want %+q", typed, got, err, want)
		}
	}
}

func TestDescriptionsKeepTheirLines(t *testing.T) {
	for typed, want := range map[string]string{
		"a\r\nb\rc\vd\fe\u2028f\u2029g\u0085h": "a\nb\nc\nd\ne\nf\ng\nh",
		"a\tb  c\n\n d":                        "a\tb  c\n\n d",
		"a\u200eb\u200bc\u0007d\u202ee":        "abcde",
		"a\n\u0301b":                           "a\nb",
		"cafe\u0301":                           "café",
		"":                                     "",
	} {
		if got, err := text.Lines(typed); err != nil || got != want {
			t.Errorf("%+q becomes %+q %v, want %+q", typed, got, err, want)
		}
	}
}

func TestRefusalsSayWhere(t *testing.T) {
	for typed, want := range map[string]refusal.Reason{
		"two\nlines":                        refusal.LineBreaks,
		"Omega\u202e5691":                   refusal.Hidden{Character: '\u202e', After: "Omega"},
		"\u0007Omega":                       refusal.Hidden{Character: '\u0007'},
		strings.Repeat("é", 30) + " b\x00c": refusal.Hidden{After: strings.Repeat("é", 18) + " b"},
		"\xff":                              refusal.NotText,
	} {
		if _, got := text.Line(typed); got != want {
			t.Errorf("%+q: %#v, want %#v", typed, got, want)
		}
	}
	if _, got := text.Lines("a\x00"); got != (refusal.Hidden{After: "a"}) {
		t.Errorf("a zero byte is no text: %#v", got)
	}
	if _, got := text.Lines("\xff"); got != refusal.NotText {
		t.Errorf("%#v", got)
	}
}

func TestVisible(t *testing.T) {
	for typed, want := range map[string]bool{
		"": false, "  \u3000": false, "\u3164": false, "\u2800": false, "\U000e0041": false,
		"\u200b\ufeff\u00ad": false, "\u0301": false, "\u115f": false,
		"a": true, "時": true, "🎺": true, "\u3164a": true, "…": true,
	} {
		if text.Visible(typed) != want {
			t.Errorf("%+q is visible: %v", typed, !want)
		}
	}
}

// TestCleanIsClean holds cleaning to its promises over texts of the characters that make trouble.
func TestCleanIsClean(t *testing.T) {
	trouble := []rune(
		"aé1 " +
			"\u0301\u0327\u0300\u05b4\u05c1\u0e35\u0e48\u1037ကयक्می時가👩🏽🚒🏴❤" +
			"\u200b\u200c\u200d\u200e\u202d\u2066\u2028\u180e" +
			"\u1820\u034f\u3164\u2800\ufe0f\U000e0067\U000e007f\u00ad" +
			"\n\r\t\v\x00\x07\u1100\u1161\u0f71\u0f72",
	)
	rapid.Check(t, func(t *rapid.T) {
		typed := rapid.OneOf(rapid.StringOf(rapid.RuneFrom(trouble)), rapid.String()).Draw(t, "typed")
		for name, clean := range map[string]func(string) (string, refusal.Reason){
			"line": text.Line, "lines": text.Lines,
		} {
			once, err := clean(typed)
			if err != nil {
				continue
			}
			again, err := clean(once)
			if err != nil || again != once {
				t.Fatalf("%s: %+q becomes %+q and then %+q %v", name, typed, once, again, err)
			}
			if !utf8.ValidString(once) || !norm.NFC.IsNormalString(once) {
				t.Fatalf("%s: %+q becomes %+q, which is not composed", name, typed, once)
			}
			marks := 0
			for _, r := range once {
				switch {
				case unicode.IsMark(r) && !unicode.Is(unicode.Variation_Selector, r):
					marks++
				case r != '\u200d' && r != '\u200c':
					marks = 0
				}
				if marks > 8 || unicode.Is(unicode.Bidi_Control, r) || unicode.IsControl(r) && r != '\n' && r != '\t' {
					t.Fatalf("%s: %+q becomes %+q", name, typed, once)
				}
			}
		}
	})
}

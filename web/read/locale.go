package read

import (
	"net/http"
	"slices"

	"golang.org/x/text/language"
)

// Locales are how the house writes money and times for people (BCP 47), the first for everybody
// else. The list is fixed, so that a live view is drawn a bounded number of times.
var Locales = []string{
	"en-US", "en-GB", "en-AU", "en-CA", "en-IN", "de", "de-AT", "de-CH", "fr", "fr-CA", "fr-CH", "es", "es-MX", "it",
	"nl", "pt-BR", "pt-PT",
	"pl", "sv", "da", "nb", "fi", "cs", "hu", "ro", "tr", "el", "uk", "ja", "ko", "zh-CN", "zh-TW", "vi", "id", "hi",
}

// acceptLanguageMax bounds what is worth reading: browsers send a tenth of it.
const acceptLanguageMax = 512

var localeMatcher = language.NewMatcher(localeTags())

func localeTags() []language.Tag {
	tags := make([]language.Tag, len(Locales))
	for i, locale := range Locales {
		tags[i] = language.MustParse(locale)
	}
	return tags
}

// Locale chooses the locale for a page.
func Locale(r *http.Request) string {
	accept := r.Header.Get("Accept-Language")
	if accept == "" || len(accept) > acceptLanguageMax {
		return Locales[0]
	}
	_, index := language.MatchStrings(localeMatcher, accept)
	return Locales[index]
}

// KnownLocale takes a locale that was chosen before.
func KnownLocale(locale string) string {
	if slices.Contains(Locales, locale) {
		return locale
	}
	return Locales[0]
}

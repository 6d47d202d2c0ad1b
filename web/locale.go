package web

import (
	"net/http"
	"slices"

	"martelo/app/refusal"
	"martelo/templates/words"

	"github.com/labstack/echo/v4"
	"golang.org/x/text/language"
)

// locales are how the house writes money and times for people (BCP 47), the first for everybody else. The list is fixed, so that a live view
// is drawn a bounded number of times.
var locales = []string{
	"en-US", "en-GB", "en-AU", "en-CA", "en-IN", "de", "de-AT", "de-CH", "fr", "fr-CA", "fr-CH", "es", "es-MX", "it", "nl", "pt-BR", "pt-PT",
	"pl", "sv", "da", "nb", "fi", "cs", "hu", "ro", "tr", "el", "uk", "ja", "ko", "zh-CN", "zh-TW", "vi", "id", "hi",
}

// acceptLanguageMax bounds what is worth reading: browsers send a tenth of it.
const acceptLanguageMax = 512

var localeMatcher = language.NewMatcher(localeTags())

func localeTags() []language.Tag {
	tags := make([]language.Tag, len(locales))
	for i, locale := range locales {
		tags[i] = language.MustParse(locale)
	}
	return tags
}

// localeOf chooses the locale for a page.
func localeOf(r *http.Request) string {
	accept := r.Header.Get("Accept-Language")
	if accept == "" || len(accept) > acceptLanguageMax {
		return locales[0]
	}
	_, index := language.MatchStrings(localeMatcher, accept)
	return locales[index]
}

// knownLocale takes a locale that was chosen before.
func knownLocale(locale string) string {
	if slices.Contains(locales, locale) {
		return locale
	}
	return locales[0]
}

// languageOf is what a page's sentences are written in.
func languageOf(c echo.Context) words.Language { return words.In(localeOf(c.Request())) }

// say writes a sentence in the language of a page.
func say(c echo.Context, key words.Key, figures refusal.Figures) string {
	return languageOf(c).Say(key, figures)
}

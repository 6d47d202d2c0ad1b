package web

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"
	"golang.org/x/text/language"

	"martelo/app/draft"
	"martelo/app/money"
	"martelo/templates/components"
	"martelo/templates/pages"
	"martelo/templates/words"
	"martelo/web/read"
)

// auctionNew is GET /auctions/new: the empty form, or one that is kept.
func (s *Server) auctionNew(c echo.Context) error {
	who, err := s.seller(c)
	if err != nil {
		return err
	}
	form := pages.NewCreateForm(newKey(), currencyFor(read.Locale(c.Request())), "")
	if key := c.QueryParam(components.QueryDraft); key != "" {
		kept, lotID, err := s.keptForm(c, who, key)
		switch {
		case lotID != 0:
			return s.seeOther(c, components.AuctionPath(lotID))
		case err == nil:
			return s.createPage(c, http.StatusOK, kept, nil)
		case !errors.Is(err, draft.ErrNone):
			return err
		}
	}
	// Browsers keep what is typed for the way back and for a reload only if the page may be kept.
	// There is nothing private in the empty form.
	c.Response().Header().Set("Cache-Control", "private, no-cache")
	return s.createPage(c, http.StatusOK, form, nil)
}

func (s *Server) createPage(c echo.Context, status int, form pages.CreateForm, wrong components.Problems) error {
	view, err := s.pageView(c, say(c, words.TitleNewAuction, nil), components.PathNewAuction)
	if err != nil {
		return err
	}
	return s.page(c, status, pages.Create(pages.CreateView{
		PageView: view, Form: form, Problems: wrong, OffersHot: s.Auctioneer.OffersHot(c.Request().Context()),
	}))
}

// currencyFor is what people of a locale most likely sell for.
func currencyFor(locale string) string {
	if region, confidence := language.MustParse(locale).Region(); confidence != language.No {
		if currency, ok := money.CurrencyOf(region.String()); ok {
			return currency.Code()
		}
	}
	return currencyDefault
}

package pages

import (
	"strconv"
	"time"
)

// SellerView is how buyers see a seller: by a name that the seller chose, and by a number that
// nobody chooses, which tells two sellers of the same name apart.
type SellerView struct {
	ID    int64
	Name  string    // "" shows the number alone
	Since time.Time // selling since; zero when that is not known
}

// Number is what nobody else has.
func (v SellerView) Number() string { return "Seller " + strconv.FormatInt(v.ID, 10) }

// shown is the name, or the number of who has none.
func (v SellerView) shown() string {
	if v.Name == "" {
		return v.Number()
	}
	return v.Name
}

// beside is what stands after the name.
func (v SellerView) beside(withSince bool) string {
	text := ""
	if v.Name != "" {
		text = " · " + v.Number()
	}
	if withSince && !v.Since.IsZero() {
		text += " · selling since " + v.Since.UTC().Format("Jan 2006")
	}
	return text
}

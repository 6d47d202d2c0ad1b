package gallery

import "github.com/a-h/templ"

// Find is the page that shows a page or a fragment in the state of this name.
func Find(name string) (drawn templ.Component, found bool) {
	if page, is := Pages()[name]; is {
		return page, true
	}
	fragment, is := Fragments()[name]
	if !is {
		return nil, false
	}
	return alone(name, fragment), true
}

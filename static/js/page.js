// What makes a page of the house live: the connection, the clock, the countdowns, and the words
// that depend on who is looking. Everything it needs to know stands in the markup as data-*
// attributes; every word it shows came from the server. It never computes with money. Pages work
// without it.
//
// The pieces are joined into one script, in the order that static.go gives, and share one scope.
// This one has what every other piece uses.

const body = document.body;
const viewer = body.dataset.viewer || '';
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
// A swapped-in element may itself be what is looked for.
const within = (root, selector) => (root.matches(selector) ? [root] : []).concat(all(selector, root));

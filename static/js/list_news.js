// What a list says when it is not what it was: new lots, ended ones, another order. Nothing on the
// page moves; a link in a place that is kept free leads to the list as it is now.

const newsEveryMs = 25000; // the house keeps a list's order for two seconds
const newsWithinMs = 8000;
const newsLink = document.querySelector('[data-list-news]');
const shownLots = all('[data-lot-entry]').map(entry => entry.dataset.lotEntry);
let newsTimer;
let newsAt = performance.now();

async function lookForNews() {
  clearTimeout(newsTimer);
  newsTimer = setTimeout(lookForNews, newsEveryMs * (0.8 + 0.4 * Math.random()));
  if (document.hidden) return;
  newsAt = performance.now();
  try {
    const signal = AbortSignal.timeout(newsWithinMs);
    const answer = await fetch(newsLink.dataset.listNews, { cache: 'no-store', signal });
    if (answer.ok) tellNews((await answer.text()).split(',').filter(Boolean));
  } catch {
    // The next look may succeed; how fresh the figures are is said elsewhere.
  }
}

function tellNews(lots) {
  const newest = shownLots.map(BigInt).reduce((most, lot) => lot > most ? lot : most, 0n);
  const fresh = lots.filter(lot => BigInt(lot) > newest).length;
  if (fresh > 0) showNews(fresh === 1 ? 'one' : 'many', fresh);
  else if (lots.join() !== shownLots.join()) showNews('changed');
  else newsLink.hidden = true;
}

function showNews(kind, count) {
  if (!newsLink) return;
  newsLink.textContent = newsLink.getAttribute(`data-word-${kind}`).replace('{n}', count);
  newsLink.hidden = false;
}

if (newsLink) {
  newsTimer = setTimeout(lookForNews, newsEveryMs);
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden && performance.now() - newsAt > newsEveryMs) lookForNews();
  });
}

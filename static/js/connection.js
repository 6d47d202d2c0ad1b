// What the page says about its connection. Each claim is earned: see stream.js for when a page is
// live.

const graceMs = 1500; // a gap shorter than this is not worth a word

let connection = '';
let connectionTimer;

function showConnection(state) {
  if (state === connection) return;
  connection = state;
  clearTimeout(connectionTimer);
  connectionTimer = setTimeout(() => {
    for (const line of all('[data-live-state]')) {
      line.dataset.liveState = state;
      line.textContent = line.getAttribute(`data-word-${state}`) || '';
    }
    if (state === 'live') all('[data-bid-panel]').forEach(clearTrouble);
  }, state === 'reconnecting' ? graceMs : 0);
}

// "No answer came" must not stay when the page knows more than it did then.
function clearTrouble(place) {
  const words = place?.querySelector('[data-trouble]');
  if (words) words.hidden = true;
}

// What is read out: only what a bidder must not miss; never single bids, never the seconds.

const gatherMs = 250; // what happens in one moment is read as one message
const quietMs = 8000; // then the region is emptied, so that the same words can be read again later
let saying = [];
let clearing;

function announce(words) {
  if (!words) return;
  if (saying.length === 0) {
    setTimeout(() => {
      announcer.textContent = saying.join(' ');
      saying = [];
      clearTimeout(clearing);
      clearing = setTimeout(() => { announcer.textContent = ''; }, quietMs);
    }, gatherMs);
  }
  if (!saying.includes(words)) saying.push(words);
}

// A hot ending is extended several times a second: the newest end is read, at most once in this
// time.
const extensionEveryMs = 10000;
let extensionAt = -Infinity;
let extensionTimer;

function announceExtension(lot) {
  clearTimeout(extensionTimer);
  extensionTimer = setTimeout(() => {
    extensionAt = performance.now();
    if (lotState(lot)?.dataset.status !== 'OPEN') return;
    announce(`${word('say-extended')} ${formatTime(Number(lotState(lot).dataset.ends), 'clock')}.`);
  }, Math.max(0, extensionAt + extensionEveryMs - performance.now()));
}

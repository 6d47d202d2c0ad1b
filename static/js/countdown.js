// The countdowns, and the one timer of the page.
//
// A countdown is the absolute end less the house's clock, worked out anew each second; a second
// that is missed in a hidden tab costs nothing.

const warnings = [600, 120, 30]; // seconds
const urgentMs = 120000;
const leftBefore = new Map();

// tick brings every countdown up to date and returns when the next one runs out, in milliseconds.
function tick() {
  if (clockJumped()) live?.wake(true);
  const now = houseNow();
  let soonest = Infinity;
  for (const state of all('[data-lot]')) {
    const text = state.querySelector('[data-countdown]');
    if (!text) continue;
    const opening = state.dataset.status === 'SCHEDULED';
    const ms = Number(opening ? state.dataset.starts : state.dataset.ends) - now;
    if (ms > 0 && ms < soonest) soonest = ms;
    const words = clockInDoubt ? '…' : ms > 0 ? left(ms) : word(opening ? 'say-opening' : 'say-closing');
    if (text.textContent !== words) text.textContent = words;
    if (clockInDoubt) continue;
    text.dataset.urgency = opening ? '' : ms <= 0 ? 'closing' : ms <= urgentMs ? 'last' : '';
    if (!opening && isPanel(state)) warn(state.dataset.lot, ms);
  }
  for (const clock of all('[data-house-clock]')) clock.textContent = clockInDoubt ? '…' : formatTime(now, 'clock');
  return soonest;
}

function warn(lot, ms) {
  const before = leftBefore.get(lot);
  leftBefore.set(lot, ms);
  if (before === undefined) return;
  // Of several that were passed at once, in a tab that slept, only the last is news.
  const passed = warnings.filter(seconds => before > seconds * 1000 && ms <= seconds * 1000);
  if (ms > 0 && passed.length > 0) announce(word(`say-left-${passed.at(-1)}`));
}

function keepTicking() {
  const soonest = tick();
  // Just after the clock's full second, or an end.
  setTimeout(keepTicking, Math.min(soonest, 1000 - houseNow() % 1000) + 5);
}

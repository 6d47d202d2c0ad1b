// Words for times: in the reader's zone, and how long is left.

const day = { day: 'numeric', month: 'short', year: 'numeric' };
const minute = { hour: 'numeric', minute: '2-digit' };
const second = { ...minute, second: '2-digit' };
const zone = { timeZoneName: 'short' };
const styles = {
  full: { ...day, ...second, ...zone },
  short: { ...day, ...minute, ...zone },
  clock: { ...second, ...zone },
};
styles.bid = { ...styles.full, year: undefined };
const locale = Intl.DateTimeFormat.supportedLocalesOf(body.dataset.locale || [])[0]; // undefined is the browser's own
const formats = {};

function formatTime(ms, style) {
  formats[style] ||= new Intl.DateTimeFormat(locale, styles[style] || styles.full);
  return formats[style].format(ms).replace('GMT-', 'GMT−'); // a minus, at which no line is broken
}

// Rewrites times from UTC into the reader's zone; the zone is always named.
function localiseTimes(root) {
  for (const time of within(root, 'time[data-time]')) {
    const ms = Date.parse(time.dateTime);
    if (!Number.isNaN(ms)) time.textContent = formatTime(ms, time.dataset.time);
  }
}

const two = n => String(n).padStart(2, '0');

// The same words as components.Left writes on the server.
function left(ms) {
  const s = Math.max(0, Math.ceil(ms / 1000));
  const m = Math.floor(s / 60), h = Math.floor(s / 3600), d = Math.floor(s / 86400);
  if (d > 0) return `${d} d ${h % 24} h`;
  if (h > 0) return `${h} h ${two(m % 60)} min`;
  if (m > 0) return `${m} min ${two(s % 60)} s`;
  return `${s} s`;
}

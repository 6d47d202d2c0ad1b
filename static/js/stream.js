// The connection.
//
// htmx's stream extension asks htmx.createEventSource for its connection. This one never gives up, tries again after
// random pauses, rests while nobody sees the page, and notices silence: the house sends its clock at least every 15 s,
// so three missed ones mean a dead line that raised no error.
//
// A page is to be up to date within two seconds of the house being reachable again, so the pauses do not grow at once:
// they grow only when the house has been away for minutes, or has no room for all who ask.

const silenceMs = 45000;
const retryFirstMs = 500;
const retrySoonMs = 1000;  // a random half more or less: at most 1.5 s
const retrySoonTries = 180;
const retryMostMs = 15000;
const hiddenMs = 20000; // a look at another tab should not cost a new connection
const graceMs = 1500;   // a gap shorter than this is not worth a word

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
  }, state === 'reconnecting' ? graceMs : 0);
}

function pauseAfter(failures) {
  if (failures === 0) return retryFirstMs;
  return Math.min(retryMostMs, retrySoonMs * 1.5 ** Math.max(0, failures - retrySoonTries));
}

class LiveSource extends EventTarget {
  constructor(url) {
    super();
    this.url = url;
    this.readyState = EventSource.CONNECTING; // never CLOSED to the extension unless close() was called
    this.relays = new Map();
    this.failures = 0;
    this.page = new AbortController();
    const on = (target, name, react) => target.addEventListener(name, react, { signal: this.page.signal });
    on(document, 'visibilitychange', () => this.look());
    on(window, 'pageshow', event => { if (event.persisted) this.again(); });
    on(window, 'pagehide', () => this.drop()); // an open stream would keep the page out of the back/forward cache
    on(window, 'online', () => this.again());
    this.addEventListener('clock', event => this.heard(event.data));
    this.addEventListener('message', () => this.alive());
    showConnection('connecting');
    this.connect();
  }

  addEventListener(name, listener, options) {
    super.addEventListener(name, listener, options);
    if (this.relays.has(name)) return;
    const relay = event => this.dispatchEvent(new MessageEvent(event.type, { data: event.data, lastEventId: event.lastEventId }));
    this.relays.set(name, relay);
    this.source?.addEventListener(name, relay);
  }

  connect() {
    if (this.readyState === EventSource.CLOSED || this.source || document.hidden) return;
    clearTimeout(this.retryTimer);
    const source = this.source = new EventSource(this.url);
    this.relays.forEach((relay, name) => source.addEventListener(name, relay));
    source.onopen = () => {
      if (this.source !== source) return;
      this.readyState = EventSource.OPEN;
      this.onopen?.(new Event('open'));
    };
    source.onerror = () => {
      if (this.source !== source) return;
      this.lost(); // and not this.onerror: the extension would only write it to the console
    };
    this.watch();
  }

  // heard takes the heartbeat: the database's time in milliseconds, and after a space "slow" when the house itself
  // learns of changes only every few seconds.
  heard(data) {
    const [ms, pace] = String(data).trim().split(/\s+/);
    learnTime(Number(ms));
    this.slow = pace === 'slow';
    this.alive();
  }

  alive() {
    this.failures = 0;
    showConnection(this.slow ? 'slow' : 'live');
    this.watch();
  }

  watch() {
    clearTimeout(this.watchdog);
    this.watchdog = setTimeout(() => this.lost(), silenceMs);
  }

  lost() {
    this.drop();
    showConnection('reconnecting');
    this.retryTimer = setTimeout(() => this.connect(), pauseAfter(this.failures++) * (0.5 + Math.random()));
  }

  look() {
    clearTimeout(this.hiddenTimer);
    if (document.hidden) {
      this.hiddenTimer = setTimeout(() => this.drop(), hiddenMs);
    } else if (!this.source) {
      showConnection('reconnecting');
      this.failures = 0;
      this.connect();
    }
  }

  again() {
    this.failures = 0;
    this.drop();
    this.connect();
  }

  drop() {
    clearTimeout(this.watchdog);
    clearTimeout(this.retryTimer);
    this.source?.close();
    this.source = null;
    if (this.readyState !== EventSource.CLOSED) this.readyState = EventSource.CONNECTING;
  }

  close() {
    this.drop();
    clearTimeout(this.hiddenTimer);
    this.readyState = EventSource.CLOSED;
    this.page.abort();
    showConnection('final');
  }
}

htmx.createEventSource = url => new LiveSource(url);

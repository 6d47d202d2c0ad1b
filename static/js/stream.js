// The stream.
//
// htmx's stream extension asks htmx.createEventSource for its connection. This one never gives up,
// tries again after random pauses, and rests while nobody sees the page. A lot that the viewer has
// bid on is watched also then.
//
// The stream is proven when a second clock arrives in time: its beginning also passes where the
// rest is held back. The house sends that clock within two seconds, and then one at least every 15
// s. While the stream is not proven the page asks instead, and goes on trying.
//
// A page is to be up to date within two seconds of the house being reachable again, so the pauses
// do not grow at once: they grow only when the house has been away for minutes, or has no room for
// all who ask.

const proofWithinMs = 2500; // from the beginning of a connection to asking
const proofLastsMs = 17000; // a heartbeat and some
const lateMs = 2000;        // a clock that is older on arrival was held back
const silenceMs = 45000;    // three missed clocks: a dead line that raised no error
const retryFirstMs = 500;
const retrySoonMs = 1000;   // a random half more or less: at most 1.5 s
const retrySoonTries = 180;
const retryMostMs = 15000;
const hiddenMs = 20000;     // a look at another tab should not cost a new connection
const ownBidMs = 1500;      // within this the stream tells of a bid that was answered

let live = null; // the page's stream, while it has one

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
    this.fresh = true; // nothing has gone wrong yet
    this.leavePlace = noPlace;
    this.asker = new Asker(url, event => this.hearAnswer(event), () => this.show());
    this.page = new AbortController();
    const on = (target, name, react) => target.addEventListener(name, react, { signal: this.page.signal });
    on(document, 'visibilitychange', () => this.look());
    on(window, 'pageshow', event => { if (event.persisted) this.wake(); });
    on(window, 'pagehide', () => this.rest()); // an open stream would keep the page out of the back/forward cache
    on(window, 'online', () => this.again());
    on(window, 'offline', () => this.lost());
    this.addEventListener('clock', event => this.heard(event.data));
    live = this;
    this.show();
    this.connect();
  }

  addEventListener(name, listener, options) {
    super.addEventListener(name, listener, options);
    if (this.relays.has(name)) return;
    const relay = event => {
      this.watch();
      this.dispatchEvent(new MessageEvent(event.type, { data: event.data, lastEventId: event.lastEventId }));
    };
    this.relays.set(name, relay);
    this.source?.addEventListener(name, relay);
  }

  connect() {
    if (this.readyState === EventSource.CLOSED || this.source || !this.wanted()) return;
    clearTimeout(this.retryTimer);
    const source = this.source = new EventSource(this.url);
    this.clocks = 0;
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
    this.doubt();
  }

  // wanted tells whether anybody cares: whoever looks, or has bid on a lot here that is not over.
  wanted() { return !document.hidden || ownLots().length > 0; }

  // heard takes the heartbeat: the database's time in milliseconds, and after a space "slow" when
  // the house itself learns of changes only every few seconds.
  heard(data) {
    const [text, pace] = String(data).trim().split(/\s+/);
    const ms = Number(text);
    const late = !clockInDoubt && houseNow() - ms > lateMs;
    learnTime(ms);
    this.slow = pace === 'slow';
    this.failures = 0;
    if (late) this.unproven();
    else if (++this.clocks > 1) this.prove();
    tick();
  }

  // hearAnswer passes on what an answer says as if the stream had said it, except that it proves
  // nothing about the stream.
  hearAnswer(event) {
    if (this.readyState === EventSource.CLOSED) return;
    if (event.name === 'clock') {
      learnTime(Number(event.data.split(' ')[0]));
      tick();
    } else {
      this.dispatchEvent(new MessageEvent(event.name, { data: event.data }));
    }
  }

  prove() {
    this.proven = true;
    clearTimeout(this.doubtTimer);
    this.doubtTimer = null;
    this.asker.stop();
    clearTimeout(this.proofTimer);
    this.proofTimer = setTimeout(() => this.unproven(), proofLastsMs);
    this.show();
  }

  unproven() {
    clearTimeout(this.proofTimer);
    this.proven = this.fresh = false;
    this.clocks = 0;
    this.asker.start();
    this.show();
  }

  // doubt starts asking unless the stream is proven soon.
  doubt() {
    if (this.proven || this.doubtTimer || this.asker.running) return;
    this.doubtTimer = setTimeout(() => {
      this.doubtTimer = null;
      this.fresh = false;
      this.asker.start();
      this.show();
    }, proofWithinMs);
  }

  // show says how fresh the figures are.
  show() {
    if (this.readyState === EventSource.CLOSED) showConnection('final');
    else if (this.proven) showConnection(this.slow ? 'slow' : 'live');
    else if (this.asker.works) showConnection('asking');
    else if (!navigator.onLine) showConnection('offline');
    else showConnection(this.fresh ? 'connecting' : 'reconnecting');
  }

  watch() {
    clearTimeout(this.watchdog);
    this.watchdog = setTimeout(() => this.lost(), silenceMs);
  }

  lost() {
    this.drop();
    this.fresh = false;
    this.show();
    this.doubt();
    this.retryTimer = setTimeout(() => this.connect(), pauseAfter(this.failures++) * (0.5 + Math.random()));
  }

  look() {
    clearTimeout(this.hiddenTimer);
    if (document.hidden) {
      this.hiddenTimer = setTimeout(() => this.recede(), hiddenMs);
    } else {
      this.leavePlace();
      this.wake();
    }
  }

  // recede is for a page that has been in the background for a while.
  async recede() {
    if (!this.wanted()) this.rest();
    if (!this.source || sharesConnection()) return;
    this.leavePlace = await backgroundPlace();
    if (!document.hidden) {
      this.leavePlace();
    } else if (this.leavePlace === noPlace) {
      this.drop();
      this.asker.start();
    }
  }

  // wake is for a page that is looked at again. What it shows may be old, its clock included, so it
  // asks before it counts on.
  wake(jumped = clockJumped()) {
    if (jumped || !this.proven) clockInDoubt = true;
    tick();
    this.asker.ask();
    if (jumped || !this.source) this.again();
  }

  again() {
    this.failures = 0;
    this.drop();
    this.show();
    this.connect();
    if (this.asker.running) this.asker.ask();
  }

  // rest is for a page that nobody sees.
  rest() {
    this.leavePlace();
    this.drop();
    this.asker.stop();
    clearTimeout(this.doubtTimer);
    this.doubtTimer = null;
    this.fresh = false;
    this.show();
  }

  drop() {
    clearTimeout(this.watchdog);
    clearTimeout(this.retryTimer);
    clearTimeout(this.proofTimer);
    this.proven = false;
    this.source?.close();
    this.source = null;
    if (this.readyState !== EventSource.CLOSED) this.readyState = EventSource.CONNECTING;
  }

  close() {
    this.rest();
    clearTimeout(this.hiddenTimer);
    this.readyState = EventSource.CLOSED;
    this.page.abort();
    live = null;
    this.show();
  }
}

// A browser opens six HTTP/1.1 connections to a house, and each stream takes one. Those of tabs in
// the background must leave some for pages and bids, so there are few places for them; who has none
// asks now and then.
const backgroundPlaces = 2;
const noPlace = () => {};

function sharesConnection() {
  return ['h2', 'h3'].includes(performance.getEntriesByType('navigation')[0]?.nextHopProtocol);
}

// backgroundPlace takes a place, if there is one, and gives what leaves it again.
function backgroundPlace(place = 0) {
  if (place === backgroundPlaces || !navigator.locks) return noPlace;
  return new Promise(resolve => {
    navigator.locks.request(`background-stream-${place}`, { ifAvailable: true }, lock => {
      if (lock) return new Promise(leave => resolve(leave));
      resolve(backgroundPlace(place + 1));
    });
  });
}

htmx.createEventSource = url => new LiveSource(url);

// ownLots are the lots on this page that the viewer has bid on and that are not over.
function ownLots() {
  return all('[data-standing-lot][data-bid-here]').map(line => lotState(line.dataset.standingLot))
    .filter(state => state && state.dataset.status !== 'CLOSED' && state.dataset.status !== 'CANCELLED');
}

// A bid was answered, and the stream does not tell of it: it is held back.
document.addEventListener('htmx:afterSwap', event => {
  const lot = event.detail.target?.dataset?.answer;
  if (!lot) return;
  setTimeout(() => {
    const answer = document.getElementById(`bid-answer-${lot}`);
    const state = lotState(lot);
    if (live && answer && state && BigInt(answer.dataset.version) > BigInt(state.dataset.version)) live.unproven();
  }, ownBidMs);
});

// What makes a page of the house live: the connection, the clock, the countdowns, and the words that depend on who is
// looking. Everything it needs to know stands in the markup as data-* attributes; every word it shows came from the
// server. It never computes with money. Pages work without it.
(() => {
  'use strict';

  const body = document.body;
  const viewer = body.dataset.viewer || '';
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  // A swapped-in element may itself be what is looked for.
  const within = (root, selector) => (root.matches(selector) ? [root] : []).concat(all(selector, root));

  // ---- The house's clock ---------------------------------------------------------------------------------------
  // A sample is database time minus this page's monotonic clock. Every sample arrives late, by as much as it travelled,
  // so it is too small, and the largest of the last few is the best. The page itself brings the first.

  const samplesMax = 8; // two minutes of heartbeats: long enough to meet a quick one, short enough to forget a jump
  const samples = [];

  function learnTime(databaseMs) {
    if (!Number.isFinite(databaseMs)) return;
    samples.push(databaseMs - performance.now());
    if (samples.length > samplesMax) samples.shift();
  }

  const houseNow = () => performance.now() + Math.max(...samples);

  learnTime(Number(body.dataset.now) || Date.now());

  // ---- Words for times -----------------------------------------------------------------------------------------

  const day = { day: 'numeric', month: 'short', year: 'numeric' };
  const minute = { hour: 'numeric', minute: '2-digit' };
  const second = { ...minute, second: '2-digit' };
  const zone = { timeZoneName: 'short' };
  const styles = { full: { ...day, ...second, ...zone }, short: { ...day, ...minute, ...zone }, clock: { ...second, ...zone } };
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

  // ---- What is read out ----------------------------------------------------------------------------------------
  // Only what a bidder must not miss; never single bids, never the seconds.

  const gatherMs = 250; // what happens in one moment is read as one message
  const quietMs = 8000; // then the region is emptied, so that the same words can be read again later
  let saying = [];
  let clearing;

  function announce(words) {
    if (!words) return;
    if (saying.length === 0) {
      setTimeout(() => {
        document.getElementById('announcer').textContent = saying.join(' ');
        saying = [];
        clearTimeout(clearing);
        clearing = setTimeout(() => { document.getElementById('announcer').textContent = ''; }, quietMs);
      }, gatherMs);
    }
    if (!saying.includes(words)) saying.push(words);
  }

  // A hot ending is extended several times a second: the newest end is read, at most once in this time.
  const extensionEveryMs = 10000;
  let extensionAt = -Infinity;
  let extensionTimer;

  function announceExtension(lot) {
    clearTimeout(extensionTimer);
    extensionTimer = setTimeout(() => {
      extensionAt = performance.now();
      if (lotState(lot)?.dataset.status !== 'OPEN') return;
      announce(`Extended to ${formatTime(Number(lotState(lot).dataset.ends), 'clock')}.`);
    }, Math.max(0, extensionAt + extensionEveryMs - performance.now()));
  }

  // ---- Lots on this page ---------------------------------------------------------------------------------------

  const isPanel = el => el.classList.contains('panel');
  const lotState = lot => document.querySelector(`[data-lot="${lot}"]`);

  function titleOf(lot) {
    const entry = document.querySelector(`[data-lot-entry="${lot}"]`);
    return entry?.querySelector('h1, h2')?.textContent.trim() || '';
  }

  // "Bidder 3" becomes "You" where the viewer is meant. Shared frames cannot know.
  function markOwn(root) {
    if (!viewer) return;
    for (const el of within(root, `[data-bidder="${viewer}"]`)) {
      el.textContent = el.dataset.you || 'You';
      el.closest('tr')?.classList.add('history__own');
    }
  }

  function standingOf(state, line) {
    const { leader, status } = state.dataset;
    const leads = leader === viewer;
    if (leads) line.dataset.bidHere = '';
    if (line.dataset.bidHere === undefined) return '';
    if (status === 'CANCELLED') return 'off';
    if (status === 'CLOSED') return leads ? 'won' : 'lost';
    return leads ? 'leading' : 'outbid';
  }

  function updateStanding(state) {
    if (!viewer) return;
    for (const line of all(`[data-standing-lot="${state.dataset.lot}"]`)) {
      const before = line.dataset.standing;
      const now = standingOf(state, line);
      if (now === before) continue;
      line.dataset.standing = now;
      line.textContent = line.dataset[now] || '';
      dropPraise(state);
      if (now === 'outbid') {
        const least = `The least bid is now ${state.dataset.minimumText}.`;
        announce(isPanel(state) ? `${line.textContent} ${least}` : `${titleOf(state.dataset.lot)}: ${line.textContent} ${least}`);
      }
    }
  }

  // "Accepted: you lead" must not stay beside "You have been outbid".
  function dropPraise(state) {
    if (state.dataset.leader === viewer) return;
    document.getElementById(`bid-desk-${state.dataset.lot}`)?.querySelector('.notice--good')?.remove();
  }

  // Shows what belongs to the lot's status (the bid form while it is open) without losing the focus when it goes.
  function updateParts(state) {
    for (const part of all(`[data-part-of="${state.dataset.lot}"]`)) {
      const hide = !part.dataset.when.split(' ').includes(state.dataset.status);
      if (hide && part.contains(document.activeElement)) state.focus({ preventScroll: true });
      part.hidden = hide;
    }
    const desk = document.getElementById(`bid-desk-${state.dataset.lot}`);
    if (desk) updateAmount(desk, state);
  }

  // The field follows the least bid until somebody types in it; then it is theirs, and only a hint says when it has
  // become too low. Both are strings from the server, compared digit by digit as whole numbers.
  function updateAmount(desk, state) {
    const field = desk.querySelector('[data-prefilled]');
    if (!field) return;
    if (BigInt(desk.dataset.version) <= BigInt(state.dataset.version)) {
      const untouched = field.value === field.dataset.prefilled;
      field.dataset.prefilled = state.dataset.minimum;
      if (untouched) field.value = state.dataset.minimum;
    }
    showHint(field, state);
  }

  function showHint(field, state) {
    const hint = field.form?.querySelector('[data-hint]');
    if (!hint || !state) return;
    hint.dataset.usual ??= hint.textContent;
    const below = isBelow(field.value.trim(), field.dataset.prefilled);
    const words = below ? `${field.value.trim()} ${hint.dataset.below} ${state.dataset.minimumText}.` : hint.dataset.usual;
    hint.dataset.hint = below ? 'below' : '';
    if (hint.textContent !== words) hint.textContent = words;
  }

  function isBelow(typed, minimum) {
    const decimals = (minimum.split('.')[1] || '').length;
    const parts = /^(\d{1,12})(?:\.(\d*))?$/.exec(typed);
    if (!parts || (parts[2] || '').length > decimals) return false; // not an amount: the server says what is wrong
    return BigInt(parts[1] + (parts[2] || '').padEnd(decimals, '0')) < BigInt(minimum.replace('.', ''));
  }

  // ---- Frames from the stream ----------------------------------------------------------------------------------
  // The newest version of each element wins, in whatever order frames arrive. What has been seen is remembered here and
  // not in the page, so that nothing else can take it back. Only the database can: a frame says when the database was
  // asked, and a higher version that was seen before that is one which the database does not have.

  const versions = new Map(); // by element: the version, and since when the house knows it, in microseconds

  function isOlder(id, { version, since, confirmed }) {
    const seen = versions.get(id);
    const given = BigInt(version);
    if (seen && given < seen.version && !(Number(confirmed) > seen.since)) return true;
    if (!seen || given !== seen.version) versions.set(id, { version: given, since: Number(since) || houseNow() * 1000 });
    return false;
  }

  document.addEventListener('htmx:oobBeforeSwap', event => {
    const current = event.detail.target;
    const next = event.detail.fragment.firstElementChild || event.detail.fragment;
    if (!next.dataset || next.dataset.version === undefined) return;
    if (isOlder(current.id, next.dataset)) {
      event.preventDefault();
    } else if (current.dataset.quickSteps !== undefined) {
      event.preventDefault();
      updateQuickSteps(current, next);
    } else {
      const before = { ...current.dataset };
      // The swap follows within this task; the microtask runs right after it and before anything is painted.
      queueMicrotask(() => {
        const swapped = document.getElementById(current.id);
        if (!swapped) return;
        settle(swapped);
        if (swapped.dataset.lot) {
          followBack(swapped, before);
          lotChanged(swapped, before);
        }
        if (swapped.dataset.seq !== undefined) markNewRows(swapped, before.seq);
      });
    }
  });

  // A form that was drawn for a state which the database does not have follows the present one.
  function followBack(state, before) {
    const desk = document.getElementById(`bid-desk-${state.dataset.lot}`);
    if (desk && BigInt(state.dataset.version) < BigInt(before.version)) desk.dataset.version = state.dataset.version;
  }

  function settle(root) {
    localiseTimes(root);
    markOwn(root);
    tick();
  }

  function lotChanged(state, before) {
    const now = state.dataset;
    if (now.price !== before.price) mark(state.querySelector('[data-price-text]'));
    updateStanding(state);
    updateParts(state);
    if (!isPanel(state)) return;
    if (now.status === 'OPEN' && Number(now.ends) > Number(before.ends)) {
      mark(state.querySelector('[data-end-text] time'));
      announceExtension(now.lot);
    }
    if (now.status !== before.status && (now.status === 'CLOSED' || now.status === 'CANCELLED')) announceOutcome(state);
  }

  function announceOutcome(panel) {
    const line = document.querySelector(`[data-standing-lot="${panel.dataset.lot}"]`);
    const outcome = panel.querySelector('.panel__price').innerText.replace(/\s+/g, ' ').trim();
    announce(`Closed. ${outcome}. ${line?.textContent || ''}`.trim());
  }

  const markMs = 2000;

  function mark(el) {
    if (!el) return;
    el.classList.add('moved');
    setTimeout(() => el.classList.remove('moved'), markMs);
  }

  function markNewRows(history, seqBefore) {
    if (seqBefore === undefined) return;
    for (const row of all('tr[data-seq]', history)) {
      if (BigInt(row.dataset.seq) > BigInt(seqBefore)) mark(row.querySelector('td:nth-child(3)'));
    }
  }

  // Quick steps are not replaced but rewritten, so that a press that has begun ends on the same button and keeps the
  // focus; and not while one is being pressed, so that nobody bids more than was written on the button.

  let pressed = null;
  let waiting = null;

  function updateQuickSteps(current, next) {
    if (current.dataset.quickSteps === 'off') return;
    if (pressed && current.contains(pressed)) {
      waiting = [current, next];
      return;
    }
    const buttons = [...current.children], fresh = [...next.children];
    if (buttons.length !== fresh.length) {
      if (current.contains(document.activeElement)) lotState(current.id.split('-').pop())?.focus({ preventScroll: true });
      current.replaceChildren(...fresh);
      htmx.process(current);
      return;
    }
    buttons.forEach((button, i) => {
      if (button.value === fresh[i].value) return;
      button.value = fresh[i].value;
      button.replaceChildren(...fresh[i].childNodes);
    });
  }

  document.addEventListener('pointerdown', event => { pressed = event.target.closest('.quick-steps__step'); });
  for (const end of ['pointerup', 'pointercancel']) {
    document.addEventListener(end, () => setTimeout(() => { // the click comes after pointerup and must see the old value
      pressed = null;
      if (waiting) updateQuickSteps(...waiting);
      waiting = null;
    }));
  }

  // ---- The one timer -------------------------------------------------------------------------------------------
  // A countdown is the absolute end less the house's clock, worked out anew each second; a second that is missed in a
  // hidden tab costs nothing.

  const warnings = [[600, 'Ten minutes left.'], [120, 'Two minutes left.'], [30, 'Thirty seconds left.']];
  const urgentMs = 120000;
  const leftBefore = new Map();

  // tick brings every countdown up to date and returns when the next one runs out, in milliseconds.
  function tick() {
    const now = houseNow();
    let soonest = Infinity;
    for (const state of all('[data-lot]')) {
      const text = state.querySelector('[data-countdown]');
      if (!text) continue;
      const opening = state.dataset.status === 'SCHEDULED';
      const ms = Number(opening ? state.dataset.starts : state.dataset.ends) - now;
      if (ms > 0 && ms < soonest) soonest = ms;
      const words = ms > 0 ? left(ms) : opening ? 'opening …' : 'closing …';
      if (text.textContent !== words) text.textContent = words;
      text.dataset.urgency = opening ? '' : ms <= 0 ? 'closing' : ms <= urgentMs ? 'last' : '';
      if (!opening && isPanel(state)) warn(state.dataset.lot, ms);
    }
    for (const clock of all('[data-house-clock]')) clock.textContent = formatTime(now, 'clock');
    return soonest;
  }

  function warn(lot, ms) {
    const before = leftBefore.get(lot);
    leftBefore.set(lot, ms);
    if (before === undefined) return;
    // Of several that were passed at once, in a tab that slept, only the last is news.
    const passed = warnings.filter(([seconds]) => before > seconds * 1000 && ms <= seconds * 1000);
    if (ms > 0) announce(passed.at(-1)?.[1]);
  }

  function keepTicking() {
    const soonest = tick();
    setTimeout(keepTicking, Math.min(soonest, 1000 - houseNow() % 1000) + 5); // just after the clock's full second, or an end
  }

  // ---- The connection ------------------------------------------------------------------------------------------
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

  // ---- Forms ---------------------------------------------------------------------------------------------------

  // The answer to a bid brings a new form; bring it up to the price the page already knows.
  document.addEventListener('htmx:afterSwap', event => {
    const desk = event.target.closest?.('[data-desk]');
    if (!desk) return;
    settle(desk);
    const state = lotState(desk.dataset.desk);
    if (!state) return;
    updateParts(state);
    const line = document.getElementById(`standing-${desk.dataset.desk}`);
    if (line && desk.dataset.bidHere !== undefined) line.dataset.bidHere = '';
    if (BigInt(desk.dataset.version) > BigInt(state.dataset.version)) return; // the page has yet to hear of this bid
    updateStanding(state);
    dropPraise(state);
  });

  // Only a desk may take a desk's place: a proxy's error page, say, is not one.
  document.addEventListener('htmx:beforeSwap', event => {
    const desk = event.detail.target;
    if (desk.dataset?.desk === undefined || !event.detail.shouldSwap) return;
    if (String(event.detail.serverResponse).includes(`id="${desk.id}"`)) return;
    event.detail.shouldSwap = false;
    showTrouble(desk);
  });

  for (const trouble of ['htmx:sendError', 'htmx:timeout', 'htmx:responseError']) {
    document.addEventListener(trouble, event => showTrouble(event.target.closest?.('[data-desk]') || event.detail.target));
  }

  function showTrouble(desk) {
    const words = desk?.querySelector?.('[data-trouble]');
    if (!words) return;
    words.hidden = true;
    requestAnimationFrame(() => { words.hidden = false; }); // appearing anew makes it read out anew
  }

  document.addEventListener('input', event => {
    if (event.target.dataset.prefilled === undefined) return;
    showHint(event.target, lotState(event.target.closest('[data-desk]').dataset.desk));
  });

  // Forms whose second copy would do harm are sent once.
  document.addEventListener('submit', event => {
    const form = event.target;
    if (form.dataset.once === undefined) return;
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = 'yes';
  });
  window.addEventListener('pageshow', () => all('form[data-sent]').forEach(form => delete form.dataset.sent));

  // A seller whose zone is not known gets the browser's.
  function chooseZone() {
    const select = document.querySelector('[data-zone-unknown]');
    const own = new Intl.DateTimeFormat().resolvedOptions().timeZone;
    if (!select || !own) return;
    if (![...select.options].some(option => option.value === own)) select.add(new Option(own.replaceAll('_', ' '), own), 0);
    select.value = own;
  }

  // ---- Begin ---------------------------------------------------------------------------------------------------

  all('[id][data-version]').forEach(el => isOlder(el.id, el.dataset));
  settle(body);
  all('[data-lot]').forEach(state => { updateStanding(state); updateParts(state); });
  chooseZone();
  document.querySelector('[data-focus-first]')?.focus();
  keepTicking();
})();

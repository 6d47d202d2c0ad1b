// Frames from the stream. The newest version of each element wins, in whatever order frames arrive. What has been seen
// is remembered here and not in the page, so that nothing else can take it back. Only the database can: a frame says when
// the database was asked, and a higher version that was seen before that is one which the database does not have.

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
    // The swap follows within this task; the microtask runs right after it and before anything is
    // painted.
    queueMicrotask(() => {
      const swapped = document.getElementById(current.id);
      if (!swapped) return;
      settle(swapped);
      if (swapped.dataset.lot) lotChanged(swapped, before);
      if (swapped.dataset.seq !== undefined) markNewRows(swapped, before.seq);
    });
  }
});

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
  if (now.version !== before.version) clearTrouble(document.getElementById(`bid-panel-${now.lot}`));
  if (!isPanel(state)) {
    if (now.status !== before.status) showNews('changed');
    return;
  }
  if (now.status === 'OPEN' && before.status === 'SCHEDULED') announce(word('say-open'));
  if (now.status === 'OPEN' && Number(now.ends) > Number(before.ends)) {
    mark(state.querySelector('[data-end-text] time'));
    announceExtension(now.lot);
  }
  if (now.status !== before.status && (now.status === 'CLOSED' || now.status === 'CANCELLED')) announceOutcome(state);
}

function announceOutcome(panel) {
  const line = document.querySelector(`[data-standing-lot="${panel.dataset.lot}"]`);
  const outcome = panel.querySelector('.panel__price').innerText.replace(/\s+/g, ' ').trim();
  announce(`${word('say-closed')} ${outcome}. ${line?.textContent || ''}`.trim());
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

// Lots on this page, and what in their entries depends on who looks.

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
    const lot = el.closest('.history')?.id.split('-').pop();
    const line = lot && document.getElementById(`standing-${lot}`);
    if (!line || line.dataset.bidHere !== undefined) continue;
    line.dataset.bidHere = ''; // bid from elsewhere since the page was drawn
    if (lotState(lot)) updateStanding(lotState(lot));
  }
}

function standingOf(state, line) {
  const { leader, status } = state.dataset;
  const leads = leader === viewer;
  if (leads) line.dataset.bidHere = '';
  if (line.dataset.bidHere === undefined) return line.dataset.standing && 'none'; // who may not bid has no line
  if (status === 'CANCELLED') return 'off';
  if (status === 'CLOSED') return leads ? 'won' : 'lost';
  return leads ? 'leading' : 'outbid';
}

function updateStanding(state) {
  if (!viewer) return;
  updateOwnHighest(state);
  for (const line of all(`[data-standing-lot="${state.dataset.lot}"]`)) {
    const before = line.dataset.standing;
    const now = standingOf(state, line);
    if (now === before) continue;
    line.dataset.standing = now;
    line.textContent = line.dataset[now] || '';
    dropPraise(state);
    tellInTitle(state.dataset.lot, now);
    if (now === 'outbid') {
      const least = `${word('say-least')} ${state.dataset.minimumText}.`;
      const which = isPanel(state) ? '' : `${titleOf(state.dataset.lot)}: `;
      announce(`${which}${line.textContent} ${least}`);
    }
  }
}

// Who leads has bid the current price. The own figure says so too, also when the bid came from
// another tab.
function updateOwnHighest(state) {
  if (state.dataset.leader !== viewer) return;
  for (const figure of all(`[data-own-highest="${state.dataset.lot}"]`)) {
    figure.textContent = state.querySelector('[data-price-text]').textContent;
  }
}

// Shows what belongs to the lot's status (the bid form while it is open) without losing the focus
// when it goes.
function updateParts(state) {
  for (const part of all(`[data-part-of="${state.dataset.lot}"]`)) {
    const hide = !part.dataset.when.split(' ').includes(state.dataset.status);
    if (hide && part.contains(document.activeElement)) state.focus({ preventScroll: true });
    if (part.hidden && !hide) all('button, [data-prefilled]', part).forEach(changed);
    part.hidden = hide;
  }
  const panel = document.getElementById(`bid-panel-${state.dataset.lot}`);
  if (panel) updateAmount(panel, state);
  dropChoices(state);
}

// The bid form: what happens to its amount and its quick steps while the price moves, and to its answers.

// "Accepted: you lead" must not stay beside "You have been outbid".
function dropPraise(state) {
  if (state.dataset.leader === viewer) return;
  document.getElementById(`bid-desk-${state.dataset.lot}`)?.querySelector('.notice--good')?.remove();
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

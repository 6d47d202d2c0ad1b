// The bid form. Two rules protect who bids: what a hand is about to press does not change under it, and one gesture is
// one bid. The field belongs to the person: while it has the focus nothing here writes to it.

// A press on something that has changed this shortly before may have been meant for what stood there. People need about
// a quarter of a second to see a change, and a moment more to stop.
const stillMs = 400;
// After an answer the form rests: the second half of a double click, or of a key pressed twice, is over by then.
const restMs = 700;
// The click comes after the finger or the key has gone up, on some devices in a task of its own.
const clickAfterMs = 100;

const bidForm = el => el?.closest?.('[data-bid-form]') || el?.closest?.('button[form^="bid-form-"]')?.form || null;
const answerOf = form => document.getElementById(`bid-answer-${form.dataset.bidForm}`);
const fieldOf = form => form.querySelector('[data-prefilled]');

const changedAt = new WeakMap(); // what can be pressed or sent → when the page last changed it
const answeredAt = new WeakMap(); // form → when its last answer came
const changed = el => changedAt.set(el, performance.now());

// ---- The gesture under way ----

let gesture = null; // { at, form }: a pointer or a key that is down on a bid form
let gestureTimer;
let postponed = new Map(); // what has waited for its end, by element

function beginGesture(target) {
  const form = bidForm(target);
  if (!form) return;
  clearTimeout(gestureTimer);
  gesture = { at: performance.now(), form };
}

function endGesture() {
  if (!gesture) return;
  clearTimeout(gestureTimer);
  gestureTimer = setTimeout(() => {
    gesture = null;
    const waiting = postponed;
    postponed = new Map();
    waiting.forEach(change => change());
  }, clickAfterMs);
}

// whenStill makes a change at once, or when the gesture on the form is over; of several only the last.
function whenStill(form, el, change) {
  if (gesture?.form === form) postponed.set(el, change);
  else change();
}

document.addEventListener('pointerdown', event => beginGesture(event.target), true);
for (const end of ['pointerup', 'pointercancel']) document.addEventListener(end, endGesture, true);
window.addEventListener('blur', endGesture);

document.addEventListener('keydown', event => {
  if (event.key !== 'Enter' && event.key !== ' ' || event.isComposing) return;
  const form = bidForm(event.target);
  if (!form) return;
  if (!event.repeat) {
    beginGesture(event.target);
  } else if (event.key === 'Enter' || event.target.closest('button')) {
    event.preventDefault(); // a held key is one gesture
  }
}, true);
document.addEventListener('keyup', event => { if (event.key === 'Enter' || event.key === ' ') endGesture(); }, true);

// ---- Sending ----

document.addEventListener('submit', event => {
  const form = bidForm(event.target);
  if (!form) return;
  const field = fieldOf(form);
  const pressed = event.submitter?.name ? event.submitter : field; // quick steps and confirmations bring their own amount
  const began = gesture?.form === form ? gesture.at : performance.now();
  const refuse = words => {
    event.preventDefault();
    event.stopImmediatePropagation();
    if (words) tell(form, words);
  };
  if (form.dataset.busy !== undefined) return refuse(answerOf(form).dataset.wordWait);
  if (began < answeredAt.get(form) + restMs) return refuse('');
  if (began < changedAt.get(pressed) + stillMs) return refuse(answerOf(form).dataset.wordChanged);
  form.sent = { field: pressed === field, text: field.value };
  if (document.activeElement === field) field.select(); // what is typed next is another amount
}, true);

// tell says something in the place for answers, where nothing else is moved by it.
function tell(form, words) {
  const place = answerOf(form)?.querySelector('[data-answer-words]');
  if (!place) return;
  const notice = document.createElement('p');
  notice.className = 'notice notice--info';
  notice.setAttribute('role', 'status');
  notice.textContent = words;
  clearTrouble(answerOf(form));
  place.replaceChildren(notice);
}

function setBusy(form, busy) {
  const buttons = [...form.elements].filter(el => el.type === 'submit');
  form.toggleAttribute('data-busy', busy);
  form.setAttribute('aria-busy', String(busy));
  buttons.forEach(button => (busy ? button.setAttribute('aria-disabled', 'true') : button.removeAttribute('aria-disabled')));
}

document.addEventListener('htmx:beforeRequest', event => {
  const form = bidForm(event.target);
  if (!form) return;
  setBusy(form, true);
  clearTrouble(answerOf(form));
});

document.addEventListener('htmx:afterRequest', event => {
  const form = bidForm(event.detail.requestConfig?.elt || event.target);
  if (!form) return;
  setBusy(form, false);
  answeredAt.set(form, performance.now());
  const state = lotState(form.dataset.bidForm);
  if (state) updateParts(state);
});

// ---- The answer ----

// Only an answer may take the answer's place: a proxy's error page, say, is not one.
document.addEventListener('htmx:beforeSwap', event => {
  const place = event.detail.target;
  if (place.dataset?.answer === undefined || !event.detail.shouldSwap) return;
  if (!String(event.detail.serverResponse).includes(`id="${place.id}"`)) {
    event.detail.shouldSwap = false;
    showTrouble(place);
    return;
  }
  place.hadFocus = place.contains(document.activeElement);
});

document.addEventListener('htmx:afterSwap', event => {
  const lot = event.target.dataset?.answer ?? event.detail.target?.dataset?.answer;
  const place = lot === undefined ? null : document.getElementById(`bid-answer-${lot}`);
  const form = document.getElementById(`bid-form-${lot}`);
  if (!place) return;
  settle(place);
  if (event.detail.target?.hadFocus) place.focus({ preventScroll: true });
  all('button', place).forEach(changed);
  const state = lotState(lot);
  const line = document.getElementById(`standing-${lot}`);
  if (line && place.dataset.bidHere !== undefined) line.dataset.bidHere = '';
  if (form) {
    form.unsettled = false;
    showVerdict(form, place);
  }
  if (!state) return;
  updateParts(state);
  if (BigInt(place.dataset.version) > BigInt(state.dataset.version)) return; // the page has yet to hear of this bid
  updateStanding(state);
  dropPraise(state);
});

// showVerdict marks a refused field, and lets go of what was typed once it has had its effect.
function showVerdict(form, place) {
  const field = fieldOf(form);
  const untouched = form.sent?.field && field.value === form.sent.text;
  if (place.dataset.wrong !== undefined && untouched) field.setAttribute('aria-invalid', 'true');
  else field.removeAttribute('aria-invalid');
  if (place.dataset.accepted !== undefined && untouched) field.dataset.prefilled = field.value;
}

// "Accepted: you are the highest bidder" must not stay beside "You have been outbid", nor any answer or question from before.
function dropPraise(state) {
  const place = document.getElementById(`bid-answer-${state.dataset.lot}`);
  if (!place || state.dataset.leader === viewer) return;
  if (BigInt(place.dataset.version) < BigInt(state.dataset.version)) place.querySelector('[data-answer-words]').replaceChildren();
  else place.querySelector('.notice--good')?.remove();
}

// dropChoices takes away what can no longer be answered when a lot is over.
function dropChoices(state) {
  if (state.dataset.status === 'OPEN') return;
  const choices = document.getElementById(`bid-answer-${state.dataset.lot}`)?.querySelector('.answer__choices');
  if (!choices) return;
  if (choices.contains(document.activeElement)) state.focus({ preventScroll: true });
  choices.parentElement.replaceChildren();
}

for (const trouble of ['htmx:sendError', 'htmx:timeout', 'htmx:responseError']) {
  document.addEventListener(trouble, event => {
    const form = bidForm(event.detail.requestConfig?.elt || event.target);
    if (form) showTrouble(answerOf(form));
  });
}

function showTrouble(place) {
  const words = place?.querySelector('[data-trouble]');
  if (!words) return;
  const form = document.getElementById(`bid-form-${place.dataset.answer}`);
  if (form) form.unsettled = true; // the same amount is to be sent again, with the same key
  place.querySelector('[data-answer-words]').replaceChildren();
  words.hidden = true;
  requestAnimationFrame(() => { words.hidden = false; }); // appearing anew makes it read out anew
}

// ---- The amount ----

// The field follows the least bid until somebody types in it, and is empty for who leads. It is written only while
// nobody is in it and nothing is being pressed; a hint says when what stands there has become too low.
function updateAmount(panel, state) {
  const form = panel.querySelector('[data-bid-form]');
  if (!form) return;
  const field = fieldOf(form);
  const next = state.dataset.leader === viewer ? '' : state.dataset.minimumEdit;
  showHint(field, state);
  if (field.dataset.prefilled === next) return;
  whenStill(form, field, () => {
    // It comes again when the field is left, or when the answer is there.
    if (document.activeElement === field || form.dataset.busy !== undefined || form.unsettled) return;
    const untouched = field.value === field.dataset.prefilled;
    field.dataset.prefilled = next;
    if (!untouched || field.value === next) return;
    field.value = next;
    sizeAmount(field);
    changed(field);
    showHint(field, lotState(panel.dataset.bidPanel));
  });
}

document.addEventListener('focusout', event => {
  const panel = event.target.dataset?.prefilled !== undefined && event.target.closest('[data-bid-panel]');
  // The focus is still on its way; a gesture that takes it away has begun before.
  if (panel) setTimeout(() => { const state = lotState(panel.dataset.bidPanel); if (state) updateAmount(panel, state); });
});

// A long amount is set smaller, so that all of it is to be seen.
function sizeAmount(field) {
  field.toggleAttribute('data-long', field.value.length > Number(field.dataset.usualMax));
}

function showHint(field, state) {
  const hint = field.form?.querySelector('[data-hint]');
  if (!hint || !state) return;
  hint.dataset.usual ??= hint.textContent;
  const typed = field.value.trim();
  const below = isBelow(field, state.dataset.minimum);
  const words = below ? `${typed} ${hint.dataset.below} ${state.dataset.minimumText}.` : hint.dataset.usual;
  hint.dataset.hint = below ? 'below' : '';
  if (hint.textContent !== words) hint.textContent = words;
}

// isBelow compares digit by digit, as whole numbers. What it cannot read with certainty it says nothing about.
function isBelow(field, minimum) {
  const decimals = (minimum.split('.')[1] || '').length;
  const [whole, fraction = '', ...more] = field.value.trim().split(field.dataset.decimal);
  const digits = whole.split(field.dataset.group);
  const grouped = digits.slice(1).every(group => group.length === 3);
  if (more.length || !grouped || fraction.length > decimals || !/^\d{1,12}$/.test(digits.join('')) || !/^\d*$/.test(fraction)) {
    return false;
  }
  return BigInt(digits.join('') + fraction.padEnd(decimals, '0')) < BigInt(minimum.replace('.', ''));
}

document.addEventListener('input', event => {
  if (event.target.dataset.prefilled === undefined) return;
  event.target.removeAttribute('aria-invalid');
  sizeAmount(event.target);
  showHint(event.target, lotState(event.target.closest('[data-bid-panel]').dataset.bidPanel));
});

// Going into the field selects all of it, once: what is typed is the amount, and not a digit more in the one that stood
// there. With a pointer the browser puts the caret after the focus, so the selection waits for the click.
document.addEventListener('focusin', event => {
  if (event.target.dataset?.prefilled === undefined) return;
  event.target.select();
  if (gesture) event.target.selectOnClick = true;
});
document.addEventListener('click', event => {
  if (!event.target.selectOnClick) return;
  event.target.selectOnClick = false;
  if (event.target.selectionStart === event.target.selectionEnd) event.target.select();
});

// ---- Quick steps ----

// They are not replaced but rewritten, so that the focus stays on them.
function updateQuickSteps(current, next) {
  if (current.dataset.quickSteps === 'off') return;
  const form = document.getElementById(`bid-form-${current.id.split('-').pop()}`);
  whenStill(form, current, () => rewriteQuickSteps(current, next));
}

function rewriteQuickSteps(current, next) {
  const buttons = [...current.children], fresh = [...next.children];
  if (buttons.length !== fresh.length) {
    if (current.contains(document.activeElement)) lotState(current.id.split('-').pop())?.focus({ preventScroll: true });
    current.replaceChildren(...fresh);
    htmx.process(current);
    fresh.forEach(changed);
    return;
  }
  buttons.forEach((button, i) => {
    if (button.value === fresh[i].value) return;
    button.value = fresh[i].value;
    button.replaceChildren(...fresh[i].childNodes);
    changed(button);
  });
}

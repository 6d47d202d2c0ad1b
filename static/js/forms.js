// Other forms than the one for bids.

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
  if (!select || !own || select.value !== 'UTC') return; // another choice was made before a reload
  if (![...select.options].some(option => option.value === own)) select.add(new Option(own.replaceAll('_', ' '), own), 0);
  select.value = own;
}

// What is typed into a long form is kept for a reload and for the way back, in this tab and for this viewer. Whoever
// comes by a link begins with an empty form.
function keepTyped() {
  const form = document.querySelector('form[data-kept]');
  if (!form) return;
  const place = ['typed', form.elements.viewer.value, location.pathname, location.search].join(' ');
  const unseen = ['hidden', 'submit', 'fieldset'];
  const fields = () => [...form.elements].filter(field => field.name && !unseen.includes(field.type));
  const came = performance.getEntriesByType('navigation')[0]?.type;
  try {
    const kept = JSON.parse(sessionStorage.getItem(place)) ?? {};
    if (came !== 'reload' && came !== 'back_forward') sessionStorage.removeItem(place);
    else for (const field of fields().filter(field => field.name in kept)) {
      if (field.type === 'checkbox') field.checked = kept[field.name];
      else field.value = kept[field.name];
    }
  } catch { /* the browser keeps nothing, or somebody else wrote there */ }
  window.addEventListener('pagehide', () => {
    const typed = fields().map(field => [field.name, field.type === 'checkbox' ? field.checked : field.value]);
    try {
      sessionStorage.setItem(place, JSON.stringify(Object.fromEntries(typed)));
    } catch { /* there is no room, or storage is switched off */ }
  });
}

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
  if (!select || !own) return;
  if (![...select.options].some(option => option.value === own)) select.add(new Option(own.replaceAll('_', ' '), own), 0);
  select.value = own;
}

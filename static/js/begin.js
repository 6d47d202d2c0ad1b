// What happens once when the page has loaded.

all('[id][data-version]').forEach(el => isOlder(el.id, el.dataset));
settle(body);
all('[data-lot]').forEach(state => { updateStanding(state); updateParts(state); });
chooseZone();
keepTyped();
document.querySelector('[data-focus-first]')?.focus();
keepTicking();

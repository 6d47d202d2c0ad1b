// Runs in every page that the tests open, before the page's own script.
(() => {
  'use strict';
  const seen = window.seen = {
    prices: {}, standings: {}, said: [], connections: new Set(), countdowns: new Set(), clicked: 0, movedAt: Date.now(),
  };

  document.addEventListener('securitypolicyviolation', event => {
    console.error(`content policy: ${event.effectiveDirective} ${event.blockedURI} ${event.sample}`);
  });
  document.addEventListener('click', () => { seen.clicked = Date.now(); }, true);

  function look() {
    const now = Date.now();
    const panel = document.querySelector('.panel');
    if (panel) {
      seen.prices[panel.dataset.price] ??= now;
      seen.countdowns.add(panel.querySelector('[data-countdown]')?.textContent);
    }
    for (const line of document.querySelectorAll('.standing')) {
      if (line.textContent) seen.standings[`${line.textContent} ${panel?.dataset.price}`] ??= now;
    }
    for (const line of document.querySelectorAll('[data-live-state]')) seen.connections.add(line.textContent);
    const words = document.getElementById('announcer')?.textContent;
    if (words && words !== seen.said.at(-1)) seen.said.push(words);
  }

  document.addEventListener('DOMContentLoaded', () => {
    look();
    // When something that a bidder may press, or must read before it, last changed.
    const bidding = '.panel__price, .answer, .quick-steps, .standing, [data-part-of]';
    new MutationObserver(records => {
      const beneath = ({ target }) => {
        const el = target.closest ? target : target.parentElement;
        return el?.matches('.sale__desk') || el?.closest(bidding);
      };
      if (records.some(beneath)) seen.movedAt = Date.now();
      look();
    }).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
  });
})();

// Loads the list again while runs are read or recorded, and keeps the ticks.
'use strict';
(() => {
  const EVERY_MS = 2000;
  const list = () => document.getElementById('runs');
  const ticked = () => new Set([...list().querySelectorAll('input:checked')].map((box) => box.value));

  async function load() {
    // A page that is not looked at asks for nothing.
    if (document.hidden) return true;
    const answer = await fetch(location.href, { cache: 'no-store' });
    if (!answer.ok) return false;
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const next = page.getElementById('runs');
    if (!next) return false;
    const kept = ticked();
    next.querySelectorAll('input[name=run]').forEach((box) => { box.checked = kept.has(box.value); });
    list().replaceWith(document.adoptNode(next));
    return next.dataset.changing === 'yes';
  }

  async function again() {
    // A server that has ended, or is busy for a moment, is asked again later.
    const goes_on = await load().catch(() => true);
    if (goes_on) setTimeout(again, EVERY_MS);
  }

  setTimeout(again, EVERY_MS);
})();

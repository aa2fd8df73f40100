// Asks for the numbers of the run again and again. They are set as text and as points of a line, never as markup.
'use strict';
(() => {
  const source = document.currentScript.dataset.source;
  const QUIET_MS = 2000;

  function show(view) {
    document.querySelectorAll('[data-live]').forEach((place) => { place.textContent = view[place.dataset.live]; });
    document.querySelectorAll('div.trend').forEach((place, nth) => {
      const trend = view.trends[nth];
      place.querySelector('.top').textContent = trend.top;
      place.querySelector('.span').textContent = trend.span;
      place.querySelector('polyline').setAttribute('points', trend.line);
    });
    const rows = view.points.map((point) => {
      const row = document.createElement('tr');
      for (const key of ['id', 'label', 'state', 'rate', 'failed']) {
        const cell = row.insertCell();
        cell.textContent = point[key];
        if (key === 'id' || key === 'rate' || key === 'failed') cell.className = 'n';
      }
      return row;
    });
    document.getElementById('points').replaceChildren(...rows);
  }

  async function load() {
    // A page that is not looked at asks for nothing.
    if (document.hidden) return QUIET_MS;
    const answer = await fetch(source, { cache: 'no-store' });
    if (!answer.ok) throw new Error(answer.statusText);
    const view = await answer.json();
    if (view.is_over) {
      location.reload();
      return null;
    }
    show(view);
    return view.again_ms;
  }

  async function again() {
    let wait_ms = QUIET_MS;
    let is_lost = false;
    try {
      wait_ms = await load();
    } catch {
      is_lost = true;
    }
    document.getElementById('lost').hidden = !is_lost;
    if (wait_ms !== null) setTimeout(again, wait_ms);
  }

  setTimeout(again, QUIET_MS);
})();

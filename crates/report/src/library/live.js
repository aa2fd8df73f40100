// Asks for the numbers of the run again and again. They are set as text and as points of a line, never as markup.
'use strict';
(() => {
  const source = document.currentScript.dataset.source;
  const QUIET_MS = 2000;

  const texts = (places) => [...places].map((place) => place.textContent);

  // Whether the page has a place for each part of `view`: a watch may learn of more while it goes on.
  function fits(view) {
    const heads = (table) => table.heads.join('\n');
    const shown = [...document.querySelectorAll('section.live')].map((place) => texts(place.querySelectorAll('th')).join('\n'));
    return texts(document.querySelectorAll('.figure dt')).join('\n') === view.figures.map((one) => one.name).join('\n')
      && document.querySelectorAll('div.trend').length === view.trends.length
      && shown.join('\n\n') === view.tables.map(heads).join('\n\n');
  }

  function show(view) {
    document.querySelectorAll('[data-live]').forEach((place) => { place.textContent = view[place.dataset.live]; });
    document.querySelectorAll('.figure dd').forEach((place, nth) => { place.textContent = view.figures[nth].value; });
    document.querySelectorAll('div.trend').forEach((place, nth) => {
      const trend = view.trends[nth];
      place.querySelector('.top').textContent = trend.top;
      place.querySelector('.span').textContent = trend.span;
      place.querySelector('polyline').setAttribute('points', trend.line);
    });
    document.querySelectorAll('section.live').forEach((place, nth) => {
      const table = view.tables[nth];
      place.querySelector('tbody').replaceChildren(...table.rows.map((cells) => row(cells, table.texts)));
      place.querySelector('.note').textContent = table.note;
    });
  }

  function row(cells, isText) {
    const made = document.createElement('tr');
    cells.forEach((text, nth) => {
      const cell = made.insertCell();
      cell.textContent = text;
      if (!isText[nth]) cell.className = 'n';
    });
    return made;
  }

  async function load() {
    // A page that is not looked at asks for nothing.
    if (document.hidden) return QUIET_MS;
    const answer = await fetch(source, { cache: 'no-store' });
    if (!answer.ok) throw new Error(answer.statusText);
    const view = await answer.json();
    if (view.is_over || !fits(view)) {
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

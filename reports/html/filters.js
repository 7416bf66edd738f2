// Filters of the findings. A card stays when it, or a consequence inside it, is what is asked for.
'use strict';
(() => {
  const section = document.getElementById('findings');
  if (!section) return;
  const {element, number} = page;
  const cards = [...section.querySelectorAll('article')];
  const ownText = new Map(cards.map((card) => {
    const parts = [...card.children].filter((part) => !part.classList.contains('then'));
    return [card, parts.map((part) => part.textContent).join(' ').toLowerCase()];
  }));

  const choice = (name, values) => {
    const select = element('select', {}, [
      element('option', {value: '', text: `any ${name}`}),
      ...[...values].filter(Boolean).sort().map((value) => element('option', {value, text: value})),
    ]);
    select.setAttribute('aria-label', `Findings of which ${name}`);
    return select;
  };
  const valuesOf = (name) => new Set(cards.map((card) => card.dataset[name]));
  const severity = choice('severity', valuesOf('severity'));
  const rule = choice('rule', valuesOf('rule'));
  const phase = choice('phase', valuesOf('phase'));
  const dtype = choice('dtype', new Set(cards.flatMap((card) => card.dataset.dtypes.split('|'))));
  const search = element('input', {type: 'search', placeholder: 'Module, file, message …'});
  search.setAttribute('aria-label', 'Search the findings');
  const told = element('span', {class: 'quiet'});
  told.setAttribute('aria-live', 'polite');

  const isAsked = () =>
      severity.value || rule.value || phase.value || dtype.value || search.value.trim();
  const fits = (card) => (!severity.value || card.dataset.severity === severity.value) &&
      (!rule.value || card.dataset.rule === rule.value) &&
      (!phase.value || card.dataset.phase === phase.value) &&
      (!dtype.value || card.dataset.dtypes.split('|').includes(dtype.value)) &&
      search.value.toLowerCase().split(/\s+/).every((word) => ownText.get(card).includes(word));

  function apply() {
    const kept = new Set();
    const found = cards.filter(fits);
    for (const card of found) {
      for (let up = card; up && up !== section; up = up.parentElement) {
        if (up.tagName === 'ARTICLE') kept.add(up);
        if (up.tagName === 'DETAILS' && isAsked()) up.open = true;
      }
    }
    for (const card of cards) card.classList.toggle('filtered', !kept.has(card));
    told.textContent = isAsked() ? `${number(found.length)} of ${number(cards.length)}` : '';
  }

  // What is asked for stands in the address, so that a link shows the same. A page of a file may
  // change nothing of its address but what is behind the #.
  const controls = {severity, rule, phase, dtype, search};
  function keep() {
    const asked = Object.entries(controls).filter(([, control]) => control.value);
    const text = new URLSearchParams(asked.map(([name, control]) => [name, control.value]));
    history.replaceState(null, '', asked.length > 0 ? `#filter:${text}` : '#');
  }
  function changed() {
    apply();
    keep();
  }
  for (const control of [severity, rule, phase, dtype]) control.addEventListener('change', changed);
  search.addEventListener('input', changed);
  page.filters = {
    show(text) {
      const asked = new URLSearchParams(text);
      for (const [name, control] of Object.entries(controls)) control.value = asked.get(name) || '';
      apply();
      section.scrollIntoView();
    },
  };
  if (cards.length > 1) {
    section.querySelector('h2').after(
        element('div', {class: 'controls'}, [search, severity, rule, phase, dtype, told]));
  }
})();

// The table of op calls: filtered, sorted and grouped here, from the data block in the page.
// Whatever the data holds becomes text nodes and nothing else; no string is ever read as HTML.
'use strict';
(() => {
  const block = document.getElementById('op-calls');
  if (!block) return;
  const data = JSON.parse(block.textContent);
  const column = Object.fromEntries(data.columns.map((name, at) => [name, at]));
  const kRowsAtOnce = 300;

  const rows = data.rows.map((cells, order) => ({cells, order}));
  const textOf = (row, name) => data.strings[row.cells[column[name]]];
  const countOf = (row) => row.cells[column.count];

  function element(tag, properties = {}, children = []) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (name === 'text') made.textContent = value;
      else if (name === 'class') made.className = value;
      else if (name.startsWith('aria-')) made.setAttribute(name, value);
      else made[name] = value;
    }
    made.append(...children);
    return made;
  }

  // --- what is shown -------------------------------------------------------------------------
  const state = {words: [], phase: '', grouped: true, sort: '', descending: false, limit: kRowsAtOnce};

  // The strings that hold a word are found once, then rows are only compared by index: a search
  // over 20,000 rows costs a few milliseconds.
  function matcher(word) {
    const holds = data.strings.map((text) => text.toLowerCase().includes(word));
    return (row) => row.cells.some((cell, at) => at !== column.count && holds[cell]);
  }

  function matching() {
    const matchers = state.words.map(matcher);
    return rows.filter((row) => (!state.phase || textOf(row, 'phase') === state.phase) &&
                                matchers.every((matches) => matches(row)));
  }

  const collator = new Intl.Collator('en', {numeric: true});  // layer.2 before layer.10

  function compare(a, b) {
    if (state.sort === 'count') return countOf(a) - countOf(b);
    return collator.compare(textOf(a, state.sort), textOf(b, state.sort));
  }

  function sorted(found) {
    if (!state.sort) return found;
    const sign = state.descending ? -1 : 1;
    return found.slice().sort((a, b) => sign * compare(a, b) || a.order - b.order);
  }

  // Modules in the order of their first row, so that a sort by count brings the busiest module up.
  function groups(found) {
    const byModule = new Map();
    for (const row of found) {
      const module = textOf(row, 'module');
      if (!byModule.has(module)) byModule.set(module, []);
      byModule.get(module).push(row);
    }
    return byModule;
  }

  // --- the table -----------------------------------------------------------------------------
  const number = (value) => value.toLocaleString('en-US');
  const counted = (value, what) => `${number(value)} ${what}${value === 1 ? '' : 's'}`;

  const kShown = [
    {name: 'op', label: 'op', detail: 'autocast', prefix: 'autocast '},
    {name: 'operands', label: 'operands', dtypes: true, detail: 'shapes', prefix: ''},
    {name: 'results', label: 'results', dtypes: true},
    {name: 'phase', label: 'phase', narrow: true},
    {name: 'steps', label: 'steps', narrow: true},
    {name: 'place', label: 'line', detail: 'inner', prefix: 'inside '},
    {name: 'outcome', label: 'outcome', narrow: true},
    {name: 'count', label: 'calls', narrow: true},
  ];
  if (new Set(rows.map((row) => textOf(row, 'process'))).size > 1) {
    kShown.splice(6, 0, {name: 'process', label: 'process', narrow: true});
  }

  const kDtypeClasses = {Half: 'half', BFloat16: 'half', Float: 'float', Double: 'double'};

  // "input Half, weight Float" with the dtypes in the colours that they have in the findings.
  function dtypeParts(text) {
    return text.split(/(\bHalf\b|\bBFloat16\b|\bFloat\b|\bDouble\b)/).map((part) => {
      const dtype = kDtypeClasses[part];
      return dtype ? element('span', {class: dtype, text: part}) : part;
    });
  }

  function cell(row, shown) {
    if (shown.name === 'count') return element('td', {class: 'number', text: number(countOf(row))});
    const text = textOf(row, shown.name);
    const parts = shown.dtypes ? dtypeParts(text) : [text];
    const made = element('td', {class: shown.narrow ? 'narrow' : ''}, parts);
    const detail = shown.detail ? textOf(row, shown.detail) : '';
    if (detail) made.append(element('div', {class: 'detail', text: shown.prefix + detail}));
    return made;
  }

  function rowElement(row) {
    const outcome = textOf(row, 'outcome');
    const mark = outcome === 'threw' || outcome === 'repaired' ? outcome : '';
    const made = element('tr', {class: mark}, kShown.map((shown) => cell(row, shown)));
    if (!state.grouped) {
      made.firstChild.append(element('div', {class: 'detail', text: textOf(row, 'module')}));
    }
    return made;
  }

  function groupElement(module, members) {
    const calls = members.reduce((sum, row) => sum + countOf(row), 0);
    const told = `${counted(members.length, 'signature')}, ${counted(calls, 'call')}`;
    return element('tr', {class: 'group'}, [element('td', {colSpan: kShown.length}, [
      element('span', {text: module || '(outside of every module)'}),
      element('span', {class: 'quiet', text: told}),
    ])]);
  }

  function bodyRows(found) {
    const made = [];
    let left = state.limit;
    if (!state.grouped) return found.slice(0, left).map(rowElement);
    for (const [module, members] of groups(found)) {
      if (left <= 0) break;
      made.push(groupElement(module, members));
      for (const row of members.slice(0, left)) made.push(rowElement(row));
      left -= members.length;
    }
    return made;
  }

  const body = element('tbody');
  const told = element('p', {class: 'quiet', 'aria-live': 'polite'});
  const more = element('button', {type: 'button', class: 'more'});

  function render() {
    const found = sorted(matching());
    const shown = Math.min(found.length, state.limit);
    body.replaceChildren(...bodyRows(found));
    const of = found.length === rows.length ? '' : ` that match, of ${number(rows.length)}`;
    told.textContent = `${number(shown)} of ${counted(found.length, 'signature')}${of}`;
    more.hidden = shown === found.length;
    more.textContent = `Show ${number(Math.min(kRowsAtOnce, found.length - shown))} more`;
  }

  function changed(change) {
    Object.assign(state, {limit: kRowsAtOnce}, change);
    render();
  }

  // --- controls ------------------------------------------------------------------------------
  function sortBy(name) {
    const again = state.sort === name;
    const descending = again ? !state.descending : name === 'count';
    changed({sort: name, descending});
    for (const head of heads) {
      if (head.dataset.name === name) {
        head.setAttribute('aria-sort', descending ? 'descending' : 'ascending');
      } else {
        head.removeAttribute('aria-sort');
      }
    }
  }

  const heads = kShown.map((shown) => {
    const button = element('button', {type: 'button', text: shown.label});
    button.addEventListener('click', () => sortBy(shown.name));
    const head = element('th', {scope: 'col', class: shown.name === 'count' ? 'number' : ''}, [button]);
    head.dataset.name = shown.name;
    return head;
  });

  const search = element('input', {
    type: 'search',
    placeholder: 'Filter: op, module, dtype, file … all words must match',
    'aria-label': 'Filter op calls',
  });
  let waiting = 0;
  search.addEventListener('input', () => {
    clearTimeout(waiting);
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    waiting = setTimeout(() => changed({words}), 120);
  });

  const phases = [...new Set(rows.map((row) => textOf(row, 'phase')))].sort();
  const phase = element('select', {'aria-label': 'Phase'}, [
    element('option', {value: '', text: 'all phases'}),
    ...phases.map((name) => element('option', {value: name, text: name})),
  ]);
  phase.addEventListener('change', () => changed({phase: phase.value}));

  const grouping = element('input', {type: 'checkbox', checked: true});
  grouping.addEventListener('change', () => changed({grouped: grouping.checked}));
  more.addEventListener('click', () => {
    state.limit += kRowsAtOnce;
    render();
  });

  const table = element('table', {}, [element('thead', {}, [element('tr', {}, heads)]), body]);
  const controls = element('div', {class: 'controls'}, [
    search,
    phase,
    element('label', {}, [grouping, element('span', {text: 'by module'})]),
  ]);
  const section = block.parentElement;
  section.querySelector('.no-script').remove();
  section.append(controls, told, element('div', {class: 'scroll'}, [table]), more);
  render();
})();

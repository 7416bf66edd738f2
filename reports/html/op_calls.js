// The table of op calls: filtered, sorted and grouped here, from the data block in the page. A
// column is one number for all rows, or has so many bytes (`width`) for each row, the lowest first,
// in base64, to be added to `base`: the index of a string, or in `count` the number itself. Row 0 is
// the op call with the id 1.
'use strict';
(() => {
  const data = page.data('op-calls');
  if (!data) return;
  const {element, number, counted} = page;
  const kRowsAtOnce = 100;
  const size = data.size;
  function unpacked({base, width, bytes}) {
    const packed = atob(bytes);
    const values = new (base + 256 ** width > 2 ** 32 ? Float64Array : Uint32Array)(size);
    for (let row = 0, at = 0; row < size; ++row) {
      let value = base;
      for (let weight = 1; weight < 256 ** width; weight *= 256)
        value += packed.charCodeAt(at++) * weight;
      values[row] = value;
    }
    return values;
  }
  const columns = Object.fromEntries(
      Object.entries(data.columns)
          .map(([name, all]) => [name, typeof all === 'number' ? {fill: all} : unpacked(all)]));
  const valueOf = (name, row) => {
    const column = columns[name];
    return column.fill === undefined || column.BYTES_PER_ELEMENT ? column[row] : column.fill;
  };
  const textOf = (name, row) => data.strings[valueOf(name, row)];
  const countOf = (row) => valueOf('count', row);
  const texts = Object.keys(columns).filter((name) => name !== 'count');

  // --- what is shown -------------------------------------------------------------------------
  const state = {
    words: [],
    phase: '',
    outcome: '',
    dtype: '',
    module: '',
    only: -1,
    grouped: true,
    sort: '',
    descending: false,
    limit: kRowsAtOnce
  };

  // The strings that fit are found once; then rows are only compared by index: a search over
  // 600,000 rows costs some 50 milliseconds.
  const lowered = [];
  function flags(fits) {
    const found = new Uint8Array(data.strings.length);
    data.strings.forEach((text, at) => {
      if (fits(text, at)) found[at] = 1;
    });
    return found;
  }
  const holding = (word) => flags((text, at) => {
    lowered[at] ??= text.toLowerCase();
    return lowered[at].includes(word);
  });

  function tests() {
    const made = [];
    const one = (name, found) => made.push((row) => found[valueOf(name, row)] === 1);
    for (const word of state.words) {
      const found = holding(word);
      made.push((row) => texts.some((name) => found[valueOf(name, row)] === 1));
    }
    if (state.phase) one('phase', flags((text) => text === state.phase));
    if (state.outcome) one('outcome', flags((text) => text === state.outcome));
    if (state.module)
      one('module', flags((text) => text === state.module || text.startsWith(`${state.module}.`)));
    if (state.dtype) {
      const found = flags((text) => dtypesIn(text).includes(state.dtype));
      made.push(
          (row) => found[valueOf('operands', row)] === 1 || found[valueOf('results', row)] === 1);
    }
    return made;
  }

  function matching() {
    if (state.only >= 0) return state.only < size ? [state.only] : [];
    const all = tests();
    const found = [];
    for (let row = 0; row < size; ++row) {
      if (all.every((fits) => fits(row))) found.push(row);
    }
    return found;
  }

  const collator = new Intl.Collator('en', {numeric: true});  // layer.2 before layer.10

  function sorted(found) {
    if (!state.sort) return found;
    const sign = state.descending ? -1 : 1;
    if (state.sort === 'count')
      return found.sort((a, b) => sign * (countOf(a) - countOf(b)) || a - b);
    // Strings are put in order once, and rows compared by their places in it.
    const used = [...new Set(found.map((row) => valueOf(state.sort, row)))];
    used.sort((a, b) => collator.compare(data.strings[a], data.strings[b]));
    const rank = new Map(used.map((index, at) => [index, at]));
    const key = (row) => rank.get(valueOf(state.sort, row));
    return found.sort((a, b) => sign * (key(a) - key(b)) || a - b);
  }

  // Modules in the order of their first row, so that a sort by count brings the busiest module up.
  function groups(found) {
    const byModule = new Map();
    for (const row of found) {
      const module = valueOf('module', row);
      const members = byModule.get(module);
      if (members)
        members.push(row);
      else
        byModule.set(module, [row]);
    }
    return byModule;
  }

  // --- the table -----------------------------------------------------------------------------
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
  const valuesOf = (name) => {
    const column = columns[name];
    return new Set((column.BYTES_PER_ELEMENT ? [...new Set(column)] : [
                     column.fill
                   ]).map((index) => data.strings[index]));
  };
  if (valuesOf('process').size > 1) {
    kShown.splice(6, 0, {name: 'process', label: 'process', narrow: true});
  }

  const kDtypes = Object.keys(data.classes);
  const dtypePattern = new RegExp(`\\b(${kDtypes.join('|') || '$^'})\\b`);
  const dtypesIn = (text) => text.split(dtypePattern).filter((part) => data.classes[part]);

  // "input Half, weight Float" with the dtypes in the colours that they have in the findings.
  const dtypeParts = (text) =>
      text.split(dtypePattern)
          .map(
              (part) => data.classes[part] ?
                  element('span', {class: data.classes[part], text: part}) :
                  part);

  function cell(row, shown) {
    if (shown.name === 'count') return element('td', {class: 'number', text: number(countOf(row))});
    const text = textOf(shown.name, row);
    const made = element(
        'td', {class: shown.narrow ? 'narrow' : ''}, shown.dtypes ? dtypeParts(text) : [text]);
    const detail = shown.detail ? textOf(shown.detail, row) : '';
    if (detail) made.append(element('div', {class: 'detail', text: shown.prefix + detail}));
    if (shown.name === 'op') {
      const link = element('a', {class: 'anchor', href: `#op:${row + 1}`, text: `#${row + 1}`});
      link.setAttribute('aria-label', `link to op call ${row + 1}`);
      made.append(' ', link);
    }
    return made;
  }

  function rowElement(row) {
    const outcome = textOf('outcome', row);
    const mark = outcome === 'returned' ? '' : outcome;
    const made = element('tr', {class: mark}, kShown.map((shown) => cell(row, shown)));
    if (!state.grouped)
      made.firstChild.append(element('div', {class: 'detail', text: textOf('module', row)}));
    return made;
  }

  function groupElement(module, members) {
    const name = data.strings[module];
    const calls = members.reduce((sum, row) => sum + countOf(row), 0);
    const told = `${counted(members.length, 'signature')}, ${counted(calls, 'call')}`;
    return element(
        'tr', {class: 'group'}, [element('th', {colSpan: kShown.length, scope: 'colgroup'}, [
          name ? element('a', {href: `#module:${encodeURIComponent(name)}`, text: name}) :
                 '(outside of every module)',
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
  const told = element('p', {class: 'quiet'});
  told.setAttribute('aria-live', 'polite');
  const more = element('button', {type: 'button', class: 'more'});
  const scope = element('p', {class: 'scope'});

  function render() {
    const found = sorted(matching());
    const shown = Math.min(found.length, state.limit);
    body.replaceChildren(...bodyRows(found));
    const of = found.length === size ? '' : ` that match, of ${number(size)}`;
    told.textContent = `${number(shown)} of ${counted(found.length, 'signature')}${of}`;
    more.hidden = shown === found.length;
    more.textContent = `Show ${number(Math.min(kRowsAtOnce, found.length - shown))} more`;
    const what = state.only >= 0 ? `Op call ${state.only + 1} alone.` :
        state.module ? `In ${state.module} alone.` :
                       '';
    const all = element('button', {type: 'button', text: 'show all'});
    all.addEventListener('click', () => changed({only: -1, module: ''}));
    scope.replaceChildren(...(what ? [what, ' ', all] : []));
    clear.hidden = !state.words.length && !state.phase && !state.outcome && !state.dtype;
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
      if (head.dataset.name === name)
        head.setAttribute('aria-sort', descending ? 'descending' : 'ascending');
      else
        head.removeAttribute('aria-sort');
    }
  }

  const heads = kShown.map((shown) => {
    const button = element('button', {type: 'button', text: shown.label});
    button.addEventListener('click', () => sortBy(shown.name));
    const head =
        element('th', {scope: 'col', class: shown.name === 'count' ? 'number' : ''}, [button]);
    head.dataset.name = shown.name;
    return head;
  });

  const search = element(
      'input', {type: 'search', placeholder: 'Op, module, dtype, file … all words must match'});
  search.setAttribute('aria-label', 'Search the op calls');
  let waiting = 0;
  search.addEventListener('input', () => {
    clearTimeout(waiting);
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    waiting = setTimeout(() => changed({words, only: -1}), 120);
  });

  function choice(name, values) {
    const select = element('select', {}, [
      element('option', {value: '', text: `any ${name}`}),
      ...[...values].filter(Boolean).sort().map((value) => element('option', {value, text: value})),
    ]);
    select.setAttribute('aria-label', `Op calls of which ${name}`);
    select.addEventListener('change', () => changed({[name]: select.value, only: -1}));
    return select;
  }
  const selects =
      [choice('phase', valuesOf('phase')), choice('outcome', valuesOf('outcome')), choice('dtype', kDtypes)];
  const clear = element('button', {type: 'button', class: 'clear', text: 'clear filter'});
  clear.addEventListener('click', () => {
    clearTimeout(waiting);
    for (const control of [search, ...selects]) control.value = '';
    changed({words: [], phase: '', outcome: '', dtype: ''});
    search.focus();
  });
  const grouping = element('input', {type: 'checkbox', checked: true});
  grouping.addEventListener('change', () => changed({grouped: grouping.checked}));
  more.addEventListener('click', () => {
    state.limit += kRowsAtOnce;
    render();
  });

  const table = element('table', {}, [
    element('caption', {text: 'Op calls'}), element('thead', {}, [element('tr', {}, heads)]), body
  ]);
  const box = element('div', {class: 'scroll', tabIndex: 0}, [table]);
  box.setAttribute('role', 'group');
  box.setAttribute('aria-label', 'Op calls');
  const controls = element('div', {class: 'controls'}, [
    search,
    ...selects,
    clear,
    element('label', {}, [grouping, element('span', {text: 'by module'})]),
  ]);
  const section = document.getElementById('ops');
  section.querySelector('.first-rows').remove();
  section.append(controls, scope, told, box, more);
  render();

  function go(change) {
    changed(change);
    section.scrollIntoView({block: 'start'});
  }
  page.opCalls = {
    show: (id) => go({only: id - 1, module: ''}),
    ofModule: (module) => go({module, only: -1}),
  };
})();

// The dtype map: the module tree as an icicle, each level a column, drawn of #map-data.
'use strict';
(() => {
  const data = page.data('map-data');
  if (!data) return;
  const {element, svg, number, counted} = page;
  const section = document.getElementById('map');
  const kRow = 19;   // a part's height where there is room
  const kLeast = 14;  // and where there is little: a whole line of text
  const kMaxHeight = 640;
  const kMaxLevels = 8;
  const kColumn = 80;   // a level's width at least
  const kLetter = 7.3;  // of the labels' font

  // --- the tree ------------------------------------------------------------------------------
  const classOf = (dtype) => ((data.classes || {})[dtype] || 'dtype other').split(' ').pop();
  const severities = ['error', 'warning', 'note'];

  function addShares(into, shares) {
    for (const [dtype, amount] of Object.entries(shares || {}))
      into[dtype] = (into[dtype] || 0) + amount;
  }

  // A module that only holds one part is drawn as one with it: "attentions.* × 10". `above` has its
  // names, which a link may say.
  function joined(node) {
    node.children = (node.children || []).map(joined);
    node.names = node.names || [node.path.slice(node.path.lastIndexOf('.') + 1)];
    node.above = [];
    const [only] = node.children;
    const says = node.own || node.findings || node.signatures || node.parameters;
    if (node === data.root || node.children.length !== 1 || says || node.names.length > 1)
      return node;
    only.above.unshift(node.names);
    only.name = `${node.name}.${only.name}`;
    return only;
  }

  function prepare(node, parent) {
    node.parent = parent;
    node.own = node.own || {};
    node.shown = parent && parent.shown ? `${parent.shown}.${node.name}` : node.name;
    node.all = Object.fromEntries(data.views.map((view) => [view, {...node.own[view]}]));
    // Amounts are those of all that are alike together; norms and islands are those of one of them.
    const below = {
      findings: [...(node.findings || [])],
      casts: node.casts || 0,
      before: node.before || 0,
      norms: node.norm ? 1 : 0,
      islands: node.island ? 1 : 0,
      signatures: node.signatures || 0,
      levels: 0
    };
    for (const child of node.children) {
      prepare(child, node);
      for (const view of data.views) addShares(node.all[view], child.all[view]);
      for (const what of ['casts', 'before', 'norms', 'islands', 'signatures'])
        below[what] += child.below[what];
      below.findings.push(...child.below.findings);
      below.levels = Math.max(below.levels, child.below.levels + 1);
    }
    below.norms *= node.names.length;
    below.islands *= node.names.length;
    node.below = below;
  }
  data.root.names = [''];
  data.root.path = data.root.name = '';
  const root = joined(data.root);
  prepare(root, null);

  const total = (shares) => Object.values(shares).reduce((sum, amount) => sum + amount, 0);
  // Of a view whose amounts are told: its rows are as long as their share of the module that is shown.
  const amounts = {
    bytes: (amount) => scaled(amount, ['bytes', 'kB', 'MB', 'GB', 'TB'], 1000),
    time: (amount) => scaled(amount / 1000, ['µs', 'ms', 's'], 1000),
  };
  function scaled(amount, units, step) {
    let at = 0;
    for (; amount >= step && at < units.length - 1; ++at) amount /= step;
    return `${amount >= 100 || at === 0 ? Math.round(amount) : amount.toPrecision(2)} ${units[at]}`;
  }
  data.views = data.views.filter((view) => !amounts[view] || total(root.all[view]));
  function amountText(node, view) {
    const amount = total(node.all[view]);
    const percent = 100 * amount / (total(state.zoom.all[view]) || 1);
    return `${amounts[view](amount)} · ${percent < 1 ? '< 1' : Math.round(percent)} %`;
  }

  const sorted = (shares) => Object.entries(shares).sort((a, b) => b[1] - a[1]);
  function sharesText(shares, all = total(shares)) {
    const parts = sorted(shares);
    if (!parts.length) return 'none';
    if (parts.length === 1 && parts[0][1] === all) return parts[0][0];
    return parts
        .map(([dtype, amount]) => {
          const percent = 100 * amount / all;
          return `${dtype} ${percent < 1 ? '< 1' : Math.round(percent)} %`;
        })
        .join(', ');
  }
  const worst = (findings) => severities.find(
      (severity) => findings.some((index) => data.findings[index].severity === severity));
  const label = (node) => (node === root ? 'all models' : node.name) +
      (node.names.length > 1 ? ` × ${node.names.length}` : '');

  // --- which part is shown -------------------------------------------------------------------
  const state = {view: data.views[0], zoom: root, selected: root};
  if (!total(root.all[state.view])) state.view = data.views[1];

  // How many rows it takes down to that level.
  function rows(node, levels) {
    if (levels === 0 || !node.children.length) return 1;
    return node.children.reduce((sum, child) => sum + rows(child, levels - 1), 0);
  }
  function levelsThatFit(node, width) {
    const most = Math.min(kMaxLevels, node.below.levels, Math.max(2, Math.floor(width / kColumn)));
    let levels = Math.min(1, node.below.levels);
    while (levels < most && rows(node, levels + 1) * kLeast <= kMaxHeight) ++levels;
    return levels;
  }

  // --- the picture ---------------------------------------------------------------------------
  const picture =
      svg('svg', {class: 'icicle', role: 'tree', 'aria-label': 'Modules, coloured by dtype'});
  const crumbs = element('p', {class: 'crumbs'});
  const aside = element('aside', {class: 'module-panel'});
  aside.setAttribute('aria-live', 'polite');
  aside.setAttribute('aria-label', 'The chosen module');

  const cut = (text, width) => {
    const letters = Math.floor(width / kLetter);
    return text.length <= letters ? text : letters < 3 ? '' : text.slice(0, letters - 1) + '…';
  };

  function marksOf(node, isLast) {
    const findings = isLast ? node.below.findings : node.findings || [];
    const marks = [];
    if (findings.length) marks.push({sign: '●', kind: worst(findings)});
    if (isLast ? node.below.norms : node.norm) marks.push({sign: '◆', kind: 'norm'});
    if (isLast ? node.below.casts : node.casts) marks.push({sign: '⇄', kind: 'casts'});
    return marks;
  }

  // The shares of one part side by side; a small one is still to be seen.
  function bands(shares, x, y, width, height, made) {
    const parts = sorted(shares);
    const all = total(shares);
    let left = x;
    for (const [at, [dtype, amount]] of parts.entries()) {
      const isLast = at === parts.length - 1;
      const rest = x + width - left - 8 * (parts.length - 1 - at);
      const wide = isLast ? x + width - left : Math.min(rest, Math.max(8, width * amount / all));
      made.push(svg(
          'rect', {class: `fill ${classOf(dtype)}`, x: left, y, width: Math.max(0, wide), height}));
      left += wide;
    }
    if (!parts.length) made.push(svg('rect', {class: 'fill none', x, y, width, height}));
  }

  let barWidth = 0;  // of a part that is all of what is shown: as wide as the narrowest column
  function drawNode(node, x, y, width, height, isLast) {
    const made = [];
    const shares = node.all[state.view];
    const isInner = !isLast;
    if (isInner) {
      made.push(svg('rect', {class: 'inner', x, y, width, height}));
      let top = y;
      for (const [dtype, amount] of sorted(shares)) {
        const high = height * amount / total(shares);
        made.push(
            svg('rect', {class: `fill ${classOf(dtype)}`, x, y: top, width: 6, height: high}));
        top += high;
      }
    } else if (amounts[state.view]) {
      const share = total(shares) / (total(state.zoom.all[state.view]) || 1);
      bands({}, x, y, width, height, made);
      if (share) bands(shares, x, y, Math.max(2, barWidth * share), height, made);
    } else {
      bands(shares, x, y, width, height, made);
    }
    const isIsland = total(shares) > 0 && (isLast ? node.below.islands : node.island);
    made.push(svg('rect', {
      class: isIsland ? 'edge island' : 'edge',
      x: x + 0.5,
      y: y + 0.5,
      width: Math.max(0, width - 1),
      height: Math.max(0, height - 1)
    }));
    if (height >= kLeast) {
      const marks = marksOf(node, isLast);
      const left = x + (isInner ? 11 : 6);
      const more = isLast && node.children.length ? ' ▸' : '';
      const isTold = isLast && width > 200 && sorted(shares).length > 0;
      const told = !isTold ? '' :
          amounts[state.view] ? amountText(node, state.view) :
          sorted(shares).map(([dtype]) => dtype).join(' + ');
      let room = width - (left - x) - 4 - marks.length * 15;
      const name = cut(label(node) + more, room);
      const hasAmount = isInner && amounts[state.view] && height > 2 * kLeast && total(shares) > 0;
      const middle = (isInner ? y + Math.min(height / 2, 300) : y + height / 2) -
          (hasAmount ? kLeast / 2 : 0);
      made.push(svg('text', {class: 'name', x: left, y: middle, text: name}));
      if (hasAmount) {
        const amount = cut(amountText(node, state.view), width - (left - x) - 4);
        made.push(svg('text', {class: 'name amount', x: left, y: middle + kLeast, text: amount}));
      }
      room -= name.length * kLetter + 12;
      if (told && told.length * kLetter < room) {
        made.push(svg(
            'text',
            {class: 'name told', x: x + width - 6 - marks.length * 15, y: middle, text: told}));
      }
      marks.forEach((mark, at) => made.push(svg('text', {
        class: `mark ${mark.kind}`,
        x: x + width - 10 - 15 * (marks.length - 1 - at),
        y: middle,
        text: mark.sign
      })));
    }
    const words = [
      node.shown + (node.names.length > 1 ? `, ${node.names.length} alike` : ''),
      `${state.view} ${sharesText(shares)}`
    ];
    if (amounts[state.view]) words.push(amountText(node, state.view));
    if (node.below.findings.length) words.push(counted(node.below.findings.length, 'finding'));
    if (node.below.norms) words.push('norm in low precision');
    if (node.below.islands) words.push('island');
    const group =
        svg('g', {
          class: node === state.selected ? 'node selected' : 'node',
          role: 'treeitem',
          tabindex: node === state.selected ? 0 : -1,
          'aria-label': words.join('; '),
          'aria-selected': node === state.selected
        },
            [svg('title', {text: words.join('\n')}), ...made]);
    group.addEventListener('click', () => choose(node));
    drawn.set(node, group);
    picture.append(group);
  }

  let drawn = new Map();
  function draw() {
    picture.replaceChildren();
    drawn = new Map();
    const top = state.zoom;
    const width = Math.max(320, section.clientWidth - (section.clientWidth > 900 ? 356 : 14));
    const levels = levelsThatFit(top, width);
    const count = rows(top, levels);
    // One level that does not fit is as high as it has to be.
    const height = Math.max(60, count * kLeast, Math.min(kMaxHeight, count * kRow));
    const row = height / count;
    picture.setAttribute('viewBox', `0 0 ${width} ${height}`);
    picture.setAttribute('width', width);
    picture.setAttribute('height', height);
    const first =
        top === root ? 0 : Math.min(120, width / (levels + 1));  // the root itself has no column
    const column = levels ? (width - first) / levels : width;
    barWidth = column;
    const place = (node, level, y) => {
      const isLast = level === levels || !node.children.length;
      const x = level === 0 ? 0 : first + column * (level - 1);
      const high = rows(node, levels - level) * row;
      const wide = isLast ? width - x : level === 0 ? first : column;
      if (wide > 0 && node !== root) drawNode(node, x, y, wide, high, isLast);
      if (isLast) return;
      let below = y;
      for (const child of node.children) {
        place(child, level + 1, below);
        below += rows(child, levels - level - 1) * row;
      }
    };
    place(top, 0, 0);
    if (!drawn.has(state.selected)) {
      const any = drawn.values().next().value;
      if (any) any.setAttribute('tabindex', 0);
    }
    drawCrumbs();
  }

  function drawCrumbs() {
    const way = [];
    for (let node = state.zoom; node; node = node.parent) way.unshift(node);
    crumbs.replaceChildren(...way.flatMap((node, at) => {
      const button = element('button', {type: 'button', text: label(node)});
      button.addEventListener('click', () => choose(node));
      button.disabled = node === state.zoom;
      return at ? [' › ', button] : [button];
    }));
  }

  // --- what is told of a module --------------------------------------------------------------
  const chip = (dtype, text) =>
      element('span', {class: `dtype ${classOf(dtype)}`, text: text || dtype});

  function shareRows(node) {
    return element('dl', {class: 'shares'}, data.views.flatMap((view) => {
      const shares = node.all[view];
      const bar = svg('svg', {class: 'stack', width: 260, height: 8, 'aria-hidden': 'true'});
      const made = [];
      bands(shares, 0, 0, 260, 8, made);
      bar.append(...made);
      const all = total(shares);
      const chips = sorted(shares).map(
          ([dtype, amount]) => chip(
              dtype,
              Object.keys(shares).length > 1 ? sharesText({[dtype]: amount}, all) : dtype));
      return [
        element('dt', {text: amounts[view] ? `${view} ${amountText(node, view)}` : view}),
        element(
            'dd', {},
            chips.length ? [bar, ...chips.flatMap((one) => [one, ' '])] :
                           [element('span', {class: 'quiet', text: 'none seen'})])
      ];
    }));
  }

  function parameterRows(node) {
    const kMost = 40;
    const rowsOf =
        (node.parameters || [])
            .slice(0, kMost)
            .map(([name, dtype, shape, from]) => element('li', {}, [
                   element('code', {text: name}),
                   ' ',
                   chip(dtype),
                   ' ',
                   element('span', {class: 'shape', text: shape}),
                   ...(from ? [element('div', {class: 'quiet', text: `from ${from}`})] : []),
                 ]));
    if ((node.parameters || []).length > kMost)
      rowsOf.push(
          element('li', {class: 'quiet', text: `and ${node.parameters.length - kMost} more`}));
    return element('ul', {class: 'parameters'}, rowsOf);
  }

  function told() {
    const node = state.selected;
    const parts = [];
    parts.push(element('h3', {text: node === root ? 'All models' : node.shown}));
    const about = [];
    if (node.class) about.push(node.class);
    if (node.names.length > 1)
      about.push(`${node.names.length} alike: ${
          node.names.length > 12 ? `${node.names.slice(0, 12).join(', ')} …` :
                                   node.names.join(', ')}`);
    if (about.length) parts.push(element('p', {class: 'quiet', text: about.join(' · ')}));
    parts.push(shareRows(node), element('p', {class: 'quiet', text: 'of the modules that ran'}));
    const list = [];
    const {below} = node;
    if (below.islands)
      list.push(`◌ ${counted(below.islands, 'part')} in another dtype than most of the model`);
    if (below.norms) list.push(`◆ ${counted(below.norms, 'norm')} ran in low precision`);
    if (below.casts) list.push(`⇄ ${counted(Math.round(below.casts * 10) / 10, 'cast')} a step`);
    if (below.before) list.push(`${counted(below.before, 'cast')} before the first step`);
    if (list.length)
      parts.push(element('ul', {class: 'marks'}, list.map((text) => element('li', {text}))));
    if (below.findings.length) {
      const kMost = 8;
      parts.push(element('h4', {text: counted(below.findings.length, 'finding')}));
      parts.push(element('ul', {class: 'found'}, below.findings.slice(0, kMost).map((index) => {
        const finding = data.findings[index];
        return element(
            'li', {class: finding.severity},
            [element('a', {href: `#${finding.anchor}`, text: finding.message})]);
      })));
      if (below.findings.length > kMost)
        parts.push(
            element('p', {class: 'quiet', text: `and ${below.findings.length - kMost} more`}));
    }
    if (node.parameters) {
      parts.push(
          element(
              'h4',
              {text: node.names.length > 1 ? `Parameters of ${node.names[0]}` : 'Parameters'}),
          parameterRows(node));
    }
    if (below.signatures && node !== root) {
      const of = node.names.length > 1 ? ` of ${node.names[0]}` : '';
      parts.push(element('p', {}, [
        element('a', {href: `#ops:${encodeURIComponent(node.path)}`, text: `Its op calls${of}`})
      ]));
    }
    aside.replaceChildren(...parts);
  }

  // --- choosing ------------------------------------------------------------------------------
  function choose(node, keepZoom = false) {
    state.selected = node;
    if (!keepZoom) state.zoom = node.children.length ? node : node.parent || root;
    draw();
    told();
  }

  function find(path) {
    const parts = path.split('.');
    let node = root;
    for (let at = 0; at < parts.length;) {
      const fits = (child) => [...child.above, child.names].every(
          (names, i) => at + i >= parts.length || names.includes(parts[at + i]));
      const next = node.children.find(fits);
      if (!next) return node;
      node = next;
      at += next.above.length + 1;
    }
    return node;
  }

  const towards = {
    ArrowRight: (node) => node.children[0],
    ArrowLeft: (node) => node.parent,
    ArrowDown: (node) =>
        node.parent && node.parent.children[node.parent.children.indexOf(node) + 1],
    ArrowUp: (node) => node.parent && node.parent.children[node.parent.children.indexOf(node) - 1],
  };
  picture.addEventListener('keydown', (event) => {
    const now = [...drawn].find(([, group]) => group === document.activeElement);
    if (!now) return;
    const [node] = now;
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      choose(node);
    } else if (towards[event.key]) {
      event.preventDefault();
      const next = towards[event.key](node);
      if (!next) return;
      choose(next, drawn.has(next));
    }
    const group = drawn.get(state.selected) || drawn.values().next().value;
    if (group) group.focus();
  });

  // --- controls ------------------------------------------------------------------------------
  const views = element('div', {class: 'segments', role: 'group'}, data.views.map((view) => {
    const button = element('button', {type: 'button', text: view});
    button.addEventListener('click', () => {
      state.view = view;
      press();
      draw();
    });
    return button;
  }));
  views.setAttribute('aria-label', 'Coloured by the dtype of');
  const press = () => [...views.children].forEach(
      (button, at) => button.setAttribute('aria-pressed', String(data.views[at] === state.view)));
  press();

  const dtypes =
      new Set(data.views.flatMap((view) => sorted(root.all[view]).map(([dtype]) => dtype)));
  const legend = element('p', {class: 'legend'}, [
    ...[...dtypes].map((dtype) => element('span', {}, [
      svg('svg', {width: 12, height: 12, 'aria-hidden': 'true'}, [svg('rect', {class: `fill ${classOf(dtype)}`, width: 12, height: 12})]), ` ${dtype}`])),
    element('span', {}, [svg('svg', {width: 12, height: 12, 'aria-hidden': 'true'}, [svg('rect', {class: 'edge island', x: 1, y: 1, width: 10, height: 10})]), ' island']),
    element('span', {text: '◆ norm in low precision'}),
    element('span', {text: '⇄ casts'}),
    element('span', {text: '● finding'}),
  ]);

  section.querySelector('.map-table')
      .before(
          element('div', {class: 'map-head'}, [views, legend]), crumbs,
          element(
              'div', {class: 'map-body'},
              [element('div', {class: 'icicle-box'}, [picture]), aside]));
  const lone = root.children.length === 1 ? root.children[0] : root;
  state.zoom = state.selected = lone;
  draw();
  told();
  let waiting = 0;
  addEventListener('resize', () => {
    clearTimeout(waiting);
    waiting = setTimeout(draw, 100);
  });

  page.map = {
    select(path) {
      choose(find(path));
      section.scrollIntoView({block: 'start'});
    },
  };
})();

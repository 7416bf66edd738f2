// What the scripts of the page share. Whatever the data holds becomes text nodes and values of
// attributes; no string is ever read as HTML.
'use strict';
const page = (() => {
  function fill(made, properties, children) {
    for (const [name, value] of Object.entries(properties)) {
      if (name === 'text')
        made.textContent = value;
      else if (name === 'class')
        made.setAttribute('class', value);
      else if (name === 'on')
        for (const [event, what] of Object.entries(value)) made.addEventListener(event, what);
      else if (name in made && !made.ownerSVGElement && name !== 'width')
        made[name] = value;
      else
        made.setAttribute(name, value);
    }
    made.append(...children);
    return made;
  }
  const element = (tag, properties = {}, children = []) =>
      fill(document.createElement(tag), properties, children);
  const svg = (tag, attributes = {}, children = []) => {
    const made = document.createElementNS('http://www.w3.org/2000/svg', tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name === 'text')
        made.textContent = value;
      else
        made.setAttribute(name, value);
    }
    made.append(...children);
    return made;
  };

  const number = (value) => value.toLocaleString('en-US');
  const counted = (value, what) => `${number(value)} ${what}${value === 1 ? '' : 's'}`;
  const data = (id) => {
    const block = document.getElementById(id);
    return block && JSON.parse(block.textContent);
  };

  // Light, dark, or as the system has it; kept where the browser lets a file keep something.
  function remembered(theme) {
    try {
      if (theme === undefined) return localStorage.getItem('dtypecheck-theme') || '';
      localStorage.setItem('dtypecheck-theme', theme);
    } catch {
      // A page from a file may have no storage.
    }
    return '';
  }
  const kThemes = ['', 'light', 'dark'];
  let theme = remembered();
  const toggle = element('button', {type: 'button', class: 'theme'});
  function show() {
    if (theme)
      document.documentElement.dataset.theme = theme;
    else
      delete document.documentElement.dataset.theme;
    toggle.textContent = {'': '◐ auto', light: '○ light', dark: '● dark'}[theme] || '◐ auto';
    toggle.setAttribute('aria-label', `Colours: ${theme || 'as the system has them'}; change`);
  }
  toggle.addEventListener('click', () => {
    theme = kThemes[(kThemes.indexOf(theme) + 1) % kThemes.length];
    remembered(theme);
    show();
  });
  show();
  document.querySelector('nav').append(toggle);

  // The clipboard is asked for first; a page from a file may not have it.
  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const area = element('textarea', {value: text, class: 'offscreen'});
      document.body.append(area);
      area.select();
      const done = document.execCommand('copy');
      area.remove();
      return done;
    }
  }
  for (const code of document.querySelectorAll('.copied')) {
    const button = element('button', {type: 'button', class: 'copy', text: 'copy'});
    button.setAttribute('aria-label', 'Copy the cure');
    button.addEventListener('click', async () => {
      const done = await copy(code.textContent);
      button.textContent = done ? 'copied' : 'select it by hand';
      setTimeout(() => {
        button.textContent = 'copy';
      }, 2000);
    });
    (code.tagName === 'PRE' ? code : code.parentElement).before(button);
  }

  // Opens what a part of the page is folded away in, and brings it into view.
  function reveal(part) {
    for (let up = part; up; up = up.parentElement) {
      if (up.tagName === 'DETAILS') up.open = true;
      up.classList.remove('filtered');
    }
    part.scrollIntoView({block: 'start'});
    part.classList.add('target');
    setTimeout(() => part.classList.remove('target'), 2500);
  }

  return {element, svg, number, counted, data, reveal};
})();

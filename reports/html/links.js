// Where a link leads: #f-… a finding, #module:PATH in the map, #op:NUMBER in the table of op calls,
// #filter:rule=…&dtype=… findings that are asked for.
'use strict';
(() => {
  function go() {
    let name = location.hash.slice(1);
    if (name.startsWith('filter:') && page.filters) return page.filters.show(name.slice(7));
    try {
      name = decodeURIComponent(name);
    } catch {
      return;  // no link of ours
    }
    if (name.startsWith('module:') && page.map) return page.map.select(name.slice(7));
    if (name.startsWith('op:') && page.opCalls) return page.opCalls.show(Number(name.slice(3)));
    if (name.startsWith('ops:') && page.opCalls) return page.opCalls.ofModule(name.slice(4));
    const part = name && document.getElementById(name);
    if (part) page.reveal(part);
  }
  addEventListener('hashchange', go);
  // A second click on the same link changes no hash, and has to lead there all the same.
  document.addEventListener('click', (event) => {
    const link = event.target.closest && event.target.closest('a[href^="#"]');
    if (link && link.getAttribute('href') === location.hash) go();
  });
  if (location.hash) go();
})();

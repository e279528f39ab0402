// The icons: lines on a field of 20 by 20.
const icon = (body) =>
  `<svg viewBox="0 0 20 20" width="20" height="20" fill="none" stroke="currentColor" stroke-width="1.6" ` +
  `stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">${body}</svg>`;

const solid = (body) => icon(`<g fill="currentColor">${body}</g>`);

export const ICONS = {
  drag: icon(
    '<path d="M6.5 10.5V5.2a1.2 1.2 0 0 1 2.4 0V9m0-.5V3.8a1.2 1.2 0 0 1 2.4 0V9m0-3.6a1.2 1.2 0 0 1 2.4 0v5.4' +
      'c0 4-1.6 6.4-4.5 6.4-2.3 0-3.5-1.2-4.4-3l-1.5-3a1.2 1.2 0 0 1 2.1-1.1l1.1 1.6"/>',
  ),
  pin: icon('<circle cx="10" cy="6.5" r="3.5"/><path d="M10 10v7.5"/>'),
  throw: icon('<path d="M3 16C5 9 9 6 16 5M11.5 3.5 16.5 5l-2.5 4.5"/>'),
  poke: icon('<circle cx="10" cy="10" r="6.5"/><path d="M7 7.8a4 4 0 0 1 2.6-1.8"/>'),
  cut: icon('<circle cx="5" cy="5.5" r="2.2"/><circle cx="5" cy="14.5" r="2.2"/><path d="m6.8 6.8 10 7.2M6.8 13.2l10-7.2"/>'),
  select: icon('<path d="m4.5 3 11 6.2-4.8 1.4-2.3 4.7z"/>'),
  wireframe: icon('<path d="M10 2.5 17 6.5v7l-7 4-7-4v-7zM3 6.5l7 4 7-4M10 10.5v7"/>'),
  particles: solid(
    '<circle cx="5" cy="5" r=".9"/><circle cx="10" cy="5" r=".9"/><circle cx="15" cy="5" r=".9"/><circle cx="5" cy="10" r=".9"/>' +
      '<circle cx="10" cy="10" r=".9"/><circle cx="15" cy="10" r=".9"/><circle cx="5" cy="15" r=".9"/><circle cx="10" cy="15" r=".9"/>' +
      '<circle cx="15" cy="15" r=".9"/>',
  ),
  slice: icon('<path d="M3 12.5 10 17l7-4.5M3 12.5l7-4 7 4M6.5 8 10 3l3.5 5"/>'),
  clusters: icon('<circle cx="7" cy="7" r="4"/><circle cx="13" cy="8" r="4"/><circle cx="9.5" cy="13" r="4"/>'),
  heat: icon('<path d="M8 11.5V4.5a2 2 0 0 1 4 0v7a3.5 3.5 0 1 1-4 0z"/><path d="M10 8v6"/>'),
  contacts: icon('<path d="M3 16.5h14M10 16V5M6.5 8 10 4l3.5 4"/>'),
  frame: icon('<path d="M3 7V3h4M13 3h4v4M17 13v4h-4M7 17H3v-4"/><circle cx="10" cy="10" r="2.5"/>'),
  help: icon('<circle cx="10" cy="10" r="7"/><path d="M7.8 8a2.2 2.2 0 1 1 3.2 2c-.7.4-1 .8-1 1.5M10 14v.1"/>'),
  play: solid('<path d="M6.5 4v12l9.5-6z"/>'),
  pause: solid('<path d="M6 4h2.6v12H6zM11.4 4H14v12h-2.6z"/>'),
  step: solid('<path d="M5 4.5v11l7.5-5.5zM14 4.5h1v11h-1z"/>'),
  reset: icon('<path d="M4.5 10a5.5 5.5 0 1 0 1.8-4.1L4 8M4 3.8V8h4.2"/>'),
  fold: icon('<path d="m6 8 4 4 4-4"/>'),
  chart: icon('<path d="M3 16.5h14M5 13l3.5-4 3 2.5L16 5.5"/>'),
  close: icon('<path d="m5 5 10 10M15 5 5 15"/>'),
};

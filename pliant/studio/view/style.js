// The looks of the view's panels, for light and dark; put into the page once.
const LIGHT = `
  --pv-sky: linear-gradient(#dfe7f1 0%, #eef2f6 45%, #f1f3f6 60%, #e6e9ee 100%);
  --pv-panel: rgba(255, 255, 255, .82); --pv-solid: #fff; --pv-ink: #1c2430; --pv-quiet: #5d6878; --pv-edge: rgba(28, 36, 48, .13);
  --pv-hover: rgba(28, 36, 48, .07); --pv-accent: #2563eb; --pv-on: rgba(37, 99, 235, .13); --pv-track: rgba(28, 36, 48, .18);
  --pv-amber: #b45309; --pv-red: #dc2626; --pv-kinetic: #ea580c; --pv-elastic: #2563eb; --pv-potential: #0d9488;`;
const DARK = `
  --pv-sky: linear-gradient(#161a21 0%, #1d222a 45%, #20252d 60%, #191d24 100%);
  --pv-panel: rgba(32, 37, 46, .82); --pv-solid: #20252e; --pv-ink: #e8ecf3; --pv-quiet: #9aa6b8; --pv-edge: rgba(232, 236, 243, .13);
  --pv-hover: rgba(232, 236, 243, .08); --pv-accent: #7aa7ff; --pv-on: rgba(122, 167, 255, .2); --pv-track: rgba(232, 236, 243, .22);
  --pv-amber: #fbbf24; --pv-red: #f87171; --pv-kinetic: #fb923c; --pv-elastic: #7aa7ff; --pv-potential: #2dd4bf;`;

const STYLE = `
.pliant-view { ${LIGHT}
  position: relative; width: 100%; height: 100%; min-height: 240px; overflow: hidden; outline: none;
  background: var(--pv-sky); color: var(--pv-ink); font: 13px/1.4 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
  font-variant-numeric: tabular-nums; -webkit-user-select: none; user-select: none; container-type: inline-size; }
.pliant-view[data-theme="dark"] { ${DARK} color-scheme: dark; }
.pliant-view *, .pliant-view *::before { box-sizing: border-box; }
.pliant-view [hidden] { display: none !important; }
.pliant-view > canvas { position: absolute; inset: 0; width: 100%; height: 100%; display: block; touch-action: none; }
.pliant-view .pv-stroke { position: absolute; inset: 0; width: 100%; height: 100%; pointer-events: none; }
.pliant-view .pv-stroke line { stroke: var(--pv-red); stroke-width: 2; stroke-dasharray: 7 5; stroke-linecap: round; }
.pliant-view .pv-panel { background: var(--pv-panel); border: 1px solid var(--pv-edge); border-radius: 12px;
  -webkit-backdrop-filter: blur(10px); backdrop-filter: blur(10px); box-shadow: 0 2px 14px rgba(15, 23, 42, .07); }
.pliant-view .pv-quiet { color: var(--pv-quiet); }
.pliant-view button { font: inherit; color: inherit; background: none; border: 0; border-radius: 8px; cursor: pointer; margin: 0; }
.pliant-view .pv-button { display: grid; place-items: center; flex: none; width: 34px; height: 34px; padding: 0; }
.pliant-view .pv-button svg { display: block; }
.pliant-view button:hover { background: var(--pv-hover); }
.pliant-view button[aria-pressed="true"] { background: var(--pv-on); color: var(--pv-accent); }
.pliant-view :is(button, input, select):focus-visible { outline: 2px solid var(--pv-accent); outline-offset: 1px; }
.pliant-view select { -webkit-appearance: none; appearance: none; font: inherit; color: inherit; border: 0; border-radius: 7px; padding: 4px 22px 4px 8px; cursor: pointer;
  background: linear-gradient(45deg, transparent 50%, currentColor 50%) right 12px center / 4px 4px no-repeat,
    linear-gradient(-45deg, transparent 50%, currentColor 50%) right 8px center / 4px 4px no-repeat, var(--pv-hover); }
.pliant-view select option { color: #1c2430; background: #fff; }
.pliant-view input[type="range"] { -webkit-appearance: none; appearance: none; height: 22px; margin: 0; background: none; cursor: pointer; min-width: 0; }
.pliant-view input[type="range"]::-webkit-slider-runnable-track { height: 4px; border-radius: 2px; background: var(--pv-track); }
.pliant-view input[type="range"]::-moz-range-track { height: 4px; border-radius: 2px; background: var(--pv-track); }
.pliant-view input[type="range"]::-webkit-slider-thumb { -webkit-appearance: none; width: 14px; height: 14px; margin-top: -5px; border: 0; border-radius: 50%; background: var(--pv-accent); }
.pliant-view input[type="range"]::-moz-range-thumb { width: 14px; height: 14px; border: 0; border-radius: 50%; background: var(--pv-accent); }
.pliant-view .pv-group { display: flex; align-items: center; gap: 2px; flex: none; }
.pliant-view .pv-rule { width: 1px; height: 20px; margin: 0 5px; background: var(--pv-edge); flex: none; }
.pliant-view .pv-top { position: absolute; top: 12px; left: 210px; right: 12px; display: flex; flex-direction: column; align-items: center; gap: 8px; pointer-events: none; }
.pliant-view .pv-toolbar { display: flex; align-items: center; padding: 4px; max-width: 100%; overflow-x: auto; scrollbar-width: none; pointer-events: auto; }
.pliant-view .pv-options { display: flex; flex-wrap: wrap; justify-content: center; gap: 6px; }
.pliant-view .pv-option { display: flex; align-items: center; gap: 8px; padding: 3px 12px; pointer-events: auto; border-radius: 10px; background: var(--pv-panel);
  border: 1px solid var(--pv-edge); color: var(--pv-quiet); min-height: 32px; }
.pliant-view .pv-option input { width: 130px; }
.pliant-view .pv-reading { min-width: 3.6em; text-align: right; color: var(--pv-ink); }
.pliant-view .pv-hud { position: absolute; top: 12px; left: 12px; width: 190px; }
.pliant-view .pv-hud header { display: flex; align-items: center; justify-content: space-between; padding: 4px 4px 4px 14px; min-height: 42px; }
.pliant-view .pv-hud header .pv-button { width: 30px; }
.pliant-view .pv-hud header .pv-button svg { transform: rotate(180deg); transition: transform .15s; }
.pliant-view .pv-folded header .pv-button svg { transform: none; }
.pliant-view .pv-factor { font-weight: 600; white-space: nowrap; }
.pliant-view .pv-slow { color: var(--pv-amber); }
.pliant-view .pv-hud-body { padding: 0 14px 12px; max-height: 60vh; overflow-y: auto; }
.pliant-view .pv-rows { display: grid; grid-template-columns: auto 1fr; gap: 1px 10px; margin: 0 0 6px; }
.pliant-view .pv-rows dt { color: var(--pv-quiet); } .pliant-view .pv-rows dd { margin: 0; white-space: nowrap; text-align: right; }
.pliant-view .pv-fold { display: block; width: 100%; text-align: left; padding: 4px 0; color: var(--pv-quiet); border-radius: 4px; }
.pliant-view .pv-fold::before { content: "›"; display: inline-block; width: 1em; transition: transform .15s; }
.pliant-view .pv-fold[aria-expanded="true"]::before { transform: rotate(90deg); }
.pliant-view .pv-stage { position: relative; display: flex; justify-content: space-between; gap: 8px; padding: 1px 5px; font-size: 12px; margin-bottom: 2px; }
.pliant-view .pv-stage span:not(.pv-bar) { position: relative; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.pliant-view .pv-stage b { position: relative; font-weight: 500; white-space: nowrap; }
.pliant-view .pv-bar { position: absolute; left: 0; top: 0; bottom: 0; border-radius: 4px; background: var(--pv-on); }
.pliant-view .pv-plot { display: block; width: 100%; height: 64px; margin: 2px 0 4px; }
.pliant-view .pv-key { display: grid; grid-template-columns: 1fr; font-size: 12px; color: var(--pv-quiet); }
.pliant-view .pv-key b { float: right; font-weight: 500; color: var(--pv-ink); }
.pliant-view .pv-key span::before { content: ""; display: inline-block; width: 10px; height: 3px; border-radius: 2px; margin-right: 7px; vertical-align: middle; background: var(--line); }
.pliant-view .pv-transport { position: absolute; bottom: 12px; left: 50%; transform: translateX(-50%); width: min(760px, calc(100% - 24px)); display: flex; align-items: center; gap: 10px; padding: 4px 12px 4px 4px; }
.pliant-view .pv-timeline { display: flex; align-items: center; gap: 10px; flex: 1; min-width: 0; }
.pliant-view .pv-line { flex: 1; width: 60px; }
.pliant-view .pv-line::-webkit-slider-runnable-track { background: linear-gradient(var(--pv-accent), var(--pv-accent)) 0 / var(--part, 0%) 100% no-repeat, var(--pv-track) !important; }
.pliant-view .pv-line::-moz-range-progress { height: 4px; border-radius: 2px; background: var(--pv-accent); }
.pliant-view .pv-time { min-width: 4.4em; text-align: right; white-space: nowrap; }
.pliant-view .pv-text { padding: 4px 10px; white-space: nowrap; color: var(--pv-quiet); background: var(--pv-hover); }
.pliant-view .pv-live[aria-pressed="true"] { color: var(--pv-accent); }
.pliant-view .pv-record { width: 10px; height: 10px; border-radius: 50%; background: var(--pv-red); animation: pv-pulse 1.6s infinite; flex: none; }
@keyframes pv-pulse { 50% { opacity: .35; } }
.pliant-view .pv-legend { position: absolute; right: 12px; top: 45%; width: 190px; padding: 8px 12px; }
.pliant-view .pv-legend b { font-weight: 600; }
.pliant-view .pv-ramp { height: 10px; border-radius: 5px; margin: 5px 0 3px; }
.pliant-view .pv-ends { display: flex; justify-content: space-between; color: var(--pv-quiet); }
.pliant-view .pv-captions { position: absolute; inset: 0; pointer-events: none; }
.pliant-view .pv-cell { position: absolute; display: flex; justify-content: center; align-items: end; padding-bottom: 8px; box-shadow: inset -1px -1px 0 var(--pv-edge); }
.pliant-view .pv-caption { display: flex; flex-wrap: wrap; gap: 0 12px; justify-content: center; padding: 3px 12px; border-radius: 9px; background: var(--pv-panel); color: var(--pv-quiet); max-width: calc(100% - 16px); }
.pliant-view .pv-caption b { color: var(--pv-ink); }
.pliant-view .pv-toasts { position: absolute; left: 50%; transform: translateX(-50%); bottom: 68px; display: flex; flex-direction: column; gap: 6px; width: min(440px, calc(100% - 24px)); align-items: center; pointer-events: none; }
.pliant-view .pv-toast { position: relative; overflow: hidden; display: flex; align-items: center; gap: 8px; padding: 5px 6px 5px 14px; min-height: 36px; border-radius: 10px; background: var(--pv-panel); border: 1px solid var(--pv-edge); border-left: 3px solid var(--pv-accent);
  box-shadow: 0 4px 18px rgba(15, 23, 42, .12); pointer-events: auto; -webkit-user-select: text; user-select: text; -webkit-backdrop-filter: blur(10px); backdrop-filter: blur(10px); animation: pv-in .18s; }
@keyframes pv-in { from { opacity: 0; transform: translateY(6px); } }
.pliant-view .pv-warning { border-left-color: var(--pv-amber); } .pliant-view .pv-error { border-left-color: var(--pv-red); }
.pliant-view .pv-toast .pv-button { width: 26px; height: 26px; color: var(--pv-quiet); }
.pliant-view .pv-progress { position: absolute; left: 0; bottom: 0; height: 3px; width: 0; background: var(--pv-accent); transition: width .15s; }
.pliant-view .pv-badge { position: absolute; left: 50%; top: 50%; transform: translate(-50%, -50%); padding: 6px 16px; color: var(--pv-quiet); border-radius: 999px; }
.pliant-view .pv-badge.pv-has-world { top: auto; bottom: 72px; transform: translateX(-50%); }
.pliant-view .pv-hint { position: absolute; padding: 1px 8px; border-radius: 7px; background: var(--pv-panel); pointer-events: none; transform: translate(14px, -28px); white-space: nowrap; }
.pliant-view .pv-drop { position: absolute; inset: 10px; display: grid; place-items: center; border: 2px dashed var(--pv-accent); border-radius: 16px; background: var(--pv-on); font-size: 20px; color: var(--pv-accent); pointer-events: none; }
.pliant-view .pv-help { position: absolute; inset: 0; display: grid; place-items: center; background: rgba(15, 23, 42, .28); padding: 16px; overflow: auto; }
.pliant-view .pv-help-card { max-width: 720px; padding: 14px 22px 18px; background: var(--pv-solid); }
.pliant-view .pv-help header { display: flex; justify-content: space-between; align-items: center; }
.pliant-view .pv-help h2 { font: 600 17px/1.3 inherit; font-size: 17px; font-weight: 600; margin: 0; }
.pliant-view .pv-help h3 { font-size: 13px; line-height: 1.4; font-weight: 600; margin: 8px 0 4px; color: var(--pv-quiet); }
.pliant-view .pv-columns { display: flex; flex-wrap: wrap; gap: 4px 32px; }
.pliant-view .pv-help p { margin: 12px 0 0; }
.pliant-view .pv-keyrow { display: flex; gap: 10px; padding: 2px 0; max-width: 230px; }
.pliant-view kbd { flex: none; min-width: 30px; height: 22px; text-align: center; font: inherit; font-size: 12px; padding: 1px 6px; border-radius: 5px; border: 1px solid var(--pv-edge); background: var(--pv-hover); }
@container (max-width: 640px) {
  .pliant-view .pv-top { left: 8px; right: 8px; top: 8px; align-items: stretch; }
  .pliant-view .pv-toolbar { align-self: center; }
  .pliant-view .pv-button { width: 44px; height: 44px; }
  .pliant-view .pv-options { justify-content: end; max-width: calc(100% - 200px); margin-left: auto; }
  .pliant-view .pv-option { display: grid; grid-template-columns: auto 1fr auto; gap: 0 8px; padding: 4px 10px; width: 100%; }
  .pliant-view .pv-option.pv-quiet { display: block; }
  .pliant-view .pv-option input { width: 100%; grid-column: 1 / -1; grid-row: 2; }
  .pliant-view .pv-hud { top: 68px; left: 8px; width: max-content; min-width: 150px; max-width: 230px; }
  .pliant-view .pv-hud header { padding: 0 0 0 12px; }
  .pliant-view .pv-hud-body { max-height: 260px; }
  .pliant-view .pv-transport { flex-direction: column; align-items: stretch; gap: 0; padding: 4px 10px 8px; bottom: 8px; width: calc(100% - 16px); }
  .pliant-view .pv-transport .pv-group { justify-content: space-between; }
  .pliant-view input[type="range"] { height: 32px; }
  .pliant-view .pv-text, .pliant-view select { min-height: 36px; }
  .pliant-view .pv-legend { right: 8px; width: 160px; }
  .pliant-view .pv-toasts, .pliant-view .pv-badge.pv-has-world { bottom: 120px; }
  .pliant-view .pv-captions .pv-cell { padding-bottom: 6px; }
}
.pliant-view.pv-thrifty * { -webkit-backdrop-filter: none !important; backdrop-filter: none !important; }
@media (prefers-reduced-motion: reduce) { .pliant-view * { animation: none !important; transition: none !important; } }
`;

export function addStyle() {
  if (document.getElementById("pliant-view-style")) return;
  const node = document.createElement("style");
  node.id = "pliant-view-style";
  node.textContent = STYLE;
  document.head.append(node);
}

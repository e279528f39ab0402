"""How the page looks: compact, calm, light or dark as the system is."""

from __future__ import annotations

CSS = """
:root { --pl-line: rgba(20,30,45,.12); --pl-soft: rgba(20,30,45,.05); --pl-dim: #5c6672; --pl-accent: #2f6fb5;
  --pl-panel: #f7f8fa; --pl-text: #1c232b; --pl-bad: #b3261e; }
.body--dark { --pl-line: rgba(255,255,255,.12); --pl-soft: rgba(255,255,255,.06); --pl-dim: #9aa5b1;
  --pl-accent: #7fb2ea; --pl-panel: #1b2026; --pl-text: #e4e8ec; --pl-bad: #ff8a80; }
html, body { overflow: hidden; overscroll-behavior: none; }
body { font-size: 13px; color: var(--pl-text); }
.nicegui-content { padding: 0 !important; gap: 0; }
.pl-view { position: relative; width: 100%; height: calc(100dvh - 40px); overflow: hidden; }
.pl-header { height: 40px; min-height: 40px; padding: 0 6px; gap: 2px; display: flex; flex-wrap: nowrap;
  align-items: center;
  background: var(--pl-panel) !important; color: var(--pl-text) !important; border-bottom: 1px solid var(--pl-line); }
.pl-brand { font-weight: 600; letter-spacing: .01em; margin: 0 6px 0 4px; }
.pl-scene-title { color: var(--pl-dim); white-space: nowrap; overflow: hidden; text-overflow: ellipsis;
  min-width: 0; }
.pl-space { flex: 1 1 auto; min-width: 4px; }
.q-drawer { background: var(--pl-panel) !important; }
.pl-drawer { padding: 8px 10px 24px !important; gap: 4px; font-size: 12.5px; overflow-x: hidden; }
.pl-icon { color: inherit !important; min-width: 32px; min-height: 32px; }
.pl-icon.q-btn--dense .q-icon { font-size: 18px; }
.pl-button { font-size: 12.5px; padding: 2px 10px; min-height: 32px; border-radius: 6px; white-space: nowrap; }
.pl-button .q-icon { font-size: 17px; }
.pl-button .on-left { margin-right: 5px; }
.pl-button.q-btn--outline::before { border-color: var(--pl-line) !important; }
.pl-input .q-field__control::before, .pl-select .q-field__control::before, .pl-color .q-field__control::before {
  border-color: var(--pl-line) !important; }
.pl-bar { display: flex; flex-wrap: wrap; gap: 6px; align-items: center; width: 100%; }
.pl-bar.pl-end { justify-content: flex-end; }
.pl-grow { flex: 1 1 90px; min-width: 0; }
.pl-section > .q-expansion-item__container > .q-item { min-height: 32px; padding: 0 2px; font-weight: 600;
  font-size: 12px;
  letter-spacing: .03em; text-transform: uppercase; color: var(--pl-dim); }
.pl-section { border-top: 1px solid var(--pl-line); }
.pl-section .q-expansion-item__content > .nicegui-expansion-content, .pl-more .nicegui-expansion-content {
  padding: 0 0 6px !important; gap: 2px; }
.pl-more > .q-expansion-item__container > .q-item { min-height: 28px; padding: 0 2px; color: var(--pl-dim); }
.pl-panel { display: flex; flex-direction: column; gap: 4px; width: 100%; }
.pl-list { display: flex; flex-direction: column; gap: 1px; width: 100%; }
.pl-row { display: flex; align-items: center; gap: 6px; min-height: 36px; padding: 0 2px 0 8px; border-radius: 6px;
  cursor: pointer; }
.pl-row.pl-still { cursor: default; padding: 4px 0; }
.pl-row:hover { background: var(--pl-soft); }
.pl-row:focus-visible { outline: 2px solid var(--pl-accent); outline-offset: -2px; }
.pl-row.pl-selected { background: color-mix(in srgb, var(--pl-accent) 16%, transparent); }
.pl-row.pl-tall { flex-direction: column; align-items: flex-start; gap: 0; padding: 6px 8px; }
.pl-row .pl-icon { opacity: .55; } .pl-row .pl-icon:hover, .pl-row:focus-within .pl-icon { opacity: 1; }
.pl-dot { width: 11px; height: 11px; border-radius: 50%; flex: none; box-shadow: 0 0 0 1px rgba(128, 128, 128, .45); }
.pl-kind { font-size: 16px; color: var(--pl-dim); flex: none; }
.pl-name { flex: 1 1 auto; min-width: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.pl-chip { font-size: 11px; color: var(--pl-dim); border: 1px solid var(--pl-line); border-radius: 10px;
  padding: 0 7px;
  white-space: nowrap; line-height: 18px; }
.pl-chip-button { color: var(--pl-accent) !important; font-size: 12px; min-height: 28px; padding: 0 8px; }
.pl-hint { font-size: 11.5px; color: var(--pl-dim); line-height: 1.35; white-space: normal; }
.pl-subtitle { font-size: 12px; font-weight: 600; color: var(--pl-dim); padding: 8px 0 2px; }
.pl-left .pl-label { flex-basis: 62px; }
.pl-scene-name { font-weight: 600; }
.pl-field { width: 100%; }
.pl-line { display: flex; align-items: center; gap: 6px; width: 100%; min-height: 34px; }
.pl-label { flex: 0 0 92px; color: var(--pl-text); overflow: hidden; text-overflow: ellipsis; line-height: 1.15; }
.pl-changed > .pl-line > .pl-label { font-weight: 600; }
.pl-control { flex: 1 1 auto; min-width: 0; display: flex; align-items: center; gap: 8px; }
.pl-control .q-slider { flex: 1 1 60px; min-width: 40px; }
.pl-control > .pl-input { flex: 0 1 108px; min-width: 0; }
.pl-control > .pl-input:only-child { flex: 1 1 auto; }
.pl-control > .pl-input[class*=pl-input] ~ .pl-input, .pl-control > .pl-input:has(~ .pl-input) { flex: 1 1 0; }
.pl-control .q-checkbox + .q-slider { margin-left: 2px; }
.pl-select { flex: 1 1 auto; min-width: 0; }
.pl-input .q-field__control, .pl-select .q-field__control, .pl-color .q-field__control {
  height: 30px !important; min-height: 30px !important; padding: 0 6px !important; font-size: 12.5px;
  border-radius: 6px; }
.pl-input .q-field__native, .pl-select .q-field__native, .pl-input .q-field__suffix, .pl-input .q-field__prefix {
  min-height: 28px !important; height: 28px; padding: 0 !important; line-height: 28px; font-size: 12.5px;
  color: var(--pl-text); }
.pl-input .q-field__suffix, .pl-input .q-field__prefix { color: var(--pl-dim); font-size: 11px;
  padding: 0 0 0 3px !important; }
.pl-input .q-field__prefix { padding: 0 4px 0 0 !important; }
.pl-input .q-field__marginal, .pl-select .q-field__marginal { height: 30px !important; }
.pl-input input, .pl-input .q-field__native { min-width: 0; }
.pl-color { flex: 0 0 64px; } .pl-color input { cursor: pointer; padding: 2px 0 !important; height: 28px; }
.pl-line > .pl-reset { flex: 0 0 24px; min-width: 24px; min-height: 28px; color: var(--pl-accent) !important;
  padding: 0; }
.pl-line:not(:has(> .pl-reset:not(.hidden)))::after { content: ""; flex: 0 0 24px; }
.pl-lane .pl-line:not(:has(> .pl-reset))::after, .pl-line:has(> .pl-file)::after { display: none; }
.pl-error { color: var(--pl-bad); font-size: 11.5px; line-height: 1.3; padding: 0 0 4px; white-space: normal; }
.pl-note { font-size: 12px; color: var(--pl-dim); padding-left: 10px; border-left: 2px solid var(--pl-line);
  margin: 2px 0;
  overflow-wrap: anywhere; }
.pl-lanes { display: flex; flex-direction: column; gap: 8px; width: 100%; padding: 6px 0; }
.pl-lane { border: 1px solid var(--pl-line); border-radius: 8px; padding: 4px 8px; }
.pl-job { display: flex; flex-wrap: wrap; align-items: center; gap: 6px; padding: 4px 0; }
.pl-link { color: var(--pl-accent); overflow-wrap: anywhere; padding: 4px 0; }
.pl-card { width: min(460px, 94vw); max-width: 94vw !important; max-height: 92dvh; padding: 10px 14px; gap: 8px;
  flex-wrap: nowrap; font-size: 12.5px; background: var(--pl-panel); border-radius: 10px; color: var(--pl-text); }
.pl-card.pl-wide { width: min(760px, 94vw); }
.pl-title { display: flex; width: 100%; justify-content: space-between; align-items: center; font-weight: 600;
  font-size: 15px; }
.pl-scroll { overflow-y: auto; width: 100%; min-height: 0; flex: 1 1 auto; }
.pl-tabs { background: transparent !important; } .pl-tabs .q-tab-panel { padding: 8px 0; gap: 6px; display: flex;
  flex-direction: column; align-items: stretch; }
.pl-tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(96px, 1fr)); gap: 6px; width: 100%; }
.pl-tile { min-height: 40px; border-radius: 8px; font-size: 12.5px; color: var(--pl-text) !important; }
.pl-tile::before { border-color: var(--pl-line) !important; }
.pl-tile.pl-chosen { background: color-mix(in srgb, var(--pl-accent) 18%, transparent) !important; }
.pl-tile.pl-chosen::before { border-color: var(--pl-accent) !important; }
.pl-report { padding: 8px; border-radius: 8px; background: var(--pl-soft); display: flex; flex-direction: column;
  gap: 2px; }
.pl-file { width: 100%; padding: 10px; border: 1px dashed var(--pl-line); border-radius: 8px; }
.pl-right-tabs .q-tab { padding: 0 4px; min-height: 40px; font-size: 12px;
  } .pl-right-tabs .q-tab__icon { font-size: 18px; }
.pl-right-tabs .q-tab__label { font-size: 11.5px; }
.q-menu { font-size: 12.5px; } .q-menu .q-item { min-height: 34px; }
@media (max-width: 799px) { .pl-wide-only { display: none !important; } .pl-line { min-height: 40px; }
  .pl-icon { min-width: 36px; min-height: 36px; } .pl-row { min-height: 44px; } }
@media (hover: none) { .q-tooltip { display: none; } }
"""

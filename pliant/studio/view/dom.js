// Making and changing elements of the page.
import { ICONS } from "./icons.js";

/** An element with attributes (functions become listeners) and children (elements or text). */
export function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") node.addEventListener(name, value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/** A button with an icon, a tooltip that names its shortcut, and a label for screen readers. */
export function button(icon, label, shortcut, press, attributes = {}) {
  const node = make("button", {
    type: "button",
    class: "pv-button",
    "aria-label": label,
    title: shortcut ? `${label} (${shortcut})` : label,
    click: (event) => {
      press(event);
      if (event.detail > 0) node.blur(); // after a click the keys belong to the view again
    },
    ...attributes,
  });
  node.innerHTML = ICONS[icon] ?? "";
  return node;
}

export function setIcon(node, icon) {
  if (node.dataset.icon === icon) return;
  node.dataset.icon = icon;
  node.innerHTML = ICONS[icon];
}

/** Marks a toggle button as on or off. */
export function press(node, on) {
  node.setAttribute("aria-pressed", on ? "true" : "false");
}

/** Writes text only where it changed, so that nothing is laid out again in vain. */
export function write(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function show(node, on) {
  if (node.hidden === on) node.hidden = !on;
}

/** A number with about `digits` meaningful digits and no needless zeros. */
export function short(value, digits = 3) {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) return value.toExponential(Math.max(0, digits - 2)).replace("e+", "e");
  return Number(value.toPrecision(digits)).toLocaleString("en", { maximumFractionDigits: 6 });
}

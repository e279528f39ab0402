// Keyboard shortcuts and the page of help that lists them.
import { button, make, show } from "./dom.js";
import { DISPLAYS } from "./toolbar.js";
import { listen, TOOLS } from "./tools.js";

/** Shortcut, what it does, and the call; a group's name stands alone. */
function shortcuts(view) {
  const send = (name, args) => () => view.stream.send(name, args);
  return [
    ["Time"],
    ["space", "play or pause", () => view.playPause()],
    [".", "one frame forward", send("step", { frames: 1 })],
    ["r", "reset", send("reset")],
    ["l", "back to live", send("live")],
    ["z", "undo", send("undo")],
    ["shift+z", "redo", send("redo")],
    ["Tools"],
    ...TOOLS.map(([name, label, key]) => [key.toLowerCase(), label.toLowerCase(), () => view.offers(name) && view.chooseTool(name)]),
    ["+", "larger ball", () => view.setPokeRadius(view.pokeRadius * 1.15), true],
    ["-", "smaller ball", () => view.setPokeRadius(view.pokeRadius / 1.15), true],
    ["Display"],
    ...DISPLAYS.map(([name, label, key]) => [key.toLowerCase(), label.toLowerCase(), () => view.world?.can[name] && view.displays.toggle(name)]),
    ["i", "read-outs", () => view.hud.toggle()],
    ["f", "frame the scene", () => view.frameScene()],
    ["?", "this help", () => view.help.toggle()],
    ["escape", "let go, close", () => view.escape()],
  ];
}

export class Keys {
  constructor(view) {
    this.list = shortcuts(view);
    const calls = new Map(this.list.filter((row) => row.length > 1).map(([key, , call]) => [key, call]));
    // a button that was clicked gives the keys back, so that the space bar plays and does not press it again
    const unclick = listen(document, "click", (event) => {
      if (event.detail > 0) event.target.closest?.("button")?.blur();
    });
    const unkey = listen(window, "keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || typing(event.target)) return;
      if (!view.listens(event.target)) return;
      const key = event.key === " " ? "space" : event.key.toLowerCase();
      if (key === "space" && event.target.closest?.("button")) return; // the button's own key
      const call = (event.shiftKey && calls.get(`shift+${key}`)) || calls.get(key);
      if (!call || (event.repeat && key !== "." && key !== "+" && key !== "-")) return;
      event.preventDefault();
      call();
    });
    this.remove = () => {
      unclick();
      unkey();
    };
  }

  dispose() {
    this.remove();
  }
}

export class Help {
  constructor(view, keys) {
    const rows = keys.list.map(([key, words]) =>
      words ? make("div", { class: "pv-keyrow" }, make("kbd", {}, nice(key)), make("span", {}, words)) : make("h3", {}, key));
    const columns = [];
    for (const row of rows) {
      if (row.tagName === "H3") columns.push(make("div"));
      columns.at(-1).append(row);
    }
    const mouse = make("p", { class: "pv-quiet" },
      "Drag a body to pull it; the wheel moves it nearer or farther. Drag empty space to turn the camera, with the right button to move it. " +
        "One finger pulls or turns, two fingers zoom and move.");
    this.card = make("div", { class: "pv-help-card pv-panel", role: "dialog", "aria-label": "Help" },
      make("header", {}, make("h2", {}, "Shortcuts"), button("close", "Close the help", "Esc", () => this.toggle(false))),
      make("div", { class: "pv-columns" }, ...columns), mouse);
    this.node = make("div", { class: "pv-help", hidden: true, click: (event) => event.target === this.node && this.toggle(false) }, this.card);
  }

  toggle(on = this.node.hidden) {
    show(this.node, on);
  }
}

function nice(key) {
  return key === "escape" ? "Esc" : key === "space" ? "space" : key.replace("shift+", "⇧ ").toUpperCase();
}

function typing(target) {
  if (!target?.closest) return false;
  if (target.isContentEditable) return true;
  const field = target.closest("input, textarea, select");
  return Boolean(field) && !["range", "checkbox", "radio", "button"].includes(field.type);
}

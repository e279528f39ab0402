// The bar at the top: tools, what is shown, and the options of both.
import { button, make, press, show, write } from "./dom.js";
import { TOOLS } from "./tools.js";

/** Displays in the order of the bar: name, label, shortcut. */
export const DISPLAYS = [
  ["wireframe", "Wireframe", "W"],
  ["particles", "Particles", "V"],
  ["slice", "Tets cut by a plane", "G"],
  ["clusters", "Clusters coloured", "C"],
  ["heat", "Heat map", "H"],
  ["contacts", "Contact points and forces", "K"],
];

export class Toolbar {
  constructor(view) {
    this.view = view;
    this.tools = new Map();
    this.displays = new Map();
    const group = (label, nodes) => make("div", { class: "pv-group", role: "group", "aria-label": label }, ...nodes);
    for (const [name, label, key] of TOOLS) this.tools.set(name, button(name, label, key, () => view.chooseTool(name)));
    for (const [name, label, key] of DISPLAYS) this.displays.set(name, button(name, label, key, () => view.displays.toggle(name)));
    this.bar = make(
      "div",
      { class: "pv-toolbar pv-panel", role: "toolbar", "aria-label": "Tools and display" },
      group("Tools", this.tools.values()),
      (this.rule = make("span", { class: "pv-rule" })),
      group("Display", this.displays.values()),
      make("span", { class: "pv-rule" }),
      group("View", [
        button("frame", "Frame the scene", "F", () => view.frameScene()),
        button("help", "Keyboard shortcuts", "?", () => view.help.toggle()),
      ]),
    );
    this.#options();
    this.node = make("div", { class: "pv-top" }, this.bar, this.options);
  }

  #options() {
    const { view } = this;
    const slider = (label, low, high, step, value, change) => {
      const reading = make("output", { class: "pv-reading" });
      const input = make("input", { type: "range", min: low, max: high, step, value, "aria-label": label, input: () => change(Number(input.value)) });
      return { input, reading, node: make("label", { class: "pv-option" }, make("span", {}, label), input, reading) };
    };
    this.strength = slider("Strength", -1, 1, 0.01, 0, (value) => view.setStrength(10 ** value));
    this.radius = slider("Radius", -2.3, 0, 0.01, -1, (value) => view.setPokeRadius(10 ** value * view.sceneSize()));
    this.slice = slider("Plane", 0, 1, 0.005, 0.5, (value) => view.displays.setSlice({ place: value }));
    this.axis = make("select", { "aria-label": "Axis of the plane", change: () => view.displays.setSlice({ axis: Number(this.axis.value) }) });
    ["x", "y", "z"].forEach((name, i) => this.axis.append(make("option", { value: i }, name)));
    this.slice.node.prepend(this.axis);
    this.heats = make("select", { "aria-label": "Quantity of the heat map", change: () => view.displays.setHeat(this.heats.value) });
    this.heat = make("label", { class: "pv-option" }, make("span", {}, "Show"), this.heats);
    this.text = make("span", { class: "pv-option pv-quiet" });
    this.options = make("div", { class: "pv-options" }, this.strength.node, this.radius.node, this.text, this.slice.node, this.heat);
  }

  /** Shows what the scene can do and what is on. */
  update() {
    const { view } = this;
    const can = view.world?.can ?? {};
    const offered = view.world?.header.tools ?? [];
    const bodies = view.world?.lanes.some((lane) => lane.bodies.length);
    for (const [name, node] of this.tools) {
      show(node, name === "select" ? Boolean(bodies) : offered.includes(name));
      press(node, view.tool === name);
    }
    for (const [name, node] of this.displays) {
      show(node, Boolean(can[name]));
      press(node, view.displays.shown[name]);
    }
    show(this.rule, [...this.displays.values()].some((node) => !node.hidden));
    show(this.strength.node, view.tool === "drag" && offered.includes("drag"));
    show(this.radius.node, view.tool === "poke");
    const words = {
      pin: "Click pins a point, click it again to free it. Shift-click frees all.",
      throw: "Drag an arrow out of a body and let go.",
      cut: "Draw a stroke across a body. The right button turns the camera.",
    };
    show(this.text, view.tool in words);
    write(this.text, words[view.tool] ?? "");
    show(this.slice.node, view.displays.shown.slice && can.slice);
    show(this.heat, view.displays.shown.heat && can.heat);
    this.#write();
  }

  #write() {
    const { view } = this;
    write(this.strength.reading, `${view.strength < 1 ? view.strength.toFixed(2) : view.strength.toFixed(1)}×`);
    this.strength.input.value = Math.log10(view.strength);
    this.radius.input.value = Math.log10(view.pokeRadius / view.sceneSize());
    write(this.radius.reading, length(view.pokeRadius));
    this.slice.input.value = view.displays.slice.place;
    write(this.slice.reading, `${Math.round(100 * view.displays.slice.place)} %`);
    this.axis.value = String(view.displays.slice.axis);
    const heats = view.world?.header.heats ?? [];
    const names = heats.map((heat) => heat.name).join("\n");
    if (this.heats.dataset.names !== names) {
      this.heats.dataset.names = names;
      this.heats.replaceChildren(...heats.map((heat) => make("option", { value: heat.name, title: heat.meaning }, heat.name)));
    }
    if (view.displays.heat) this.heats.value = view.displays.heat;
  }
}

function length(metres) {
  return metres < 0.01 ? `${(1000 * metres).toFixed(1)} mm` : metres < 1 ? `${(100 * metres).toFixed(1)} cm` : `${metres.toFixed(2)} m`;
}

// The legend of the heat map.
import { mapGradient } from "./colours.js";
import { make, short, show, write } from "./dom.js";

export class Legend {
  constructor() {
    this.name = make("b");
    this.low = make("span");
    this.high = make("span");
    const bar = make("div", { class: "pv-ramp", style: `background:${mapGradient()}` });
    this.node = make("div", { class: "pv-legend pv-panel", hidden: true, "aria-label": "Legend" }, this.name, bar, make("div", { class: "pv-ends" }, this.low, this.high));
  }

  take(heat) {
    show(this.node, Boolean(heat));
    if (!heat) return;
    write(this.name, heat.unit ? `${heat.name} [${heat.unit}]` : heat.name);
    write(this.low, short(heat.low));
    write(this.high, short(heat.high));
  }
}

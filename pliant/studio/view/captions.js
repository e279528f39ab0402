// Captions under the viewports of a comparison.
import { make, short, write } from "./dom.js";

export class Captions {
  constructor() {
    this.node = make("div", { class: "pv-captions" });
    this.list = [];
  }

  /** Places one caption per viewport; none when there is a single lane. */
  place(rects, lanes) {
    if (rects.length < 2) {
      this.node.replaceChildren();
      this.list = [];
      return;
    }
    this.list = rects.map((rect, i) => {
      const name = make("b", {}, lanes[i]?.about.name ?? "");
      const cost = make("span");
      const error = make("span");
      const node = make("div", { class: "pv-cell", style: `left:${rect.x}px;top:${rect.y}px;width:${rect.width}px;height:${rect.height}px` },
        make("div", { class: "pv-caption" }, name, cost, error));
      return { node, cost, error };
    });
    this.node.replaceChildren(...this.list.map((caption) => caption.node));
  }

  take(lanes = []) {
    this.list.forEach(({ cost, error }, i) => {
      const lane = lanes[i];
      if (!lane) return;
      write(cost, `${short(lane.ms, 2)} ms per frame`);
      const known = lane.error !== null && lane.error !== undefined;
      write(error, lane.reference ? "reference" : known ? `error ${short(1000 * lane.error, 2)} mm` : "");
    });
  }
}

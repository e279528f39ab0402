// What gestures show above the picture: a hint beside the pointer and the stroke of a cut.
import { make, show } from "./dom.js";

const SVG = "http://www.w3.org/2000/svg";

export class Overlay {
  constructor() {
    this.line = document.createElementNS(SVG, "line");
    this.svg = document.createElementNS(SVG, "svg");
    this.svg.setAttribute("class", "pv-stroke");
    this.svg.append(this.line);
    this.hintNode = make("div", { class: "pv-hint", hidden: true });
  }

  hint(text, pointer) {
    show(this.hintNode, Boolean(text));
    if (!text) return;
    this.hintNode.textContent = text;
    this.hintNode.style.left = `${pointer.px}px`;
    this.hintNode.style.top = `${pointer.py}px`;
  }

  stroke(first, last = null) {
    const ends = first ? { x1: first.px, y1: first.py, x2: last.px, y2: last.py } : { x1: 0, y1: 0, x2: 0, y2: 0 };
    for (const [name, value] of Object.entries(ends)) this.line.setAttribute(name, value);
    this.line.style.display = first ? "" : "none";
  }
}

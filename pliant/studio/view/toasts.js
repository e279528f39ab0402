// Small notices that go away by themselves; errors stay longer and can be closed.
import { button, make, write } from "./dom.js";

const STAY = { info: 4000, warning: 8000, error: 14000 };

export class Toasts {
  constructor() {
    this.node = make("div", { class: "pv-toasts", role: "log", "aria-live": "polite" });
  }

  /** Shows a text; the same text twice is counted rather than repeated. */
  say(text, level = "info") {
    const same = [...this.node.children].find((node) => node.dataset.text === text);
    if (same) {
      same.dataset.times = Number(same.dataset.times) + 1;
      write(same.firstChild, `${text} (${same.dataset.times}×)`);
      this.#leave(same, STAY[level]);
      return;
    }
    const node = make("div", { class: `pv-toast pv-${level}`, "data-text": text, "data-times": 1, role: level === "error" ? "alert" : "status" }, make("span", {}, text));
    node.append(button("close", "Close this notice", "", () => node.remove()));
    this.node.append(node);
    while (this.node.childElementCount > 4) this.node.firstChild.remove();
    this.#leave(node, STAY[level] ?? STAY.info);
  }

  /** A notice with a bar; update(0..1), done(). */
  progress(label) {
    const bar = make("i", { class: "pv-progress" });
    const text = make("span", {}, label);
    const node = make("div", { class: "pv-toast", role: "status" }, text, bar);
    this.node.append(node);
    return {
      update: (part, words) => {
        bar.style.width = `${Math.round(100 * part)}%`;
        if (words) write(text, words);
      },
      done: () => node.remove(),
    };
  }

  #leave(node, after) {
    clearTimeout(node.leaving);
    node.leaving = setTimeout(() => node.remove(), after);
  }
}

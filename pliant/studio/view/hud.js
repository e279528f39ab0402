// The read-outs at the top left: rates, counts, stage times, energy.
import { button, make, short, show, write } from "./dom.js";
import { EnergyPlot } from "./energy_plot.js";

export class Hud {
  constructor(view, folded) {
    this.view = view;
    this.folded = folded;
    this.rows = new Map();
    this.factor = make("span", { class: "pv-factor" });
    this.fold = button("fold", "Fold or unfold the read-outs", "I", () => this.toggle());
    this.list = make("dl", { class: "pv-rows" });
    for (const [name, label] of [
      ["drawn", "pictures"], ["updates", "updates"], ["fps", "simulated"], ["substeps", "substeps"], ["particles", "particles"], ["contacts", "contacts"], ["asleep", "asleep"], ["pins", "pinned"],
    ]) {
      const value = make("dd");
      const row = [make("dt", {}, label), value];
      this.rows.set(name, { value, row });
      this.list.append(...row);
    }
    this.stagesButton = make("button", { type: "button", class: "pv-fold", "aria-expanded": "false", click: () => this.#openStages() }, "Stage times");
    this.stages = make("div", { class: "pv-stages", hidden: true });
    this.plot = new EnergyPlot();
    this.energyButton = make("button", { type: "button", class: "pv-fold", "aria-expanded": "true", click: () => this.#openEnergy() }, "Energy");
    this.body = make("div", { class: "pv-hud-body" }, this.list, this.stagesButton, this.stages, this.energyButton, this.plot.node);
    this.node = make("section", { class: "pv-hud pv-panel", "aria-label": "Read-outs" }, make("header", {}, this.factor, this.fold), this.body);
    this.#show();
  }

  toggle(folded = !this.folded) {
    this.folded = folded;
    this.#show();
    this.view.displays.send();
  }

  #show() {
    show(this.body, !this.folded);
    this.node.classList.toggle("pv-folded", this.folded);
    this.fold.setAttribute("aria-expanded", String(!this.folded));
  }

  get wantsStages() {
    return !this.folded && !this.stages.hidden;
  }

  #openStages() {
    show(this.stages, this.stages.hidden);
    this.stagesButton.setAttribute("aria-expanded", String(!this.stages.hidden));
    this.view.displays.send();
  }

  #openEnergy() {
    show(this.plot.node, this.plot.node.hidden);
    this.energyButton.setAttribute("aria-expanded", String(!this.plot.node.hidden));
  }

  /** Takes a frame's numbers; they are written at most five times a second. */
  take(header) {
    this.header = header;
    if (header.stats.energy) this.plot.add(header.time, header.stats.energy);
  }

  clear() {
    this.plot.clear();
  }

  draw(rates) {
    if (!this.header) return;
    const { stats, live } = this.header;
    let text = "paused";
    let slow = false;
    if (!live) text = "history";
    else if (stats.playing) {
      text = `${stats.factor.toFixed(2)}× of real time`;
      slow = stats.factor < 0.95 * stats.speed;
    }
    write(this.factor, text);
    this.factor.classList.toggle("pv-slow", slow);
    if (this.folded) return;
    const rows = {
      drawn: `${Math.round(rates.fps)} /s`,
      updates: `${Math.round(rates.updates)} /s`,
      fps: stats.playing ? `${Math.round(stats.fps)} /s` : "–",
      substeps: stats.substeps, particles: stats.particles, contacts: stats.contacts, asleep: stats.asleep, pins: this.header.pins || null,
    };
    for (const [name, { value, row }] of this.rows) {
      const given = rows[name];
      row.forEach((node) => show(node, given !== undefined && given !== null));
      write(value, typeof given === "number" ? given.toLocaleString("en") : String(given ?? ""));
    }
    if (!this.stages.hidden) this.#drawStages(stats.stages);
    show(this.energyButton, this.plot.any);
    if (this.plot.any && !this.plot.node.hidden) this.plot.draw();
  }

  #drawStages(stages) {
    if (!stages) {
      if (!this.stages.childElementCount) this.stages.append(make("p", { class: "pv-quiet" }, "measuring…"));
      return;
    }
    const list = Object.entries(stages).sort((a, b) => b[1] - a[1]).slice(0, 8);
    const most = Math.max(...list.map(([, ms]) => ms), 1e-9);
    this.stages.replaceChildren(
      ...list.map(([name, ms]) =>
        make("div", { class: "pv-stage", title: `${name}: ${short(ms)} ms per frame` },
          make("span", { class: "pv-bar", style: `width:${(100 * ms) / most}%` }), make("span", {}, name), make("b", {}, `${short(ms, 2)} ms`)),
      ),
    );
  }
}

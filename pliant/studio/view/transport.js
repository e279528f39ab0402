// The bar at the bottom: play, step, reset, speed, and the time line over the frames in the history.
import { button, make, setIcon, show, write } from "./dom.js";

const WRITE_MS = 66;
const SPEEDS = [0.1, 0.25, 0.5, 1, 2];

export class Transport {
  constructor(view) {
    this.view = view;
    this.held = false;
    this.play = button("pause", "Play or pause", "space", () => view.playPause());
    this.step = button("step", "One frame forward", ".", () => view.stream.send("step", { frames: 1 }));
    this.reset = button("reset", "Reset to the start", "R", () => view.stream.send("reset"));
    this.speed = make("select", { "aria-label": "Speed", title: "Speed", change: () => view.stream.send("speed", { value: Number(this.speed.value) }) });
    for (const speed of SPEEDS) this.speed.append(make("option", { value: speed }, `${speed}×`));
    this.line = make("input", {
      type: "range", min: 0, max: 0, step: 1, value: 0, class: "pv-line", "aria-label": "Frame in the history",
      input: () => this.#seek(),
      pointerdown: () => (this.held = true),
      pointerup: () => (this.held = false),
      pointercancel: () => (this.held = false),
      change: () => (this.held = false),
    });
    this.time = make("output", { class: "pv-time" }, "0.00 s");
    this.dot = make("span", { class: "pv-record", title: "Recording", "aria-label": "Recording", role: "status", hidden: true });
    this.live = make("button", { type: "button", class: "pv-text pv-live", title: "Back to the live simulation (L)", click: () => view.stream.send("live") }, "live");
    this.resume = make(
      "button",
      { type: "button", class: "pv-text", hidden: true, title: "Simulate on from this frame", click: () => this.#resume() },
      "continue from here",
    );
    this.node = make(
      "div",
      { class: "pv-transport pv-panel", role: "group", "aria-label": "Transport" },
      make("div", { class: "pv-group" }, this.play, this.step, this.reset, this.speed),
      make("div", { class: "pv-timeline" }, this.line, this.time, this.dot, this.live, this.resume),
    );
  }

  #seek() {
    this.held = true;
    this.wanted = Number(this.line.value);
  }

  #resume() {
    this.view.stream.send("resume_from", { frame: this.newest.frame });
    this.view.stream.send("play");
  }

  /** Sends the frame that is asked for, at most once per drawn frame. */
  tick() {
    if (this.newest && this.newest.frame !== this.frame && performance.now() - this.written > WRITE_MS) this.#write(this.newest);
    if (this.wanted === undefined) return;
    this.view.stream.post("seek", { frame: this.wanted });
    this.wanted = undefined;
  }

  /** Takes a frame; the page is written to about fifteen times a second, and at once when the state changes. */
  take(header) {
    const state = `${header.stats.playing} ${header.live} ${header.stats.recording} ${header.stats.speed}`;
    const now = performance.now();
    this.newest = header;
    if (state === this.state && header.live && now - this.written < WRITE_MS) return;
    this.state = state;
    this.written = now;
    this.#write(header);
  }

  #write(header) {
    const { stats } = header;
    this.frame = header.frame;
    this.playing = stats.playing;
    setIcon(this.play, stats.playing ? "pause" : "play");
    this.line.min = stats.first ?? 0;
    this.line.max = Math.max(stats.last ?? 0, this.line.min);
    if (!this.held) this.line.value = header.frame;
    const span = Math.max(1, this.line.max - this.line.min);
    this.line.style.setProperty("--part", `${(100 * (this.line.value - this.line.min)) / span}%`);
    write(this.time, `${header.time.toFixed(2)} s`);
    if (document.activeElement !== this.speed && Number(this.speed.value) !== stats.speed) this.#showSpeed(stats.speed);
    show(this.dot, Boolean(stats.recording));
    this.live.setAttribute("aria-pressed", header.live ? "true" : "false");
    show(this.resume, !header.live);
  }

  #showSpeed(speed) {
    if (!SPEEDS.includes(speed)) {
      this.other ??= this.speed.appendChild(make("option"));
      this.other.value = speed;
      write(this.other, `${speed}×`);
    }
    this.speed.value = String(speed);
  }
}

// Kinetic, elastic, potential and total energy over the last twenty seconds of the simulation.
import { make, short, write } from "./dom.js";

const SPAN = 20;
const LINES = [["total", "--pv-ink"], ["kinetic", "--pv-kinetic"], ["elastic", "--pv-elastic"], ["potential", "--pv-potential"]];

export class EnergyPlot {
  constructor() {
    this.samples = [];
    this.canvas = make("canvas", { class: "pv-plot", role: "img", "aria-label": "Energy over the last 20 seconds" });
    this.values = new Map();
    const key = make("div", { class: "pv-key" });
    for (const [name, colour] of LINES) {
      const value = make("b");
      this.values.set(name, value);
      key.append(make("span", { style: `--line:var(${colour})` }, name, " ", value));
    }
    this.node = make("div", {}, this.canvas, key);
  }

  get any() {
    return this.samples.length > 0;
  }

  add(time, { kinetic, elastic, potential }) {
    const last = this.samples.at(-1);
    if (last && time < last.time) this.samples = this.samples.filter((sample) => sample.time < time);
    else if (last && time === last.time) return;
    this.samples.push({ time, kinetic, elastic, potential, total: kinetic + elastic + potential });
    const first = this.samples.findIndex((sample) => sample.time >= time - SPAN);
    if (first > 64) this.samples.splice(0, first);
  }

  clear() {
    this.samples = [];
  }

  draw() {
    const { canvas, samples } = this;
    const scale = Math.min(window.devicePixelRatio || 1, 2);
    const width = canvas.clientWidth;
    const height = canvas.clientHeight;
    if (!width || !samples.length) return;
    if (canvas.width !== Math.round(width * scale)) canvas.width = Math.round(width * scale);
    if (canvas.height !== Math.round(height * scale)) canvas.height = Math.round(height * scale);
    const pen = canvas.getContext("2d");
    const style = getComputedStyle(canvas);
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    const end = samples.at(-1).time;
    const seen = samples.filter((sample) => sample.time >= end - SPAN);
    let low = 0;
    let high = 1e-12;
    for (const sample of seen) {
      low = Math.min(low, sample.kinetic, sample.elastic, sample.potential, sample.total);
      high = Math.max(high, sample.kinetic, sample.elastic, sample.potential, sample.total);
    }
    const y = (value) => height - 3 - ((value - low) / (high - low)) * (height - 6);
    const x = (time) => width - ((end - time) / SPAN) * width;
    pen.lineWidth = 1;
    pen.strokeStyle = style.getPropertyValue("--pv-edge");
    pen.beginPath();
    pen.moveTo(0, y(0));
    pen.lineTo(width, y(0));
    pen.stroke();
    pen.lineWidth = 1.5;
    pen.lineJoin = "round";
    for (const [name, colour] of LINES) {
      pen.strokeStyle = style.getPropertyValue(colour);
      pen.beginPath();
      seen.forEach((sample, i) => (i ? pen.lineTo(x(sample.time), y(sample[name])) : pen.moveTo(x(sample.time), y(sample[name]))));
      pen.stroke();
      write(this.values.get(name), `${short(samples.at(-1)[name])} J`);
    }
  }
}

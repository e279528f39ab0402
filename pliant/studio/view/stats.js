// What the view measures of itself: rates, and the time from a drag to the frame that shows it.
const KEPT = 600;

export class Stats {
  constructor() {
    this.updates = 0; // frames applied per second
    this.fps = 0; // pictures drawn per second
    this.applications = 0; // frames applied since the start
    this.drawings = 0;
    this.lastFrame = null;
    this.lastTime = 0;
    this.scene = null;
    this.latencies = []; // ms from sending a drag to the frame that carries it
    this.seq = 0;
    this.waiting = [];
    this.mark = { time: 0, applications: 0, drawings: 0 };
  }

  applied(header, client) {
    this.applications++;
    this.lastFrame = header.frame;
    this.lastTime = header.time;
    this.scene = header.scene;
    const seen = client === null ? undefined : header.drags?.[client];
    if (seen === undefined) return;
    const now = performance.now();
    while (this.waiting.length && this.waiting[0].seq <= seen) this.latencies.push(now - this.waiting.shift().time);
    if (this.latencies.length > KEPT) this.latencies.splice(0, this.latencies.length - KEPT);
  }

  /** The number of a drag that is sent now. */
  sent() {
    this.seq++;
    this.waiting.push({ seq: this.seq, time: performance.now() });
    if (this.waiting.length > KEPT) this.waiting.shift();
    return this.seq;
  }

  forget() {
    this.waiting = [];
  }

  drawn() {
    this.drawings++;
  }

  measure(now) {
    const { time, applications, drawings } = this.mark;
    const seconds = (now - time) / 1000;
    if (seconds < 0.8) return false;
    this.updates = (this.applications - applications) / seconds;
    this.fps = (this.drawings - drawings) / seconds;
    this.mark = { time: now, applications: this.applications, drawings: this.drawings };
    return true;
  }
}

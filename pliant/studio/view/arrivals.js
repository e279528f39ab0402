// What the stream brings: scenes, frames, which are acknowledged once they are drawn, and notes.
import { THEMES } from "./colours.js";
import { show } from "./dom.js";
import { WIDE } from "./look.js";
import { sentence } from "./stream.js";
import { World } from "./world.js";

export const ROOMY = 900; // pixels of width from which the read-outs begin unfolded

export class Arrivals {
  constructor(view) {
    this.view = view;
    this.next = null; // the world of a SCENE whose first frame has not come yet
    this.unacknowledged = [];
    const { stream } = view;
    stream.on("state", (on) => this.#state(on));
    stream.on("scene", (message) => this.#scene(message));
    stream.on("frame", (message) => this.#frame(message));
    stream.on("note", (note) => this.#note(note));
    stream.on("trouble", (text) => view.toasts.say(text, "error"));
  }

  #state(on) {
    const { view } = this;
    show(view.badge, !on);
    view.badge.classList.toggle("pv-has-world", view.world !== null);
    if (!on) {
      this.unacknowledged = [];
      this.next?.dispose();
      this.next = null;
      view.tools.cancel();
      view.stats.forget();
    } else view.displays.send();
    view.emit("state", { connected: on });
  }

  #scene(message) {
    const { view } = this;
    this.next?.dispose();
    this.next = new World(message, view.materials, THEMES[view.themeName]);
    if (!this.next.lanes.some((lane) => lane.bodies.length)) this.#enter(); // no frame is needed to show nothing
    view.emit("scene", { scene: message.header.scene, name: message.header.name });
  }

  /** Shows the newest scene; the old one stays until the new one has a frame, so that nothing flickers. */
  #enter() {
    const { view } = this;
    const { stage } = view;
    const old = view.world;
    view.world = this.next;
    this.#keepDrag();
    this.next = null;
    stage.scene.add(view.world.group);
    old?.dispose();
    const { header } = view.world;
    view.displays.keep(view.world.can);
    view.keepTool();
    if (!old && view.foldByWidth && view.root.clientWidth < ROOMY) view.hud.toggle(true);
    if (!old || old.header.name !== header.name) {
      view.pokeRadius = 0.12 * view.sceneSize();
      view.look.unframed = true;
      view.selected = null;
      view.hud.clear();
    }
    const lanes = view.world.lanes.length;
    if (lanes > 1 && (old?.lanes.length ?? 1) === 1) view.hud.toggle(true); // it would cover a lane
    const aspect = Math.min(WIDE, stage.camera.aspect);
    view.resize();
    // Narrower viewports step back, so that what was seen is still seen.
    if (old && old.lanes.length !== lanes) stage.dolly(aspect / Math.min(WIDE, stage.camera.aspect));
    view.displays.dress();
    view.toolbar.update();
  }

  // A drag goes on in the new scene where its body is still there.
  #keepDrag() {
    const { dragging, world } = this.view;
    const bodies = world.lanes[dragging?.lane]?.bodies ?? [];
    const body = bodies.find((one) => one.name === dragging?.name);
    if (body && dragging.vertex < body.about.vertices) dragging.body = body.number;
    else this.view.tools.cancel();
  }

  #frame(message) {
    const { view } = this;
    const { header } = message;
    if (this.next && header.scene === this.next.number) {
      if (this.next.take(message)) this.#enter();
    }
    if (view.world && header.scene === view.world.number) this.#apply(message);
    if (view.drawing) this.unacknowledged.push(header.frame);
    else view.stream.acknowledge(header.frame);
  }

  #apply(message) {
    const { view } = this;
    const { header } = message;
    const { client } = view.stream;
    view.world.lanes.forEach((lane, l) => (lane.marks.client = view.dragging?.lane === l ? client : null));
    if (!view.world.take(message)) return;
    view.last = header;
    view.stats.applied(header, client);
    if (view.look.unframed && view.world.vertices) view.look.first(); // an empty scene gives nothing to look at yet
    view.displays.take(header);
    view.legend.take(header.heat);
    view.transport.take(header);
    view.hud.take(header);
    view.touch();
  }

  #note(note) {
    const { view } = this;
    if (note.event === "notice") view.toasts.say(note.text, note.level);
    else if (note.error) view.toasts.say(sentence(note.error), "error");
    view.emit("note", note);
  }

  /** Asks for more frames, now that those which came are drawn. */
  acknowledge() {
    this.unacknowledged.forEach((frame) => this.view.stream.acknowledge(frame));
    this.unacknowledged = [];
  }

  dispose() {
    this.next?.dispose();
  }
}

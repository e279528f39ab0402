// What happens with every picture of the browser: gestures go on, the scene is drawn, read-outs are written.
import { QUALITIES } from "./stage.js";

const READOUT_MS = 200;
const HOVER_MS = 60;
const SLOW = 24; // pictures per second below which the quality is lowered
const CURSORS = { drag: "grab", pin: "pointer", select: "pointer", throw: "grab" };

export class Loop {
  constructor(view) {
    this.view = view;
    this.hovered = null; // the pointer that rests on the picture, until it is looked at
    this.hoverTime = 0;
    this.readoutTime = 0;
    this.slowFor = 0;
    this.request = requestAnimationFrame((now) => this.#tick(now));
  }

  #tick(now) {
    const { view } = this;
    this.request = requestAnimationFrame((then) => this.#tick(then));
    view.tools.tick();
    view.transport.tick();
    if (view.drawing) {
      if (view.stage.controls.update()) view.touch();
      if (this.hovered && now - this.hoverTime > HOVER_MS) this.#hover(now);
      if (view.dirty) this.#draw();
      view.arrivals.acknowledge();
    }
    if (now - this.readoutTime > READOUT_MS) {
      this.readoutTime = now;
      if (view.stats.measure(now)) this.#adapt();
      view.hud.draw(view.stats);
      if (view.last) view.captions.take(view.last.stats.lanes);
    }
  }

  // Where pictures come too slowly they get coarser; a hidden page measures nothing.
  #adapt() {
    const { stage, stats } = this.view;
    const slow = this.view.drawing && !document.hidden && stats.updates > 0 && stats.fps < SLOW;
    this.slowFor = slow ? this.slowFor + 1 : 0;
    if (this.slowFor < 3 || stage.quality + 1 >= QUALITIES.length) return;
    this.slowFor = 0;
    stage.setQuality(stage.quality + 1);
    this.view.root.classList.add("pv-thrifty");
    this.view.resize();
  }

  #hover(now) {
    const { view } = this;
    this.hoverTime = now;
    const pointer = this.hovered;
    this.hovered = null;
    if (!view.world || view.tool === "cut") return;
    const hit = view.tools.hit(pointer);
    if (view.tool === "poke") {
      if (hit) view.pokeDepth = hit.point;
      view.pokePlace(pointer);
    } else view.canvas.style.cursor = hit ? CURSORS[view.tool] : "";
  }

  #draw() {
    const { view } = this;
    const { world, stage } = view;
    view.dirty = false;
    if (world) {
      const size = view.sceneSize();
      view.displays.dress();
      if (view.last?.poke) view.ghost.visible = false;
      stage.light(world.bounds);
      stage.range(world.bounds.radius);
      const away = stage.camera.position.distanceTo(stage.controls.target);
      for (const ground of world.grounds) ground.follow(stage.controls.target, away, size);
      for (const plane of world.sized) plane.scale.setScalar(3 * Math.max(world.bounds.radius, size));
      world.lanes.forEach((lane, l) => lane.marks.own(view.dragging?.lane === l ? view.dragging : null, lane.bodies, size));
      const points = Math.max(2, Math.min(6, 55 / Math.cbrt(world.particles + 1)));
      view.materials.pointSize.value = points * stage.renderer.getPixelRatio();
    }
    stage.draw(world);
    view.stats.drawn();
  }

  stop() {
    cancelAnimationFrame(this.request);
  }
}

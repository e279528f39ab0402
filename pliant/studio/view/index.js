// The view: one element that shows the stream of a studio and sends it what the user does.
import { THREE } from "nicegui-scene";
import { Arrivals, ROOMY } from "./arrivals.js";
import { THEMES } from "./colours.js";
import { Captions } from "./captions.js";
import { Displays } from "./displays.js";
import { make } from "./dom.js";
import { Emitter } from "./emitter.js";
import { FileDrop } from "./file_drop.js";
import { Hud } from "./hud.js";
import { Help, Keys } from "./keys.js";
import { Legend } from "./legend.js";
import { Look } from "./look.js";
import { Loop } from "./loop.js";
import { makeMaterials, paintMaterials } from "./materials.js";
import { Overlay } from "./overlay.js";
import { onPlane } from "./picking.js";
import { Stage } from "./stage.js";
import { Stats } from "./stats.js";
import { Stream } from "./stream.js";
import { addStyle } from "./style.js";
import { Toasts } from "./toasts.js";
import { Toolbar } from "./toolbar.js";
import { listen, Tools } from "./tools.js";
import { Transport } from "./transport.js";

/**
 * Options: url (of the stream), uploadUrl (null: files are only told), theme ('auto', 'light', 'dark'),
 * draw (false: nothing is drawn, for measuring), folded (read-outs), bars (false: no tool and transport bar).
 * Events: 'select', 'files', 'uploaded', 'scene', 'note', 'state', 'tool'.
 */
export class PliantView extends Emitter {
  constructor(element, { url = "/stream", uploadUrl = "/upload", theme = "auto", draw = true, folded, bars = true } = {}) {
    super();
    addStyle();
    this.element = element;
    this.drawing = draw;
    this.stats = new Stats();
    this.world = null;
    this.last = null;
    this.tool = "drag";
    this.wished = null; // the tool that the scene does not offer now
    this.strength = 1;
    this.pokeRadius = 0;
    this.pokeDepth = null;
    this.dragging = null;
    this.removers = [];
    this.materials = makeMaterials();

    this.canvas = make("canvas", { "aria-label": "The simulated scene" });
    this.root = make("div", { class: "pliant-view", tabindex: "-1" }, this.canvas);
    element.append(this.root);
    this.stage = new Stage(this.canvas);
    this.ghost = new THREE.Mesh(new THREE.SphereGeometry(1, 48, 24), this.materials.poke);
    this.ghost.visible = false;
    this.stage.scene.add(this.ghost);
    this.stream = new Stream(url);
    this.look = new Look(this);
    this.displays = new Displays(this);
    this.foldByWidth = folded === undefined;
    this.#makePanels(folded ?? element.clientWidth < ROOMY, bars, uploadUrl);
    this.tools = new Tools(this);
    this.arrivals = new Arrivals(this);
    this.#listen(theme);
    this.root.classList.toggle("pv-thrifty", this.stage.quality > 0);
    this.resize();
    this.toolbar.update();
    this.loop = new Loop(this);
    window.pliantView = this;
  }

  #makePanels(folded, bars, uploadUrl) {
    this.captions = new Captions();
    this.overlay = new Overlay();
    this.hud = new Hud(this, folded);
    this.toolbar = new Toolbar(this);
    this.transport = new Transport(this);
    this.legend = new Legend();
    this.toasts = new Toasts();
    this.keys = new Keys(this);
    this.help = new Help(this, this.keys);
    this.drop = new FileDrop(this, uploadUrl);
    this.badge = make("div", { class: "pv-badge pv-panel", role: "status" }, "connecting…");
    const nodes = [this.captions.node, this.overlay.svg, this.legend.node, this.badge, this.overlay.hintNode];
    if (bars) nodes.push(this.hud.node, this.toolbar.node, this.transport.node);
    this.root.append(...nodes, this.toasts.node, this.drop.node, this.help.node);
  }

  #listen(theme) {
    const dark = window.matchMedia("(prefers-color-scheme: dark)");
    this.setTheme = (name) => {
      this.themeChoice = name;
      this.#paint(name === "auto" ? (dark.matches ? "dark" : "light") : name);
    };
    this.removers.push(listen(dark, "change", () => this.setTheme(this.themeChoice)));
    this.setTheme(theme);
    const observer = new ResizeObserver(() => this.resize());
    observer.observe(this.root);
    this.removers.push(() => observer.disconnect());
    this.stage.controls.addEventListener("end", () => this.look.send());
    this.removers.push(listen(this.canvas, "webglcontextrestored", () => this.touch()));
  }

  #paint(name) {
    this.themeName = name;
    this.root.dataset.theme = name;
    this.stage.paint(name);
    paintMaterials(this.materials, THEMES[name]);
    this.world?.paint(THEMES[name]);
    this.touch();
  }

  // ---- what the parts of the view call

  /** Fits the picture into the room between the bars. */
  resize() {
    const { toolbar, transport } = this;
    this.stage.insets = { top: toolbar.bar.offsetHeight + 20, bottom: transport.node.offsetHeight + 20 };
    this.stage.resize(this.root.clientWidth, this.root.clientHeight, this.world?.lanes.length ?? 1);
    this.captions.place(this.stage.rects, this.world?.lanes ?? []);
    if (this.last) this.captions.take(this.last.stats.lanes);
    this.touch();
  }

  /** Asks for a new picture. */
  touch() {
    this.dirty = true;
  }

  frameScene() {
    this.look.frame();
  }

  sceneSize() {
    const sizes = this.world?.lanes.flatMap((lane) => lane.bodies.map((body) => body.about.size ?? 0)) ?? [];
    return Math.max(...sizes, 0) || 1;
  }

  offers(tool) {
    return tool === "select" || Boolean(this.world?.header.tools.includes(tool));
  }

  chooseTool(name) {
    this.tool = name;
    this.wished = null;
    this.tools.choose(name);
    this.ghost.visible = false;
    this.overlay.hint(null);
    this.toolbar.update();
    this.touch();
    this.emit("tool", { name });
  }

  /** Takes another tool where the scene does not offer the one in hand, which is taken up again once it does. */
  keepTool() {
    const wanted = this.wished ?? this.tool;
    if (this.tool === wanted && this.offers(wanted)) return;
    const next = this.offers(wanted) ? wanted : this.world.header.tools[0] ?? "select";
    this.chooseTool(next);
    this.wished = next === wanted ? null : wanted;
  }

  setStrength(value) {
    this.strength = value;
    this.toolbar.update();
  }

  setPokeRadius(radius) {
    const size = this.sceneSize();
    this.pokeRadius = Math.min(Math.max(radius, 0.005 * size), size);
    this.ghost.scale.setScalar(this.pokeRadius);
    this.toolbar.update();
    this.touch();
  }

  pokePlace(pointer) {
    const place = onPlane(this.stage.camera, pointer.ray, this.pokeDepth ?? this.world.bounds.center);
    this.ghost.position.copy(place);
    this.ghost.scale.setScalar(this.pokeRadius);
    this.ghost.visible = !this.last?.poke;
    this.touch();
    return place;
  }

  sendDrag(target) {
    this.stream.post("drag", { target, seq: this.stats.sent() });
  }

  playPause() {
    this.stream.send(this.last?.stats.playing ? "pause" : "play");
  }

  /** Selects the body that was hit, or nothing. */
  select(hit) {
    this.mark(hit?.body.name ?? null);
    this.emit("select", hit && { body: hit.body.name, number: hit.body.number, lane: hit.body.lane, vertex: hit.vertex, point: hit.point.toArray() });
  }

  /** Marks a body by its name without an event; null marks none. */
  mark(name) {
    this.selected = name;
    this.displays.dress();
    this.touch();
  }

  /** Pins the place that was hit, or frees it: the server knows which, and frames tell where pins are. */
  togglePin({ body, vertex }) {
    this.stream.send("pin", { body: body.name, vertex });
  }

  unpinAll() {
    this.stream.send("unpin", { body: null });
  }

  hover(pointer) {
    this.loop.hovered = pointer;
  }

  escape() {
    this.tools.cancel();
    if (!this.help.node.hidden) this.help.toggle(false);
    else if (this.selected) this.select(null);
    else if (this.tool !== "drag" && this.offers("drag")) this.chooseTool("drag");
  }

  /** Whether a key pressed at a target is meant for the view. */
  listens(target) {
    return target === document.body || target === document.documentElement || this.root.contains(target);
  }

  /** The place of a vertex on the page, for tests: {x, y}. */
  placeOf(lane, body, vertex) {
    const frame = this.canvas.getBoundingClientRect();
    const place = this.stage.project(this.world.lanes[lane].bodies[body].vertex(vertex), lane);
    return { x: place.x + frame.left, y: place.y + frame.top };
  }

  dispose() {
    this.loop.stop();
    this.tools.dispose();
    this.keys.dispose();
    this.drop.dispose();
    this.stream.close();
    this.removers.forEach((remove) => remove());
    this.arrivals.dispose();
    this.world?.dispose();
    this.ghost.geometry.dispose();
    this.materials.dispose();
    this.stage.dispose();
    this.root.remove();
    this.clear();
    if (window.pliantView === this) delete window.pliantView;
  }
}

// The view: one element that shows the stream of a studio and sends it what the user does.
import { THREE } from "nicegui-scene";
import { THEMES } from "./colours.js";
import { Captions } from "./captions.js";
import { make, show } from "./dom.js";
import { Emitter } from "./emitter.js";
import { FileDrop } from "./file_drop.js";
import { Hud } from "./hud.js";
import { Help, Keys } from "./keys.js";
import { Legend } from "./legend.js";
import { makeMaterials, paintMaterials } from "./materials.js";
import { onPlane } from "./picking.js";
import { QUALITIES, Stage } from "./stage.js";
import { Stats } from "./stats.js";
import { sentence, Stream } from "./stream.js";
import { addStyle } from "./style.js";
import { Toasts } from "./toasts.js";
import { Toolbar } from "./toolbar.js";
import { listen, Tools } from "./tools.js";
import { Transport } from "./transport.js";
import { World } from "./world.js";

const READOUT_MS = 200;
const WIDE = 1.5; // width over height of a picture for which scenes place their camera
const ROOMY = 900; // pixels of width from which the read-outs begin unfolded
const HOVER_MS = 60;
const SLOW = 24; // pictures per second below which the quality is lowered

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
    this.next = null; // the world of a SCENE whose first frame has not come yet
    this.last = null;
    this.tool = "drag";
    this.wished = null; // the tool that the scene does not offer now
    this.shown = { wireframe: false, particles: false, slice: false, clusters: false, heat: false, contacts: false };
    this.slice = { axis: 0, place: 0.5 };
    this.heat = null;
    this.strength = 1;
    this.pokeRadius = 0;
    this.pokeDepth = null;
    this.dragging = null;
    this.pins = [];
    this.unacknowledged = [];
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
    this.foldByWidth = folded === undefined;
    this.#makePanels(folded ?? element.clientWidth < ROOMY, bars, uploadUrl);
    this.tools = new Tools(this);
    this.#listen(theme);
    this.root.classList.toggle("pv-thrifty", this.stage.quality > 0);
    this.#resize();
    this.toolbar.update();
    this.loop = requestAnimationFrame((now) => this.#tick(now));
    window.pliantView = this;
  }

  #makePanels(folded, bars, uploadUrl) {
    this.captions = new Captions();
    this.strokeLine = document.createElementNS("http://www.w3.org/2000/svg", "line");
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("class", "pv-stroke");
    svg.append(this.strokeLine);
    this.hud = new Hud(this, folded);
    this.toolbar = new Toolbar(this);
    this.transport = new Transport(this);
    this.legend = new Legend();
    this.toasts = new Toasts();
    this.keys = new Keys(this);
    this.help = new Help(this, this.keys);
    this.drop = new FileDrop(this, uploadUrl);
    this.badge = make("div", { class: "pv-badge pv-panel", role: "status" }, "connecting…");
    this.hintNode = make("div", { class: "pv-hint", hidden: true });
    const nodes = [this.captions.node, svg, this.legend.node, this.badge, this.hintNode];
    if (bars) nodes.push(this.hud.node, this.toolbar.node, this.transport.node);
    this.root.append(...nodes, this.toasts.node, this.drop.node, this.help.node);
  }

  #listen(theme) {
    const { stream } = this;
    stream.on("state", (on) => this.#state(on));
    stream.on("scene", (message) => this.#scene(message));
    stream.on("frame", (message) => this.#frame(message));
    stream.on("note", (note) => this.#note(note));
    stream.on("trouble", (text) => this.toasts.say(text, "error"));
    const dark = window.matchMedia("(prefers-color-scheme: dark)");
    this.setTheme = (name) => {
      this.themeChoice = name;
      this.#paint(name === "auto" ? (dark.matches ? "dark" : "light") : name);
    };
    this.removers.push(listen(dark, "change", () => this.setTheme(this.themeChoice)));
    this.setTheme(theme);
    const observer = new ResizeObserver(() => this.#resize());
    observer.observe(this.root);
    this.removers.push(() => observer.disconnect());
    const moved = () => this.#sendCamera();
    this.stage.controls.addEventListener("end", moved);
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

  #resize() {
    const { toolbar, transport } = this;
    this.stage.insets = { top: toolbar.bar.offsetHeight + 20, bottom: transport.node.offsetHeight + 20 };
    this.stage.resize(this.root.clientWidth, this.root.clientHeight, this.world?.lanes.length ?? 1);
    this.captions.place(this.stage.rects, this.world?.lanes ?? []);
    if (this.last) this.captions.take(this.last.stats.lanes);
    this.touch();
  }

  #state(on) {
    show(this.badge, !on);
    this.badge.classList.toggle("pv-has-world", this.world !== null);
    if (!on) {
      this.unacknowledged = [];
      this.next = null;
      this.tools.cancel();
      this.stats.forget();
    } else this.sendLayers();
    this.emit("state", { connected: on });
  }

  #scene(message) {
    this.next?.dispose();
    this.next = new World(message, this.materials, THEMES[this.themeName]);
    if (!this.next.lanes.some((lane) => lane.bodies.length)) this.#enter(); // no frame is needed to show nothing
    this.emit("scene", { scene: message.header.scene, name: message.header.name });
  }

  /** Shows the newest scene; the old one stays until the new one has a frame, so that nothing flickers. */
  #enter() {
    const old = this.world;
    this.world = this.next;
    this.#keepDrag();
    this.next = null;
    this.stage.scene.add(this.world.group);
    old?.dispose();
    const { header } = this.world;
    for (const [name, on] of Object.entries(this.world.can)) if (!on) this.shown[name] = false;
    this.#keepTool();
    if (!old && this.foldByWidth && this.root.clientWidth < ROOMY) this.hud.toggle(true);
    if (!old || old.header.name !== header.name) {
      this.pokeRadius = 0.12 * this.sceneSize();
      this.unframed = true;
      this.selected = null;
      this.pins = [];
      this.hud.clear();
    }
    const lanes = this.world.lanes.length;
    if (lanes > 1 && (old?.lanes.length ?? 1) === 1) this.hud.toggle(true); // it would cover a lane
    const aspect = Math.min(WIDE, this.stage.camera.aspect);
    this.#resize();
    // Narrower viewports step back, so that what was seen is still seen.
    if (old && old.lanes.length !== lanes) this.stage.dolly(aspect / Math.min(WIDE, this.stage.camera.aspect));
    this.#dress();
    this.toolbar.update();
  }

  // A drag goes on in the new scene where its body is still there.
  #keepDrag() {
    const { dragging, world } = this;
    const bodies = world.lanes[dragging?.lane]?.bodies ?? [];
    const body = bodies.find((one) => one.name === dragging?.name);
    if (body && dragging.vertex < body.about.vertices) dragging.body = body.number;
    else this.tools.cancel();
  }

  /** Takes another tool where the scene does not offer the one in hand, which is taken up again once it does. */
  #keepTool() {
    const wanted = this.wished ?? this.tool;
    if (this.tool === wanted && this.offers(wanted)) return;
    const next = this.offers(wanted) ? wanted : this.world.header.tools[0] ?? "select";
    this.chooseTool(next);
    this.wished = next === wanted ? null : wanted;
  }

  #frame(message) {
    const { header } = message;
    if (this.next && header.scene === this.next.number) {
      if (this.next.take(message)) this.#enter();
    }
    if (this.world && header.scene === this.world.number) this.#apply(message);
    if (this.drawing) this.unacknowledged.push(header.frame);
    else this.stream.acknowledge(header.frame);
  }

  #apply(message) {
    const { header } = message;
    this.world.lanes.forEach((lane, l) => (lane.marks.client = this.dragging?.lane === l ? this.stream.client : null));
    if (!this.world.take(message)) return;
    this.last = header;
    this.stats.applied(header, this.stream.client);
    if (this.unframed && this.world.vertices) this.#firstLook(); // an empty scene gives nothing to look at yet
    const heat = header.heat?.name ?? null;
    if (heat !== this.heat || Boolean(heat) !== this.shown.heat) {
      this.heat = heat;
      this.shown.heat = heat !== null;
      this.materials.heatOn.value = heat ? 1 : 0;
      this.toolbar.update();
    }
    if (!header.pins && this.pins.length && performance.now() - this.pins.at(-1).since > 500) this.pins = []; // freed elsewhere
    this.legend.take(header.heat);
    this.transport.take(header);
    this.hud.take(header);
    this.touch();
  }

  #note(note) {
    if (note.event === "notice") this.toasts.say(note.text, note.level);
    else if (note.error) this.toasts.say(sentence(note.error), "error");
    this.emit("note", note);
  }

  #firstLook() {
    this.unframed = false;
    const { camera } = this.world.header;
    if (camera) {
      this.stage.camera.fov = camera.fov ?? 38;
      if (camera.up) this.stage.camera.up.fromArray(camera.up);
      const target = new THREE.Vector3(...camera.target);
      this.stage.look(new THREE.Vector3(...camera.eye), target, this.world.bounds.radius);
      // The camera was placed for a wide picture; a narrow view steps back to see as much from side to side.
      this.stage.dolly(Math.max(1, WIDE / this.stage.camera.aspect));
    } else {
      this.stage.camera.position.copy(this.stage.controls.target).add(new THREE.Vector3(0.5, 0.38, 1));
      this.frameScene();
    }
  }

  frameScene() {
    const box = this.world?.tight();
    if (!box) return;
    const floor = this.world.grounds[0]?.mesh.position.y ?? null;
    this.stage.frame(box, floor);
    this.touch();
    this.#sendCamera();
  }

  #sendCamera() {
    const { camera, controls } = this.stage;
    const place = { eye: camera.position.toArray(), target: controls.target.toArray(), up: camera.up.toArray(), fov: camera.fov };
    const text = JSON.stringify(place);
    if (text === this.cameraSent) return; // a click moves nothing
    this.cameraSent = text;
    this.stream.post("camera", place);
  }

  // What is drawn of the bodies follows from what is switched on.
  #dress() {
    if (!this.world) return;
    const { shown } = this;
    const ghostly = shown.particles && !shown.slice;
    const { body } = this.materials;
    if (body.transparent !== ghostly) {
      body.transparent = ghostly;
      body.opacity = ghostly ? 0.22 : 1;
      body.depthWrite = !ghostly;
      body.needsUpdate = true;
    }
    for (const lane of this.world.lanes) {
      lane.marks.showContacts = shown.contacts;
      for (const one of lane.bodies) {
        const sliced = shown.slice && one.slice && one.hasParticles && !one.slice.waiting;
        one.skin.visible = !sliced;
        one.wire.visible = shown.wireframe && !sliced;
        one.showClusters(shown.clusters);
        if (one.points) one.points.visible = shown.particles && Boolean(one.hasParticles);
        if (one.slice) one.slice.mesh.visible = Boolean(sliced);
        if (one.slice && shown.slice) {
          one.slice.set(this.slice.axis, this.slice.place);
          if (one.slice.waiting && one.hasParticles) one.slice.choose();
        }
        one.selected = this.selected === one.name;
      }
    }
  }

  // ---- what bars, keys and tools call

  /** Asks for a new picture. */
  touch() {
    this.dirty = true;
  }

  offers(tool) {
    return tool === "select" || Boolean(this.world?.header.tools.includes(tool));
  }

  chooseTool(name) {
    this.tool = name;
    this.wished = null;
    this.tools.choose(name);
    this.ghost.visible = false;
    this.hint(null);
    this.toolbar.update();
    this.touch();
    this.emit("tool", { name });
  }

  toggle(name) {
    if (name === "heat") {
      const heats = this.world.header.heats.map((heat) => heat.name);
      const wanted = heats.includes(this.heatBefore) ? this.heatBefore : heats[0];
      this.setHeat(this.shown.heat ? null : wanted);
      return;
    }
    this.shown[name] = !this.shown[name];
    this.sendLayers();
    this.#dress();
    this.toolbar.update();
    this.touch();
  }

  setHeat(name) {
    if (this.heat) this.heatBefore = this.heat;
    this.stream.send("heat", { name });
  }

  sendLayers() {
    const { particles, slice, contacts } = this.shown;
    this.stream.send("layers", { particles: particles || slice, contacts, stages: this.hud.wantsStages });
  }

  setSlice(change) {
    Object.assign(this.slice, change);
    this.#dress();
    this.toolbar.update();
    this.touch();
  }

  setStrength(value) {
    this.strength = value;
    this.toolbar.update();
  }

  sceneSize() {
    const sizes = this.world?.lanes.flatMap((lane) => lane.bodies.map((body) => body.about.size ?? 0)) ?? [];
    return Math.max(...sizes, 0) || 1;
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
    this.selected = hit?.body.name ?? null;
    this.#dress();
    this.touch();
    this.emit("select", hit && { body: hit.body.name, number: hit.body.number, lane: hit.body.lane, vertex: hit.vertex, point: hit.point.toArray() });
  }

  /** Marks a body by its name without an event; null marks none. */
  mark(name) {
    this.selected = name;
    this.#dress();
    this.touch();
  }

  /** Pins the place that was hit, or frees it: the server knows which. */
  togglePin({ body, vertex, point }) {
    this.stream
      .ask("pin", { body: body.name, vertex })
      .then((held) => {
        const near = (pin) => {
          if (pin.name !== body.name || pin.vertex >= body.about.vertices) return false;
          const [x, y, z] = body.vertex(pin.vertex);
          return Math.hypot(x - point.x, y - point.y, z - point.z) < 0.04 * (body.about.size || body.box[3]);
        };
        this.pins = this.pins.filter((pin) => !near(pin));
        if (held) this.pins.push({ name: body.name, vertex, since: performance.now() });
        this.touch();
      })
      .catch((error) => error.lost || this.toasts.say(sentence(error), "error"));
  }

  unpinAll() {
    this.pins = [];
    this.stream.send("unpin", { body: null });
    this.touch();
  }

  hover(pointer) {
    this.hovered = pointer;
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
    for (const [name, value] of Object.entries(ends)) this.strokeLine.setAttribute(name, value);
    this.strokeLine.style.display = first ? "" : "none";
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

  #tick(now) {
    this.loop = requestAnimationFrame((then) => this.#tick(then));
    this.tools.tick();
    this.transport.tick();
    if (this.drawing) {
      if (this.stage.controls.update()) this.touch();
      if (this.hovered && now - (this.hoverTime ?? 0) > HOVER_MS) this.#hover(now);
      if (this.dirty) this.#draw();
      this.unacknowledged.forEach((frame) => this.stream.acknowledge(frame));
      this.unacknowledged = [];
    }
    if (now - (this.readoutTime ?? 0) > READOUT_MS) {
      this.readoutTime = now;
      if (this.stats.measure(now)) this.#adapt();
      this.hud.draw(this.stats);
      if (this.last) this.captions.take(this.last.stats.lanes);
    }
  }

  // Where pictures come too slowly they get coarser; a hidden page measures nothing.
  #adapt() {
    const slow = this.drawing && !document.hidden && this.stats.updates > 0 && this.stats.fps < SLOW;
    this.slowFor = slow ? (this.slowFor ?? 0) + 1 : 0;
    if (this.slowFor < 3 || this.stage.quality + 1 >= QUALITIES.length) return;
    this.slowFor = 0;
    this.stage.setQuality(this.stage.quality + 1);
    this.root.classList.add("pv-thrifty");
    this.#resize();
  }

  #hover(now) {
    this.hoverTime = now;
    const pointer = this.hovered;
    this.hovered = null;
    if (!this.world || this.tool === "cut") return;
    const hit = this.tools.hit(pointer);
    if (this.tool === "poke") {
      if (hit) this.pokeDepth = hit.point;
      this.pokePlace(pointer);
    } else this.canvas.style.cursor = hit ? { drag: "grab", pin: "pointer", select: "pointer", throw: "grab" }[this.tool] : "";
  }

  #draw() {
    this.dirty = false;
    const { world, stage } = this;
    if (world) {
      this.#dress();
      if (this.last?.poke) this.ghost.visible = false;
      stage.light(world.bounds);
      stage.range(world.bounds.radius);
      const away = stage.camera.position.distanceTo(stage.controls.target);
      for (const ground of world.grounds) ground.follow(stage.controls.target, away, this.sceneSize());
      for (const plane of world.sized) plane.scale.setScalar(3 * Math.max(world.bounds.radius, this.sceneSize()));
      world.lanes.forEach((lane, l) => {
        const drag = this.dragging?.lane === l ? this.dragging : null;
        lane.marks.own(drag, this.pins, lane.bodies, this.sceneSize());
      });
      this.materials.pointSize.value = Math.max(2, Math.min(6, 55 / Math.cbrt(world.particles + 1))) * this.stage.renderer.getPixelRatio();
    }
    stage.draw(world);
    this.stats.drawn();
  }

  dispose() {
    cancelAnimationFrame(this.loop);
    this.tools.dispose();
    this.keys.dispose();
    this.drop.dispose();
    this.stream.close();
    this.removers.forEach((remove) => remove());
    this.next?.dispose();
    this.world?.dispose();
    this.ghost.geometry.dispose();
    this.materials.dispose();
    this.stage.dispose();
    this.root.remove();
    this.clear();
    if (window.pliantView === this) delete window.pliantView;
  }
}

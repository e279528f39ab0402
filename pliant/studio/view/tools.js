// The tools: which gesture a press begins, and when it ends.
import { THREE } from "nicegui-scene";
import { pick, rayAt } from "./picking.js";
import { ClickGesture, CutGesture, DragGesture, PokeGesture, ThrowGesture } from "./gestures.js";

/** Tools in the order of the toolbar: name, label, shortcut. 'select' is always there. */
export const TOOLS = [
  ["drag", "Drag a body", "D"],
  ["pin", "Pin a point; shift-click frees all", "P"],
  ["throw", "Throw a body", "T"],
  ["poke", "Poke with a ball", "B"],
  ["cut", "Cut along a stroke", "X"],
  ["select", "Select a body", "S"],
];

const SLACK = 6; // pixels by which a pointer may miss what is thin

export class Tools {
  constructor(view) {
    this.view = view;
    this.name = "drag";
    this.gesture = null;
    this.pointerId = null;
    this.last = null; // the newest event of the gesture's pointer: where that finger is
    this.canvas = view.canvas;
    const root = view.root;
    this.removers = [
      listen(root, "pointerdown", (event) => this.#down(event), true),
      listen(this.canvas, "pointermove", (event) => this.#move(event)),
      listen(this.canvas, "pointerup", (event) => this.#up(event)),
      listen(this.canvas, "pointercancel", (event) => this.#lost(event)),
      listen(this.canvas, "lostpointercapture", (event) => this.#lost(event)),
      listen(this.canvas, "wheel", (event) => this.#wheel(event), { passive: false, capture: true }),
      listen(this.canvas, "contextmenu", (event) => event.preventDefault()),
      listen(window, "blur", () => this.cancel()),
    ];
  }

  choose(name) {
    this.cancel();
    this.name = name;
    // Tools that act on empty space leave the camera the right button.
    const wide = name === "poke" || name === "cut";
    const { controls } = this.view.stage;
    controls.mouseButtons.LEFT = wide ? null : THREE.MOUSE.ROTATE;
    controls.mouseButtons.RIGHT = wide ? THREE.MOUSE.ROTATE : THREE.MOUSE.PAN;
    this.canvas.style.cursor = { cut: "crosshair", poke: "crosshair", select: "default" }[name] ?? "";
  }

  pointer(event, rect = null) {
    const frame = this.canvas.getBoundingClientRect();
    const px = event.clientX - frame.left;
    const py = event.clientY - frame.top;
    const stage = this.view.stage;
    const place = rect ? { ...stage.within(rect, px, py), lane: this.lane } : stage.at(px, py);
    return { ...place, px, py, ray: rayAt(stage.camera, place.x, place.y), shift: event.shiftKey };
  }

  hit(pointer) {
    const lane = this.view.world?.lanes[pointer.lane];
    if (!lane) return null;
    const { camera } = this.view.stage;
    const height = pointer.rect?.height ?? this.canvas.clientHeight;
    const slack = (2 * SLACK * Math.tan(THREE.MathUtils.degToRad(camera.fov) / 2)) / height;
    return pick(lane.bodies, pointer.ray, slack);
  }

  #down(event) {
    if (event.target !== this.canvas || event.replayed) return;
    this.view.root.focus({ preventScroll: true });
    if (this.gesture) {
      if (event.pointerType === "touch") this.#second();
      return;
    }
    if (event.button !== 0) return;
    const pointer = this.pointer(event);
    const gesture = this.#begin(pointer);
    if (!gesture) return;
    this.gesture = gesture;
    this.lane = pointer.lane;
    this.rect = pointer.rect;
    this.pointerId = event.pointerId;
    this.last = event;
    if (!(gesture instanceof ClickGesture)) this.view.stage.controls.enabled = false;
    try {
      this.canvas.setPointerCapture(event.pointerId);
    } catch {
      // a pointer that is already gone: its 'up' comes without capture
    }
  }

  #begin(pointer) {
    const { view } = this;
    if (!view.world) return null;
    if (this.name === "poke") return new PokeGesture(view, pointer);
    if (this.name === "cut") return new CutGesture(view, pointer);
    const hit = this.hit(pointer);
    if (this.name === "select") return new ClickGesture(pointer, () => view.select(hit));
    if (this.name === "pin" && pointer.shift) return new ClickGesture(pointer, () => view.unpinAll(hit));
    if (!hit) return this.name === "drag" ? new ClickGesture(pointer, () => view.select(null)) : null;
    if (this.name === "pin") return new ClickGesture(pointer, () => view.togglePin(hit));
    if (this.name === "throw") return new ThrowGesture(view, hit);
    return new DragGesture(view, hit, pointer);
  }

  // A second finger: what the first one did ends, and both go to the camera.
  #second() {
    const { pointerId, clientX, clientY } = this.last;
    this.cancel();
    const again = new PointerEvent("pointerdown", {
      pointerId, clientX, clientY, pointerType: "touch", isPrimary: true, bubbles: true, button: 0, buttons: 1,
    });
    again.replayed = true;
    try {
      this.canvas.dispatchEvent(again);
    } catch {
      // the first finger has left
    }
  }

  #move(event) {
    if (this.gesture && event.pointerId === this.pointerId) {
      this.last = event;
      this.gesture.move(this.pointer(event, this.rect));
    } else if (!this.gesture && event.buttons === 0) this.view.hover(this.pointer(event));
  }

  #up(event) {
    if (!this.gesture || event.pointerId !== this.pointerId) return;
    const gesture = this.#let();
    gesture.end(this.pointer(event, this.rect));
  }

  #lost(event) {
    if (event.pointerId === this.pointerId) this.cancel();
  }

  #wheel(event) {
    const amount = Math.sign(event.deltaY) * Math.min(0.08, Math.abs(event.deltaY) / 1500);
    if (this.gesture?.wheel) this.gesture.wheel(amount);
    else if (!this.gesture && this.name === "poke" && !event.ctrlKey) {
      this.view.setPokeRadius(this.view.pokeRadius * Math.exp(-2 * amount));
    } else if (!this.gesture) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }

  #let() {
    const gesture = this.gesture;
    this.gesture = null;
    const id = this.pointerId;
    this.pointerId = null;
    this.view.stage.controls.enabled = true;
    if (this.canvas.hasPointerCapture?.(id)) this.canvas.releasePointerCapture(id);
    return gesture;
  }

  cancel() {
    if (this.gesture) this.#let().cancel();
  }

  tick() {
    this.gesture?.tick?.();
  }

  dispose() {
    this.cancel();
    this.removers.forEach((remove) => remove());
  }
}

export function listen(node, name, listener, options) {
  node.addEventListener(name, listener, options);
  return () => node.removeEventListener(name, listener, options);
}

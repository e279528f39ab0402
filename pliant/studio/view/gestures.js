// What a press of the pointer does with each tool. A gesture has move(pointer), end(pointer), cancel(), and may
// have tick() (once per drawn frame) and wheel(amount). A pointer is {x, y, lane, ray, rect, px, py, shift}.
import { THREE } from "nicegui-scene";
import { onPlane } from "./picking.js";
import { arrowGeometry } from "./marks.js";

const CLICK = 5; // pixels a pointer may move and still click
const THROW_RATE = 5; // metres per second for each metre the arrow is long

/** Pulls a vertex towards the pointer. */
export class DragGesture {
  constructor(view, hit, pointer) {
    this.view = view;
    this.hit = hit;
    this.start = pointer;
    this.depth = 0;
    this.pointer = pointer;
    this.moved = false;
    this.target = hit.point.clone();
    this.fresh = false;
    const { body, vertex, point } = hit;
    view.stream.send("grab", { body: body.name, vertex, at: point.toArray(), strength: view.strength });
    view.dragging = { lane: body.lane, name: body.name, body: body.number, vertex, target: this.target };
  }

  move(pointer) {
    this.pointer = pointer;
    if (Math.hypot(pointer.px - this.start.px, pointer.py - this.start.py) > CLICK) this.moved = true;
    this.#aim();
  }

  wheel(amount) {
    this.depth += amount * this.hit.distance;
    this.depth = Math.max(this.depth, -0.9 * this.hit.distance);
    this.moved = true;
    this.#aim();
  }

  #aim() {
    this.target.copy(onPlane(this.view.stage.camera, this.pointer.ray, this.hit.point, this.depth));
    this.fresh = true;
    this.view.touch();
  }

  tick() {
    if (!this.fresh) return;
    this.fresh = false;
    this.view.sendDrag(this.target.toArray());
  }

  end() {
    this.tick();
    this.cancel();
    if (!this.moved) this.view.select(this.hit);
  }

  cancel() {
    this.view.stream.send("release");
    this.view.dragging = null;
    this.view.touch();
  }
}

/** Draws an arrow; the body is given its velocity at the end. */
export class ThrowGesture {
  constructor(view, hit) {
    this.view = view;
    this.hit = hit;
    this.velocity = new THREE.Vector3();
    this.arrow = new THREE.Mesh(arrowGeometry(), view.materials.accent);
    this.arrow.renderOrder = 6;
    this.arrow.visible = false;
    view.stage.scene.add(this.arrow);
  }

  move(pointer) {
    const along = onPlane(this.view.stage.camera, pointer.ray, this.hit.point).sub(this.hit.point);
    const length = along.length();
    this.velocity.copy(along).multiplyScalar(THROW_RATE);
    this.arrow.visible = length > 1e-9;
    if (this.arrow.visible) {
      const thick = 0.03 * this.view.world.bounds.radius;
      this.arrow.position.copy(this.hit.point);
      this.arrow.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), along.divideScalar(length));
      this.arrow.scale.set(thick, length, thick);
    }
    this.view.overlay.hint(`${this.velocity.length().toFixed(1)} m/s`, pointer);
    this.view.touch();
  }

  end() {
    if (this.velocity.lengthSq() > 0) {
      this.view.stream.send("throw", { body: this.hit.body.name, velocity: this.velocity.toArray() });
    }
    this.cancel();
  }

  cancel() {
    this.arrow.removeFromParent();
    this.arrow.geometry.dispose();
    this.view.overlay.hint(null);
    this.view.touch();
  }
}

/** Pushes a ball around on the plane through the depth that was hit last. */
export class PokeGesture {
  constructor(view, pointer) {
    this.view = view;
    this.fresh = true;
    this.move(pointer);
  }

  move(pointer) {
    this.place = this.view.pokePlace(pointer);
    this.fresh = true;
  }

  wheel(amount) {
    this.view.setPokeRadius(this.view.pokeRadius * Math.exp(-2 * amount));
    this.fresh = true;
  }

  tick() {
    if (!this.fresh) return;
    this.fresh = false;
    this.view.stream.post("poke", { position: this.place.toArray(), radius: this.view.pokeRadius });
  }

  end() {
    this.cancel();
  }

  cancel() {
    this.view.stream.send("unpoke");
  }
}

/** Draws a stroke and cuts along the wedge between the rays through its ends. */
export class CutGesture {
  constructor(view, pointer) {
    this.view = view;
    this.first = pointer;
    this.last = pointer;
    view.overlay.stroke(pointer, pointer);
  }

  move(pointer) {
    this.last = pointer;
    this.view.overlay.stroke(this.first, pointer);
  }

  end() {
    const { first, last, view } = this;
    this.cancel();
    if (Math.hypot(first.px - last.px, first.py - last.py) <= CLICK) return;
    const target = view.stage.controls.target;
    const place = (pointer) => onPlane(view.stage.camera, pointer.ray, target).toArray();
    view.stream.send("cut", { eye: view.stage.camera.position.toArray(), first: place(first), last: place(last) });
  }

  cancel() {
    this.view.overlay.stroke(null);
  }
}

/** A press that acts when it ends where it began. */
export class ClickGesture {
  constructor(pointer, act) {
    this.start = pointer;
    this.act = act;
    this.moved = false;
  }

  move(pointer) {
    this.moved ||= Math.hypot(pointer.px - this.start.px, pointer.py - this.start.py) > CLICK;
  }

  end(pointer) {
    if (!this.moved) this.act(pointer);
  }

  cancel() {}
}

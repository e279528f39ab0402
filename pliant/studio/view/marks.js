// Marks in the scene: contact dots and arrows, dragged points and their targets, pins, the poking ball.
import { THREE } from "nicegui-scene";

const MOST_CONTACTS = 4000;
const MOST_PINS = 64; // a frame tells no more
const up = new THREE.Vector3(0, 1, 0);

/** The marks of one lane. */
export class LaneMarks {
  constructor(materials) {
    this.materials = materials;
    this.group = new THREE.Group();
    this.contacts = null;
    this.showContacts = false;
    this.pulls = [];
    this.client = null; // whose pulls the view draws itself, without waiting for the server
    this.mine = new Tie(materials, this.group);
    this.pins = new PinMarks(materials, this.group);
    this.ball = new THREE.Mesh(new THREE.SphereGeometry(1, 48, 24), materials.poke);
    this.ball.visible = false;
    this.ball.castShadow = true;
    this.group.add(this.ball);
  }

  take(header, lane, contacts, radius) {
    this.ball.visible = Boolean(header.poke);
    if (header.poke) {
      this.ball.position.fromArray(header.poke.position);
      this.ball.scale.setScalar(header.poke.radius);
    }
    this.pins.places = (header.pinned ?? []).filter((pin) => pin[0] === lane);
    const mine = (header.pulls ?? []).filter((pull) => pull.lane === lane && pull.client !== this.client);
    while (this.pulls.length < mine.length) this.pulls.push(new Tie(this.materials, this.group));
    this.pulls.forEach((tie, i) => tie.take(mine[i] ?? null, radius));
    this.#takeContacts(contacts, lane, radius);
  }

  /** Draws the view's own drag where the newest frame has it, and marks in the size of the scene. */
  own(drag, bodies, size) {
    const body = drag && bodies[drag.body];
    this.mine.take(body?.box ? { at: body.vertex(drag.vertex), target: drag.target.toArray() } : null, size / 2);
    this.pins.draw(0.012 * size);
  }

  #takeContacts(contacts, lane, radius) {
    if (!this.showContacts || !contacts) {
      if (this.contacts) this.contacts.visible = false;
      return;
    }
    if (!this.contacts) this.#makeContacts();
    let most = 0;
    for (let i = 0; i < contacts.length; i += 8) if (contacts[i + 7] === lane) most = Math.max(most, contacts[i + 6]);
    const place = new THREE.Vector3();
    const along = new THREE.Vector3();
    const turn = new THREE.Quaternion();
    const size = new THREE.Vector3();
    const matrix = new THREE.Matrix4();
    const thick = (0.012 * radius) / Math.max(1, Math.cbrt(contacts.length / 8 / 40)); // many dots are small dots
    let used = 0;
    for (let i = 0; i < contacts.length && used < MOST_CONTACTS; i += 8) {
      if (contacts[i + 7] !== lane) continue;
      place.set(contacts[i], contacts[i + 1], contacts[i + 2]);
      along.set(contacts[i + 3], contacts[i + 4], contacts[i + 5]);
      turn.setFromUnitVectors(up, along);
      const length = most > 0 ? Math.sqrt(contacts[i + 6] / most) : 0;
      size.set(thick, 0.35 * radius * length, thick);
      this.arrows.setMatrixAt(used, matrix.compose(place, turn, size));
      this.dots.setMatrixAt(used, matrix.compose(place, turn, size.setScalar(0.8 * thick)));
      used++;
    }
    for (const mesh of [this.arrows, this.dots]) {
      mesh.count = used;
      mesh.instanceMatrix.needsUpdate = true;
    }
    this.contacts.visible = true;
  }

  #makeContacts() {
    this.arrows = new THREE.InstancedMesh(arrowGeometry(), this.materials.contact, MOST_CONTACTS);
    this.dots = new THREE.InstancedMesh(new THREE.SphereGeometry(1, 8, 6), this.materials.contact, MOST_CONTACTS);
    this.contacts = new THREE.Group();
    for (const mesh of [this.arrows, this.dots]) {
      mesh.frustumCulled = false;
      mesh.renderOrder = 4;
      this.contacts.add(mesh);
    }
    this.group.add(this.contacts);
  }

  dispose() {
    this.ball.geometry.dispose();
    this.mine.dispose();
    this.pulls.forEach((tie) => tie.dispose());
    this.pins.dispose();
    for (const mesh of [this.arrows, this.dots]) {
      mesh?.geometry.dispose();
      mesh?.dispose();
    }
  }
}

/** A dot with a rim at every pin that a frame tells of. */
export class PinMarks {
  constructor(materials, parent) {
    this.places = []; // [lane, x, y, z] of each
    const ball = new THREE.SphereGeometry(1, 16, 12);
    this.rims = new THREE.InstancedMesh(ball, materials.pinRim, MOST_PINS); // so that dots are seen on any colour
    this.dots = new THREE.InstancedMesh(ball, materials.pin, MOST_PINS);
    [this.rims, this.dots].forEach((mesh, k) => {
      mesh.renderOrder = 4 + k;
      mesh.frustumCulled = false;
      mesh.count = 0;
      parent.add(mesh);
    });
  }

  draw(radius) {
    const matrix = new THREE.Matrix4();
    for (const [mesh, size] of [[this.rims, 1.5 * radius], [this.dots, radius]]) {
      mesh.count = Math.min(this.places.length, MOST_PINS);
      for (let k = 0; k < mesh.count; k++) {
        const [, x, y, z] = this.places[k];
        mesh.setMatrixAt(k, matrix.makeScale(size, size, size).setPosition(x, y, z));
      }
      mesh.instanceMatrix.needsUpdate = true;
    }
  }

  dispose() {
    this.dots.geometry.dispose();
    this.dots.dispose();
    this.rims.dispose();
  }
}

/** A dot on the body and a line to where it is pulled. */
export class Tie {
  constructor(materials, parent) {
    this.dot = new THREE.Mesh(new THREE.SphereGeometry(1, 16, 12), materials.accent);
    this.aim = new THREE.Mesh(new THREE.SphereGeometry(1, 16, 12), materials.accent);
    this.line = new THREE.Line(new THREE.BufferGeometry(), materials.accentLine);
    this.line.geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array(6), 3));
    this.line.frustumCulled = false;
    this.all = [this.dot, this.aim, this.line];
    for (const part of this.all) {
      part.renderOrder = 5;
      part.visible = false;
      parent.add(part);
    }
  }

  take(pull, radius) {
    for (const part of this.all) part.visible = pull !== null;
    if (!pull) return;
    this.dot.position.fromArray(pull.at);
    this.dot.scale.setScalar(0.02 * radius);
    this.aim.position.fromArray(pull.target);
    this.aim.scale.setScalar(0.011 * radius);
    const ends = this.line.geometry.attributes.position;
    ends.array.set(pull.at);
    ends.array.set(pull.target, 3);
    ends.needsUpdate = true;
  }

  dispose() {
    for (const part of this.all) {
      part.geometry.dispose();
      part.removeFromParent();
    }
  }
}

/** An arrow of length and thickness one along y: a shaft and a head, written as one surface of revolution. */
export function arrowGeometry() {
  const outline = [[0, 0], [0.45, 0], [0.45, 0.75], [1.3, 0.75], [0, 1]];
  return new THREE.LatheGeometry(outline.map(([x, y]) => new THREE.Vector2(x, y)), 10);
}

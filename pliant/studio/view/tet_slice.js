// The tets of a body on one side of a plane. The plane chooses tets; what was chosen then follows the body.
import { THREE } from "nicegui-scene";

// The faces of a tet, by its corners.
const FACES = [[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]];

export class TetSlice {
  constructor(tets, particles, color, materials) {
    this.tets = tets;
    this.particles = particles;
    this.axis = 0;
    this.place = 0.5;
    this.waiting = true;
    this.neighbours = null;
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.InterleavedBufferAttribute(particles, 3, 0, true));
    geometry.boundingSphere = new THREE.Sphere(new THREE.Vector3(0.5, 0.5, 0.5), 0.8661);
    this.outer = materials.inner.clone();
    this.outer.color.setRGB(...(color ?? [0.6, 0.6, 0.6]), THREE.SRGBColorSpace);
    this.mesh = new THREE.Mesh(geometry, [this.outer, materials.inner]);
    this.mesh.castShadow = true;
    this.mesh.receiveShadow = true;
  }

  /** Plane across an axis (0, 1, 2) at a place 0..1 between the body's ends; tets below it stay. */
  set(axis, place) {
    if (axis === this.axis && place === this.place && !this.waiting) return;
    this.axis = axis;
    this.place = place;
    this.waiting = true;
  }

  choose() {
    const { tets, axis } = this;
    const p = this.particles.array;
    const count = tets.length / 4;
    this.neighbours ??= neighbours(tets, p.length / 4);
    let low = Infinity;
    let high = -Infinity;
    for (let i = axis; i < p.length; i += 4) {
      if (p[i] < low) low = p[i];
      if (p[i] > high) high = p[i];
    }
    if (!(high > low)) return; // no frame with particles came yet
    this.waiting = false;
    const limit = 4 * (low + this.place * (high - low));
    const stays = new Uint8Array(count);
    for (let t = 0; t < count; t++) {
      const k = 4 * t;
      const sum = p[4 * tets[k] + axis] + p[4 * tets[k + 1] + axis] + p[4 * tets[k + 2] + axis] + p[4 * tets[k + 3] + axis];
      stays[t] = sum <= limit ? 1 : 0;
    }
    const outside = [];
    const inside = [];
    for (let t = 0; t < count; t++) {
      if (!stays[t]) continue;
      for (let f = 0; f < 4; f++) {
        const other = this.neighbours[4 * t + f];
        if (other >= 0 && stays[other]) continue;
        const list = other < 0 ? outside : inside;
        for (const corner of FACES[f]) list.push(tets[4 * t + corner]);
      }
    }
    const index = new Uint32Array(outside.length + inside.length);
    index.set(outside);
    index.set(inside, outside.length);
    const old = this.mesh.geometry; // an index cannot grow in place
    const fresh = new THREE.BufferGeometry();
    fresh.setAttribute("position", old.attributes.position);
    fresh.setIndex(new THREE.BufferAttribute(index, 1));
    fresh.addGroup(0, outside.length, 0);
    fresh.addGroup(outside.length, inside.length, 1);
    fresh.boundingSphere = old.boundingSphere;
    this.mesh.geometry = fresh;
    old.deleteAttribute("position"); // the buffer is shared with the particles and must live on
    old.dispose();
  }

  dispose() {
    this.mesh.geometry.dispose();
    this.outer.dispose();
  }
}

/** The tet across each face (4 per tet), -1 at the boundary. */
function neighbours(tets, particles) {
  const count = tets.length / 4;
  const out = new Int32Array(4 * count).fill(-1);
  const open = new Map();
  for (let t = 0; t < count; t++) {
    for (let f = 0; f < 4; f++) {
      const [a, b, c] = FACES[f].map((corner) => tets[4 * t + corner]).sort((u, v) => u - v);
      const low = a * particles + b; // two keys: one number of a, b and c would not be exact
      let inner = open.get(low);
      if (!inner) open.set(low, (inner = new Map()));
      const other = inner.get(c);
      if (other === undefined) inner.set(c, 4 * t + f);
      else {
        out[4 * t + f] = other >> 2;
        out[other] = t;
        inner.delete(c);
      }
    }
  }
  return out;
}

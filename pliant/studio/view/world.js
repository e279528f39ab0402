// What a SCENE message describes: the bodies of each lane and the colliders; frames are applied to it.
import { THREE } from "nicegui-scene";
import { Body } from "./body.js";
import { Ground, makeCollider } from "./ground.js";
import { LaneMarks } from "./marks.js";

export class World {
  constructor(message, materials, theme) {
    this.header = message.header;
    this.number = message.header.scene;
    this.materials = materials;
    this.group = new THREE.Group();
    this.lanes = message.header.lanes.map((about, lane) => {
      const bodies = about.bodies.map((body, number) => new Body(lane, number, body, message, materials));
      const group = new THREE.Group();
      const marks = new LaneMarks(materials);
      group.add(...bodies.map((body) => body.group), marks.group);
      this.group.add(group);
      return { about, bodies, group, marks };
    });
    this.vertices = count(this.lanes, "vertices");
    this.particles = count(this.lanes, "particles");
    this.colliders = new THREE.Group();
    this.grounds = [];
    this.movable = new Map(); // meshes of colliders by their number in the message
    this.sized = []; // what must grow with the scene: planes without an end
    message.header.colliders.forEach((about, k) => {
      if (about.name === "poke") return; // drawn from the frames
      const level = about.kind === "plane" && about.normal[1] > 0.9995 * Math.hypot(...about.normal);
      if (level) {
        const ground = new Ground(about.point, theme);
        this.grounds.push(ground);
        this.colliders.add(ground.mesh);
        return;
      }
      const mesh = makeCollider(about, k, message, materials);
      if (!mesh) return;
      if (about.kind === "plane") this.sized.push(mesh);
      else this.movable.set(k, mesh);
      this.colliders.add(mesh);
    });
    this.group.add(this.colliders);
    this.bounds = new THREE.Sphere(new THREE.Vector3(), 1);
  }

  /** What the scene can show; a toggle whose word is false is absent. */
  get can() {
    const bodies = this.lanes.flatMap((lane) => lane.bodies);
    return {
      wireframe: bodies.length > 0,
      particles: bodies.some((body) => body.about.particles > 0),
      slice: bodies.some((body) => body.slice),
      clusters: bodies.some((body) => body.clusterColours),
      heat: (this.header.heats ?? []).length > 0,
      contacts: bodies.length > 0 && (this.header.colliders.length > 0 || bodies.length > 1),
    };
  }

  /** Takes a frame; false when its sizes are not those of the scene. */
  take(message) {
    const { header } = message;
    const xs = message.section("x", Uint16Array);
    const normals = message.section("normal", Int8Array);
    if (!xs || xs.length !== 4 * this.vertices || header.boxes.length !== this.lanes.length) return false;
    const ps = message.section("particles", Uint16Array);
    const contacts = message.section("contacts", Float32Array);
    const particles = ps && ps.length === 4 * this.particles ? ps : null;
    let v = 0;
    let p = 0;
    this.lanes.forEach((lane, l) => {
      lane.bodies.forEach((body, b) => {
        const { vertices, particles: own } = body.about;
        body.take(header.boxes[l][b], xs.subarray(v, v + 4 * vertices), normals?.subarray(v, v + 4 * vertices));
        body.takeParticles(particles && particles.subarray(p, p + 4 * own));
        v += 4 * vertices;
        p += 4 * own;
      });
      lane.marks.take(header, l, contacts, this.bounds.radius);
    });
    this.#placeColliders(header.moved ?? []);
    this.#measure(header.boxes);
    return true;
  }

  /** Puts colliders where they are: each row is a number, a matrix by rows and a shift. */
  #placeColliders(moved) {
    const rows = new Map(moved.map((row) => [row[0], row]));
    for (const [k, mesh] of this.movable) {
      const row = rows.get(k);
      if (!row && mesh.matrixAutoUpdate) continue;
      mesh.matrixAutoUpdate = false;
      const [, a, b, c, d, e, f, g, h, i, x, y, z] = row ?? [k, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0];
      mesh.matrix.set(a, b, c, x, d, e, f, y, g, h, i, z, 0, 0, 0, 1);
      mesh.matrixWorldNeedsUpdate = true;
    }
  }

  #measure(boxes) {
    const low = [Infinity, Infinity, Infinity];
    const high = [-Infinity, -Infinity, -Infinity];
    for (const lane of boxes) {
      for (const box of lane) {
        for (let i = 0; i < 3; i++) {
          low[i] = Math.min(low[i], box[i]);
          high[i] = Math.max(high[i], box[i] + box[3]);
        }
      }
    }
    if (low[0] > high[0]) return;
    this.bounds.center.set((low[0] + high[0]) / 2, (low[1] + high[1]) / 2, (low[2] + high[2]) / 2);
    this.bounds.radius = Math.max(0.5 * Math.hypot(high[0] - low[0], high[1] - low[1], high[2] - low[2]), 1e-6);
  }

  /** Bounds of the vertices themselves: boxes are cubes and may reach far beyond a flat body. */
  tight() {
    const box = new THREE.Box3();
    for (const lane of this.lanes) {
      for (const body of lane.bodies) {
        const places = body.positions();
        if (places) box.union(new THREE.Box3().setFromArray(places));
      }
    }
    return box.isEmpty() ? null : box;
  }

  showOnly(lane) {
    this.lanes.forEach((other, l) => (other.group.visible = lane === null || l === lane));
  }

  paint(theme) {
    for (const ground of this.grounds) ground.paint(theme);
  }

  dispose() {
    for (const lane of this.lanes) {
      lane.bodies.forEach((body) => body.dispose());
      lane.marks.dispose();
    }
    this.colliders.traverse((child) => child.geometry?.dispose());
    this.grounds.forEach((ground) => ground.dispose());
    this.group.removeFromParent();
  }
}

function count(lanes, what) {
  return lanes.reduce((sum, lane) => sum + lane.bodies.reduce((part, body) => part + (body.about[what] ?? 0), 0), 0);
}

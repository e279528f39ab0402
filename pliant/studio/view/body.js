// One body of one lane: its skin, its particles and its tets, whose arrays are views of the newest frame.
import { THREE } from "nicegui-scene";
import { clusterColour } from "./colours.js";
import { TetSlice } from "./tet_slice.js";

export class Body {
  constructor(lane, number, about, message, materials) {
    this.lane = lane;
    this.number = number;
    this.about = about;
    this.name = about.name;
    this.materials = materials;
    this.group = new THREE.Group();
    this.box = null;
    this.quantised = null; // the frame's u16 positions of this body, stride 4
    this.places = null; // the same in metres, made when a ray asks for them
    this.selected = false;
    const section = (name, Type) => message.section(`${lane}.${number}.${name}`, Type);

    this.triangles = section("triangles", Uint32Array);
    this.xs = new THREE.InterleavedBuffer(new Uint16Array(4 * about.vertices), 4);
    this.normals = new THREE.InterleavedBuffer(new Int8Array(4 * about.vertices), 4);
    this.xs.setUsage(THREE.DynamicDrawUsage);
    this.normals.setUsage(THREE.DynamicDrawUsage);
    this.colours = tint(section("colors", Uint8Array) ?? plain(about.color, about.vertices));
    const clusters = section("clusters", Uint16Array);
    this.clusterColours = clusters && tint(byCluster(clusters));

    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.InterleavedBufferAttribute(this.xs, 3, 0, true));
    geometry.setAttribute("heat", new THREE.InterleavedBufferAttribute(this.xs, 1, 3, true));
    geometry.setAttribute("normal", new THREE.InterleavedBufferAttribute(this.normals, 3, 0, true));
    geometry.setAttribute("tint", this.colours);
    geometry.setIndex(new THREE.BufferAttribute(this.triangles, 1));
    geometry.boundingSphere = unitSphere();
    this.geometry = geometry;
    this.skin = new THREE.Mesh(geometry, materials.body);
    this.skin.castShadow = true;
    this.skin.receiveShadow = true;
    this.skin.onBeforeRender = () => {
      materials.glow.value = this.selected ? 0.22 : 0;
      materials.body.uniformsNeedUpdate = true;
    };
    this.wire = new THREE.Mesh(geometry, materials.wire);
    this.wire.visible = false;
    this.wire.renderOrder = 1;
    this.group.add(this.skin, this.wire);

    this.tets = section("tets", Uint32Array);
    this.points = null;
    this.slice = null;
    if (about.particles) this.#makeParticles();
  }

  #makeParticles() {
    this.ps = new THREE.InterleavedBuffer(new Uint16Array(4 * this.about.particles), 4);
    this.ps.setUsage(THREE.DynamicDrawUsage);
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.InterleavedBufferAttribute(this.ps, 3, 0, true));
    geometry.setAttribute("flag", new THREE.InterleavedBufferAttribute(this.ps, 1, 3, true));
    geometry.boundingSphere = unitSphere();
    this.points = new THREE.Points(geometry, this.materials.points);
    this.points.visible = false;
    this.points.renderOrder = 2;
    this.group.add(this.points);
    if (this.tets) {
      this.slice = new TetSlice(this.tets, this.ps, this.about.color, this.materials);
      this.slice.mesh.visible = false;
      this.group.add(this.slice.mesh);
    }
  }

  /** Takes the body's part of a frame; the arrays stay views of the received message. */
  take(box, xs, normals) {
    this.box = box;
    this.group.position.set(box[0], box[1], box[2]);
    this.group.scale.setScalar(box[3] || 1e-9);
    this.quantised = xs;
    this.places = null;
    this.xs.array = xs;
    this.xs.needsUpdate = true;
    if (normals) {
      this.normals.array = normals;
      this.normals.needsUpdate = true;
    }
  }

  takeParticles(ps) {
    this.hasParticles = ps !== null;
    if (!ps || !this.ps) return;
    this.ps.array = ps;
    this.ps.needsUpdate = true;
    if (this.slice?.waiting) this.slice.choose();
  }

  showClusters(on) {
    this.geometry.setAttribute("tint", on && this.clusterColours ? this.clusterColours : this.colours);
  }

  /** Positions in metres (n, 3), made once per frame. */
  positions() {
    if (this.places || !this.quantised) return this.places;
    const count = this.about.vertices;
    if (this.scratch?.length !== 3 * count) this.scratch = new Float32Array(3 * count);
    const out = this.scratch;
    const q = this.quantised;
    const [x, y, z, size] = this.box;
    const unit = size / 65535;
    for (let i = 0, j = 0, k = 0; i < count; i++, j += 3, k += 4) {
      out[j] = x + unit * q[k];
      out[j + 1] = y + unit * q[k + 1];
      out[j + 2] = z + unit * q[k + 2];
    }
    this.places = out;
    return out;
  }

  vertex(number) {
    const [x, y, z, size] = this.box;
    const unit = size / 65535;
    const k = 4 * number;
    return [x + unit * this.quantised[k], y + unit * this.quantised[k + 1], z + unit * this.quantised[k + 2]];
  }

  dispose() {
    this.geometry.setAttribute("tint", this.colours);
    if (this.clusterColours) this.geometry.setAttribute("otherTint", this.clusterColours);
    this.geometry.dispose();
    this.points?.geometry.dispose();
    this.slice?.dispose();
  }
}

// Positions lie in the unit cube of the body's box.
function unitSphere() {
  return new THREE.Sphere(new THREE.Vector3(0.5, 0.5, 0.5), 0.8661);
}

function tint(bytes) {
  return new THREE.InterleavedBufferAttribute(new THREE.InterleavedBuffer(bytes, 4), 3, 0, true);
}

function plain(color, count) {
  const bytes = new Uint8Array(4 * count);
  for (let i = 0; i < bytes.length; i++) bytes[i] = i % 4 === 3 ? 255 : 255 * (color?.[i % 4] ?? 0.6);
  return bytes;
}

function byCluster(clusters) {
  const known = new Map();
  const bytes = new Uint8Array(4 * clusters.length);
  for (let i = 0; i < clusters.length; i++) {
    let c = known.get(clusters[i]);
    if (!c) known.set(clusters[i], (c = clusterColour(clusters[i])));
    bytes.set(c, 4 * i);
  }
  return bytes;
}

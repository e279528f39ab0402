// The ground of a level plane, with a grid that fades with the distance, and the meshes of other colliders.
import { THREE } from "nicegui-scene";

export class Ground {
  constructor(point, theme) {
    this.uniforms = {
      gridCell: { value: 1 }, gridLine: { value: new THREE.Color() },
      fadeAt: { value: new THREE.Vector3() }, fadeOver: { value: 10 },
    };
    this.material = new THREE.MeshLambertMaterial({ transparent: true, depthWrite: false });
    this.material.onBeforeCompile = (shader) => {
      Object.assign(shader.uniforms, this.uniforms);
      shader.vertexShader = shader.vertexShader
        .replace("#include <common>", "#include <common>\nvarying vec3 vPlace;")
        .replace("#include <begin_vertex>", "#include <begin_vertex>\nvPlace = (modelMatrix * vec4(position, 1.0)).xyz;");
      shader.fragmentShader = shader.fragmentShader
        .replace("#include <common>", `#include <common>
          varying vec3 vPlace;
          uniform float gridCell; uniform vec3 gridLine; uniform vec3 fadeAt; uniform float fadeOver;
          float gridAt(vec2 place, float width) {
            vec2 size = fwidth(place);
            vec2 away = abs(fract(place - 0.5) - 0.5);
            vec2 line = 1.0 - smoothstep(vec2(0.0), size * width, away);
            return max(line.x, line.y) * (1.0 - smoothstep(0.15, 0.6, max(size.x, size.y)));
          }`)
        .replace("#include <color_fragment>", `
          float fade = 1.0 - smoothstep(0.25, 1.0, length(vPlace.xz - fadeAt.xz) / fadeOver);
          vec2 cell = vPlace.xz / gridCell;
          float lines = max(0.45 * gridAt(cell, 1.2), gridAt(cell / 5.0, 1.6));
          diffuseColor.rgb = mix(diffuseColor.rgb, gridLine, lines);
          diffuseColor.a = fade;`);
    };
    this.mesh = new THREE.Mesh(new THREE.PlaneGeometry(1, 1), this.material);
    this.mesh.rotation.x = -Math.PI / 2;
    this.mesh.position.fromArray(point);
    this.mesh.receiveShadow = true;
    this.mesh.renderOrder = -1;
    this.paint(theme);
  }

  /** Keeps the grid around the point looked at; cells are 1, 2 or 5 times a power of ten metres. */
  follow(target, distance, radius) {
    const reach = Math.max(7 * radius, 3.2 * distance);
    const wanted = radius / 2.5;
    const ten = 10 ** Math.floor(Math.log10(wanted));
    const cell = ten * [1, 2, 5].reduce((best, n) => (n * ten <= wanted ? n : best), 1);
    this.uniforms.gridCell.value = cell;
    this.uniforms.fadeAt.value.copy(target);
    this.uniforms.fadeOver.value = reach;
    this.mesh.position.x = target.x;
    this.mesh.position.z = target.z;
    this.mesh.scale.setScalar(2 * reach);
  }

  paint(theme) {
    this.material.color.set(theme.ground);
    this.uniforms.gridLine.value.set(theme.groundLine);
  }

  dispose() {
    this.material.dispose();
  }
}

/** The mesh of a collider, or null when the message holds nothing that can be drawn. */
export function makeCollider(about, number, message, materials) {
  let geometry;
  let material = materials.collider;
  const vertices = message.section(`collider.${number}.vertices`, Float32Array);
  const triangles = message.section(`collider.${number}.triangles`, Uint32Array);
  if (about.kind === "plane") {
    geometry = new THREE.PlaneGeometry(1, 1);
    material = materials.plane;
  } else if (vertices && triangles) {
    geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.BufferAttribute(vertices, 3));
    geometry.setIndex(new THREE.BufferAttribute(triangles, 1));
    geometry.computeVertexNormals();
  } else if (about.kind === "sphere") {
    geometry = new THREE.SphereGeometry(about.radius, 48, 24);
  } else return null;
  const mesh = new THREE.Mesh(geometry, material);
  mesh.castShadow = material === materials.collider;
  mesh.receiveShadow = material === materials.collider;
  if (about.kind === "plane") {
    mesh.position.fromArray(about.point);
    mesh.quaternion.setFromUnitVectors(new THREE.Vector3(0, 0, 1), new THREE.Vector3(...about.normal).normalize());
  } else if (!vertices && about.position) mesh.position.fromArray(about.position);
  return mesh;
}

// The materials, one set per view: they outlive scenes, so that shaders are compiled once.
import { THREE } from "nicegui-scene";
import { COLOUR_SHADER } from "./colours.js";

export function makeMaterials() {
  const heatOn = { value: 0 };
  const glow = { value: 0 };
  const pointSize = { value: 4 };

  const body = new THREE.MeshStandardMaterial({
    roughness: 0.58, metalness: 0, side: THREE.DoubleSide, shadowSide: THREE.DoubleSide,
    polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 1,
  });
  body.onBeforeCompile = (shader) => {
    Object.assign(shader.uniforms, { heatOn, glow });
    shader.vertexShader = shader.vertexShader
      .replace("#include <common>", "#include <common>\nattribute vec3 tint; attribute float heat; varying vec3 vTint; varying float vHeat;")
      .replace("#include <begin_vertex>", "#include <begin_vertex>\nvTint = tint; vHeat = heat;");
    shader.fragmentShader = shader.fragmentShader
      .replace("#include <common>", `#include <common>\nuniform float heatOn; uniform float glow; varying vec3 vTint; varying float vHeat;\n${COLOUR_SHADER}`)
      .replace("#include <color_fragment>", "diffuseColor.rgb = heatOn > 0.5 ? heatColor(vHeat) : toLinear(vTint);")
      .replace("#include <emissivemap_fragment>", "totalEmissiveRadiance += glow * diffuseColor.rgb;");
  };

  const points = new THREE.ShaderMaterial({
    uniforms: { pointSize, calm: { value: new THREE.Color(0x2563eb) }, pinned: { value: new THREE.Color(0xf97316) } },
    vertexShader: `
      attribute float flag; varying float vPinned; uniform float pointSize;
      void main() {
        vPinned = flag;
        gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
        gl_PointSize = pointSize * (vPinned > 0.5 ? 1.8 : 1.0);
      }`,
    fragmentShader: `
      uniform vec3 calm; uniform vec3 pinned; varying float vPinned;
      void main() {
        float r = length(gl_PointCoord - 0.5);
        if (r > 0.5) discard;
        vec3 colour = vPinned > 0.5 ? pinned : calm;
        gl_FragColor = vec4(colour * (r > 0.36 ? 0.6 : 1.0), 1.0);
        #include <colorspace_fragment>
      }`,
  });

  const set = {
    heatOn, glow, pointSize, body, points,
    wire: new THREE.MeshBasicMaterial({ wireframe: true, transparent: true, depthWrite: false }),
    collider: new THREE.MeshLambertMaterial({ side: THREE.DoubleSide }),
    plane: new THREE.MeshLambertMaterial({ side: THREE.DoubleSide, transparent: true, opacity: 0.4, depthWrite: false }),
    poke: new THREE.MeshStandardMaterial({ roughness: 0.35, transparent: true, opacity: 0.55, depthWrite: false }),
    accent: new THREE.MeshBasicMaterial({ depthTest: false, transparent: true, toneMapped: false }),
    accentLine: new THREE.LineBasicMaterial({ depthTest: false, transparent: true, toneMapped: false }),
    pinRim: new THREE.MeshBasicMaterial({ color: 0xffffff, depthTest: false, transparent: true, toneMapped: false }),
    pin: new THREE.MeshBasicMaterial({ color: 0xf97316, depthTest: false, transparent: true, toneMapped: false }),
    contact: new THREE.MeshBasicMaterial({ color: 0xe11d48, transparent: true, opacity: 0.85, depthTest: false, toneMapped: false }),
    inner: new THREE.MeshStandardMaterial({ color: 0xf3dcb8, roughness: 0.8, flatShading: true, side: THREE.DoubleSide }),
  };
  set.dispose = () => {
    for (const value of Object.values(set)) if (value.isMaterial) value.dispose();
  };
  return set;
}

/** Takes the colours of a theme. */
export function paintMaterials(materials, theme) {
  materials.wire.color.set(theme.wire);
  materials.wire.opacity = theme.wireOpacity;
  materials.collider.color.set(theme.collider);
  materials.plane.color.set(theme.plane);
  materials.poke.color.set(theme.accent);
  materials.accent.color.set(theme.accent);
  materials.accentLine.color.set(theme.accent);
  materials.points.uniforms.calm.value.set(theme.accent);
}

// The stage: renderer, lights, camera and the viewports of the lanes.
import { THREE, OrbitControls } from "nicegui-scene";
import { THEMES } from "./colours.js";

// Pixels of the picture for each of the page, and of the side of the shadow map.
export const QUALITIES = [{ pixels: 2, shadow: 2048 }, { pixels: 1, shadow: 1024 }, { pixels: 0.66, shadow: 512 }];

export class Stage {
  constructor(canvas) {
    this.canvas = canvas;
    this.renderer = new THREE.WebGLRenderer({ canvas, antialias: true, alpha: true });
    this.renderer.toneMapping = THREE.NeutralToneMapping;
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = THREE.PCFShadowMap;
    this.renderer.setClearColor(0x000000, 0);
    this.scene = new THREE.Scene();
    this.camera = new THREE.PerspectiveCamera(38, 1, 0.01, 100);
    this.camera.position.set(1.6, 1.1, 2.2);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = true;
    this.controls.dampingFactor = 0.12;
    this.controls.zoomSpeed = 0.8;
    this.hemisphere = new THREE.HemisphereLight(0xffffff, 0xb0b0b0, 1.6);
    this.sun = new THREE.DirectionalLight(0xffffff, 2);
    this.sun.castShadow = true;
    this.sun.shadow.mapSize.set(2048, 2048);
    this.sun.shadow.radius = 3;
    this.scene.add(this.hemisphere, this.sun, this.sun.target);
    this.lit = new THREE.Sphere(new THREE.Vector3(), 0);
    this.width = 1;
    this.height = 1;
    this.lanes = 1;
    this.rects = [];
    this.insets = { top: 0, bottom: 0 }; // what bars cover, kept free of viewports that stand side by side
    this.setQuality(drawsInSoftware(this.renderer.getContext()) ? QUALITIES.length - 1 : 0);
  }

  /** Quality 0 is the best. */
  setQuality(level) {
    this.quality = level;
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio || 1, QUALITIES[level].pixels));
    this.sun.shadow.mapSize.setScalar(QUALITIES[level].shadow);
    this.sun.shadow.map?.dispose();
    this.sun.shadow.map = null;
  }

  paint(name) {
    const theme = THEMES[name];
    this.hemisphere.color.set(theme.sky);
    this.hemisphere.groundColor.set(theme.earth);
    this.hemisphere.intensity = theme.hemisphere;
    this.sun.intensity = theme.sun;
    this.sun.shadow.intensity = theme.shadow;
  }

  resize(width, height, lanes = this.lanes) {
    this.width = Math.max(1, width);
    this.height = Math.max(1, height);
    this.lanes = Math.max(1, lanes);
    this.renderer.setSize(this.width, this.height, false);
    const { top, bottom } = this.lanes > 1 ? this.insets : { top: 0, bottom: 0 };
    const room = Math.max(this.height - top - bottom, 0.3 * this.height);
    this.rects = layout(this.width, room, this.lanes).map((rect) => ({ ...rect, y: rect.y + top }));
    this.camera.aspect = this.rects[0].width / this.rects[0].height;
    this.camera.updateProjectionMatrix();
  }

  /** Lets light and shadow follow the bodies; small moves do not shift the shadow's texels. */
  light(bounds) {
    const { lit } = this;
    const away = lit.center.distanceTo(bounds.center);
    if (lit.radius > 1.15 * bounds.radius && lit.radius < 2.4 * bounds.radius && away < lit.radius - 1.05 * bounds.radius) return;
    lit.center.copy(bounds.center);
    lit.radius = 1.7 * bounds.radius;
    this.sun.target.position.copy(lit.center);
    this.sun.position.copy(lit.center).addScaledVector(new THREE.Vector3(0.45, 1, 0.38).normalize(), 4 * lit.radius);
    const { camera } = this.sun.shadow;
    camera.left = camera.bottom = -lit.radius;
    camera.right = camera.top = lit.radius;
    camera.near = 1.5 * lit.radius;
    camera.far = 14 * lit.radius;
    camera.updateProjectionMatrix();
    this.sun.shadow.normalBias = 0.012 * lit.radius;
    this.sun.shadow.bias = -0.0004;
  }

  /** Puts the camera so that a box fills the view. */
  frame(box, floor = null) {
    const whole = box.clone();
    if (floor !== null && floor < whole.min.y) whole.min.y = Math.max(floor, whole.min.y - (whole.max.y - whole.min.y) * 2);
    const sphere = whole.getBoundingSphere(new THREE.Sphere());
    const direction = this.camera.position.clone().sub(this.controls.target);
    if (direction.lengthSq() < 1e-12) direction.set(0.5, 0.35, 1);
    direction.normalize();
    const half = THREE.MathUtils.degToRad(this.camera.fov / 2);
    const narrow = Math.min(half, Math.atan(Math.tan(half) * this.camera.aspect));
    const distance = (1.12 * sphere.radius) / Math.sin(narrow);
    this.look(sphere.center.clone().addScaledVector(direction, distance), sphere.center, sphere.radius);
  }

  look(eye, target, radius) {
    this.camera.position.copy(eye);
    this.controls.target.copy(target);
    this.range(radius);
    this.controls.update();
  }

  /** Multiplies the distance to the point looked at. */
  dolly(times) {
    const { camera, controls } = this;
    camera.position.sub(controls.target).multiplyScalar(times).add(controls.target);
    controls.update();
  }

  range(radius) {
    const far = this.camera.position.distanceTo(this.controls.target);
    this.camera.near = Math.max(0.002 * radius, 0.01 * far);
    this.camera.far = 60 * radius + 12 * far;
    this.camera.updateProjectionMatrix();
  }

  /** The viewport under a point of the canvas, and the point in its coordinates, -1..1. */
  at(x, y) {
    const lane = this.rects.findIndex((r) => x >= r.x && x < r.x + r.width && y >= r.y && y < r.y + r.height);
    const rect = this.rects[Math.max(lane, 0)];
    return { lane: Math.max(lane, 0), ...this.within(rect, x, y) };
  }

  within(rect, x, y) {
    return { rect, x: (2 * (x - rect.x)) / rect.width - 1, y: 1 - (2 * (y - rect.y)) / rect.height };
  }

  /** The place of a point of the scene on the canvas, in pixels of the page, in a lane's viewport. */
  project(point, lane = 0) {
    this.camera.updateMatrixWorld();
    const p = new THREE.Vector3(...point).project(this.camera);
    const rect = this.rects[lane];
    return { x: rect.x + ((p.x + 1) / 2) * rect.width, y: rect.y + ((1 - p.y) / 2) * rect.height };
  }

  draw(world) {
    const { renderer, rects } = this;
    renderer.setScissorTest(rects.length > 1);
    rects.forEach((rect, lane) => {
      const bottom = this.height - rect.y - rect.height;
      renderer.setViewport(rect.x, bottom, rect.width, rect.height);
      renderer.setScissor(rect.x, bottom, rect.width, rect.height);
      world?.showOnly(rects.length > 1 ? lane : null);
      renderer.render(this.scene, this.camera);
    });
    world?.showOnly(null);
  }

  dispose() {
    this.controls.dispose();
    this.sun.shadow.map?.dispose();
    this.renderer.dispose();
  }
}

/** Viewports of the lanes: halves, thirds, two by two; one above the other on narrow screens. */
export function layout(width, height, lanes) {
  let columns = lanes === 4 ? 2 : lanes;
  if (lanes > 1 && width < 1.05 * height) columns = lanes === 4 && width > 320 ? 2 : 1;
  const rows = Math.ceil(lanes / columns);
  const w = width / columns;
  const h = height / rows;
  return Array.from({ length: lanes }, (_, i) => ({ x: (i % columns) * w, y: Math.floor(i / columns) * h, width: w, height: h }));
}

// Without a graphics processor the picture is drawn by the processor, which fine shadows would keep busy.
function drawsInSoftware(gl) {
  let name = gl.getParameter(gl.RENDERER);
  // Firefox tells it here and warns of the extension; the others hide it behind the extension.
  const known = /^webkit/i.test(String(name)) && gl.getExtension("WEBGL_debug_renderer_info");
  if (known) name = gl.getParameter(known.UNMASKED_RENDERER_WEBGL);
  return /swiftshader|llvmpipe|softpipe|software|basic render/i.test(String(name));
}

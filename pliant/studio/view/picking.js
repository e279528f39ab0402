// Rays of the pointer, and where they hit the bodies of the newest frame.
import { THREE } from "nicegui-scene";

/** The ray through a point of a viewport (-1..1): {origin, direction}, direction of length one. */
export function rayAt(camera, x, y) {
  camera.updateMatrixWorld();
  const origin = new THREE.Vector3().setFromMatrixPosition(camera.matrixWorld);
  const direction = new THREE.Vector3(x, y, 0.5).unproject(camera).sub(origin).normalize();
  return { origin, direction };
}

/**
 * The nearest hit: {body, triangle, vertex, point, distance}, or null. Where the ray meets nothing, the vertex that is
 * nearest to it counts, if it is seen within an angle `slack` [rad]: hair and ropes are thin.
 */
export function pick(bodies, ray, slack = 0) {
  let best = null;
  for (const body of bodies) {
    if (!body.box || !touchesBox(body.box, ray)) continue;
    const hit = castTriangles(body.positions(), body.triangles, ray, best?.distance ?? Infinity);
    if (hit) best = { body, ...hit };
  }
  if (!best) return slack > 0 ? nearby(bodies, ray, slack) : null;
  const point = ray.origin.clone().addScaledVector(ray.direction, best.distance);
  return { ...best, point, vertex: nearestCorner(best.body, best.triangle, point) };
}

function nearby(bodies, { origin, direction }, slack) {
  let best = null;
  let least = slack * slack;
  for (const body of bodies) {
    if (!body.box) continue;
    const p = body.positions();
    for (let i = 0; i < p.length; i += 3) {
      const x = p[i] - origin.x;
      const y = p[i + 1] - origin.y;
      const z = p[i + 2] - origin.z;
      const along = x * direction.x + y * direction.y + z * direction.z;
      if (along <= 0) continue;
      const angle = (x * x + y * y + z * z) / (along * along) - 1;
      if (angle < least) {
        least = angle;
        best = { body, triangle: -1, vertex: i / 3, distance: along, point: new THREE.Vector3(p[i], p[i + 1], p[i + 2]) };
      }
    }
  }
  return best;
}

function touchesBox(box, { origin, direction }) {
  const half = box[3] / 2;
  const dx = box[0] + half - origin.x;
  const dy = box[1] + half - origin.y;
  const dz = box[2] + half - origin.z;
  const along = dx * direction.x + dy * direction.y + dz * direction.z;
  return dx * dx + dy * dy + dz * dz - along * along <= 3.001 * half * half;
}

// Moller and Trumbore, "Fast, minimum storage ray/triangle intersection" (1997); both sides count.
function castTriangles(p, triangles, { origin, direction }, limit) {
  const { x: ox, y: oy, z: oz } = origin;
  const { x: dx, y: dy, z: dz } = direction;
  let nearest = limit;
  let found = -1;
  for (let t = 0; t < triangles.length; t += 3) {
    const a = 3 * triangles[t];
    const b = 3 * triangles[t + 1];
    const c = 3 * triangles[t + 2];
    const ax = p[a];
    const ay = p[a + 1];
    const az = p[a + 2];
    const ux = p[b] - ax;
    const uy = p[b + 1] - ay;
    const uz = p[b + 2] - az;
    const vx = p[c] - ax;
    const vy = p[c + 1] - ay;
    const vz = p[c + 2] - az;
    const hx = dy * vz - dz * vy;
    const hy = dz * vx - dx * vz;
    const hz = dx * vy - dy * vx;
    const det = ux * hx + uy * hy + uz * hz;
    if (det === 0) continue;
    const inverse = 1 / det;
    const sx = ox - ax;
    const sy = oy - ay;
    const sz = oz - az;
    const u = inverse * (sx * hx + sy * hy + sz * hz);
    if (u < 0 || u > 1) continue;
    const qx = sy * uz - sz * uy;
    const qy = sz * ux - sx * uz;
    const qz = sx * uy - sy * ux;
    const v = inverse * (dx * qx + dy * qy + dz * qz);
    if (v < 0 || u + v > 1) continue;
    const distance = inverse * (vx * qx + vy * qy + vz * qz);
    if (distance > 0 && distance < nearest) {
      nearest = distance;
      found = t / 3;
    }
  }
  return found < 0 ? null : { triangle: found, distance: nearest };
}

function nearestCorner(body, triangle, point) {
  const p = body.positions();
  let best = -1;
  let least = Infinity;
  for (let k = 0; k < 3; k++) {
    const v = body.triangles[3 * triangle + k];
    const away = Math.hypot(p[3 * v] - point.x, p[3 * v + 1] - point.y, p[3 * v + 2] - point.z);
    if (away < least) {
      least = away;
      best = v;
    }
  }
  return best;
}

/** Where a ray meets the plane through a point that faces the camera, pushed `depth` away from the eye. */
export function onPlane(camera, ray, point, depth = 0) {
  const normal = camera.getWorldDirection(new THREE.Vector3());
  const slope = ray.direction.dot(normal);
  const distance = (point.clone().sub(ray.origin).dot(normal) + depth) / Math.max(slope, 1e-6);
  return ray.origin.clone().addScaledVector(ray.direction, distance);
}

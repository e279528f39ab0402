// Where the camera looks: the first look at a scene, framing all of it, and telling the server.
import { THREE } from "nicegui-scene";

export const WIDE = 1.5; // width over height of a picture for which scenes place their camera

export class Look {
  constructor(view) {
    this.view = view;
    this.unframed = false; // the scene is new: its next frame places the camera
    this.sent = null;
  }

  first() {
    this.unframed = false;
    const { stage, world } = this.view;
    const { camera } = world.header;
    if (camera) {
      stage.camera.fov = camera.fov ?? 38;
      if (camera.up) stage.camera.up.fromArray(camera.up);
      const target = new THREE.Vector3(...camera.target);
      stage.look(new THREE.Vector3(...camera.eye), target, world.bounds.radius);
      // The camera was placed for a wide picture; a narrow view steps back to see as much from side to side.
      stage.dolly(Math.max(1, WIDE / stage.camera.aspect));
    } else {
      stage.camera.position.copy(stage.controls.target).add(new THREE.Vector3(0.5, 0.38, 1));
      this.frame();
    }
  }

  /** Frames the whole scene. */
  frame() {
    const { view } = this;
    const box = view.world?.tight();
    if (!box) return;
    const floor = view.world.grounds[0]?.mesh.position.y ?? null;
    view.stage.frame(box, floor);
    view.touch();
    this.send();
  }

  send() {
    const { camera, controls } = this.view.stage;
    const place = { eye: camera.position.toArray(), target: controls.target.toArray(), up: camera.up.toArray(), fov: camera.fov };
    const text = JSON.stringify(place);
    if (text === this.sent) return; // a click moves nothing
    this.sent = text;
    this.view.stream.post("camera", place);
  }
}

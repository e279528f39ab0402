// What is shown of the bodies: wireframe, particles, slice, clusters, heat map and contacts.
export class Displays {
  constructor(view) {
    this.view = view;
    this.shown = { wireframe: false, particles: false, slice: false, clusters: false, heat: false, contacts: false };
    this.slice = { axis: 0, place: 0.5 };
    this.heat = null;
    this.heatBefore = null;
  }

  toggle(name) {
    const { shown, view } = this;
    if (name === "heat") {
      const heats = view.world.header.heats.map((heat) => heat.name);
      const wanted = heats.includes(this.heatBefore) ? this.heatBefore : heats[0];
      this.setHeat(shown.heat ? null : wanted);
      return;
    }
    shown[name] = !shown[name];
    this.send();
    this.#changed();
  }

  setHeat(name) {
    if (this.heat) this.heatBefore = this.heat;
    this.view.stream.send("heat", { name });
  }

  setSlice(change) {
    Object.assign(this.slice, change);
    this.#changed();
  }

  #changed() {
    this.dress();
    this.view.toolbar.update();
    this.view.touch();
  }

  /** Switches off what a scene cannot show. */
  keep(can) {
    for (const [name, on] of Object.entries(can)) if (!on) this.shown[name] = false;
  }

  /** Follows the heat map of a frame: all clients see the same. */
  take(header) {
    const heat = header.heat?.name ?? null;
    if (heat === this.heat && Boolean(heat) === this.shown.heat) return;
    this.heat = heat;
    this.shown.heat = heat !== null;
    this.view.materials.heatOn.value = heat ? 1 : 0;
    this.view.toolbar.update();
  }

  /** Asks the server for the layers that are shown. */
  send() {
    const { particles, slice, contacts } = this.shown;
    this.view.stream.send("layers", { particles: particles || slice, contacts, stages: this.view.hud.wantsStages });
  }

  /** Makes the bodies look as what is switched on says. */
  dress() {
    const { shown, view } = this;
    if (!view.world) return;
    const ghostly = shown.particles && !shown.slice;
    const { body } = view.materials;
    if (body.transparent !== ghostly) {
      body.transparent = ghostly;
      body.opacity = ghostly ? 0.22 : 1;
      body.depthWrite = !ghostly;
      body.needsUpdate = true;
    }
    for (const lane of view.world.lanes) {
      lane.marks.showContacts = shown.contacts;
      for (const one of lane.bodies) {
        const sliced = shown.slice && one.slice && one.hasParticles && !one.slice.waiting;
        one.skin.visible = !sliced;
        one.wire.visible = shown.wireframe && !sliced;
        one.showClusters(shown.clusters);
        if (one.points) one.points.visible = shown.particles && Boolean(one.hasParticles);
        if (one.slice) one.slice.mesh.visible = Boolean(sliced);
        if (one.slice && shown.slice) {
          one.slice.set(this.slice.axis, this.slice.place);
          if (one.slice.waiting && one.hasParticles) one.slice.choose();
        }
        one.selected = view.selected === one.name;
      }
    }
  }
}

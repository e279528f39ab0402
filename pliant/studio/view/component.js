// The view as a component of NiceGUI. Nothing of three.js is kept in Vue's data, which would wrap it in proxies.
import { PliantView } from "pliant-view";

const EVENTS = ["select", "files", "uploaded", "scene", "note", "state", "tool"];

export default {
  template: `<div style="position:relative;width:100%;height:100%"></div>`,
  props: { url: String, uploadUrl: String, theme: String, draw: Boolean, bars: Boolean },
  emits: EVENTS,
  mounted() {
    const { url, uploadUrl, theme, draw, bars } = this;
    const view = new PliantView(this.$el, { url, uploadUrl, theme, draw, bars });
    for (const name of EVENTS) view.on(name, (detail) => this.$emit(name, detail));
    Object.defineProperty(this.$el, "pliantView", { value: view, configurable: true });
  },
  unmounted() {
    this.$el.pliantView?.dispose();
  },
  watch: {
    theme(name) {
      this.$el.pliantView?.setTheme(name);
    },
  },
  methods: {
    command(name, args) {
      return this.$el.pliantView.stream.ask(name, args ?? {});
    },
    mark(name) {
      this.$el.pliantView.mark(name);
    },
    frame() {
      this.$el.pliantView.frameScene();
    },
    say(text, level) {
      this.$el.pliantView.toasts.say(text, level);
    },
  },
};

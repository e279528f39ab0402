// Colours: the map of the heat display, the palette of the clusters, and the themes.

// Ten stops of even steps in lightness and hue (OKLCH 0.50 to 0.92, violet to yellow: light enough to be shaded), as sRGB bytes.
const STOPS = [
  [93, 79, 185], [64, 106, 205], [0, 133, 206], [10, 155, 192], [19, 175, 185],
  [17, 195, 175], [49, 214, 151], [136, 224, 123], [199, 229, 98], [254, 230, 87],
];

/** The colour map as a gradient of the page, from low to high. */
export function mapGradient(direction = "to right") {
  const stops = STOPS.map((c, i) => `rgb(${c}) ${((100 * i) / (STOPS.length - 1)).toFixed(1)}%`);
  return `linear-gradient(${direction}, ${stops.join(", ")})`;
}

/** Functions of the shader: `toLinear(vec3)` from sRGB and `heatColor(float)`, linear. */
export const COLOUR_SHADER = `
const vec3 HEAT_STOPS[${STOPS.length}] = vec3[${STOPS.length}](
  ${STOPS.map((c) => `vec3(${c.map((v) => (v / 255).toFixed(4)).join(", ")})`).join(", ")});
vec3 toLinear(vec3 c) {
  return mix(c / 12.92, pow((c + 0.055) / 1.055, vec3(2.4)), step(vec3(0.04045), c));
}
vec3 heatColor(float value) {
  float place = clamp(value, 0.0, 1.0) * ${(STOPS.length - 1).toFixed(1)};
  int low = min(int(place), ${STOPS.length - 2});
  return toLinear(mix(HEAT_STOPS[low], HEAT_STOPS[low + 1], place - float(low)));
}
`;

/** Colour of a cluster as sRGB bytes: hues by the golden angle, so that neighbours in number differ. */
export function clusterColour(number) {
  const hue = (number * 137.508 + 20) % 360;
  const light = 0.62 + 0.06 * ((number % 3) - 1);
  const part = (n) => {
    const k = (n + hue / 30) % 12;
    return Math.round(255 * (light - 0.48 * Math.min(light, 1 - light) * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return [part(0), part(8), part(4)];
}

/** Colours of the three-dimensional scene by theme; those of the page are in style.js. */
export const THEMES = {
  light: {
    sky: 0xffffff, earth: 0xc9cbd2, hemisphere: 1.75, sun: 2.1, ground: 0xdfe2e7, groundLine: 0xc3c8d1, shadow: 0.62,
    collider: 0xb4bac4, plane: 0x9fb0c8, wire: 0x10141c, wireOpacity: 0.28, accent: 0x2563eb,
  },
  dark: {
    sky: 0xdfe8ff, earth: 0x3a3f4a, hemisphere: 1.25, sun: 1.9, ground: 0x434850, groundLine: 0x59616e, shadow: 0.7,
    collider: 0x5c6470, plane: 0x56708f, wire: 0xffffff, wireOpacity: 0.13, accent: 0x7aa7ff,
  },
};

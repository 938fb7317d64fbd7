// What runs on the graphics card. A box covers each pixel as much as it does on a canvas: edges
// between pixels are smooth. Boxes are drawn from front to back, so of those that begin in the same
// pixel the first is seen.

const COMMON = `#version 300 es
precision highp float;
precision highp int;
precision highp sampler2D;
precision highp usampler2D;
uniform vec2 size; // of the canvas, in pixels of the screen
`;

const CORNERS = `
uniform float ratio; // pixels of the screen in one of CSS
uniform sampler2D palette;
flat out vec4 box; // left, top, right, bottom, in pixels of the screen
flat out vec3 colour;

void spread(vec4 edges) {
  box = edges * ratio;
  vec4 outer = vec4(floor(box.xy), ceil(box.zw));
  if (box.z <= box.x || box.w <= box.y) outer = vec4(0.0);
  vec2 corner = mix(outer.xy, outer.zw, vec2(gl_VertexID & 1, gl_VertexID >> 1));
  gl_Position = vec4((corner / size * 2.0 - 1.0) * vec2(1.0, -1.0), 0.0, 1.0);
}
`;

/** Parts of a tile. Times are whole numbers of 64 bits until they are near what is in sight: a float has only 24. */
export const PARTS = `${COMMON}${CORNERS}
layout(location = 0) in uvec4 part; // start, span, name; depth, shade and flags in 16, 8 and 8 bits
layout(location = 1) in uvec2 high; // upper halves of start and span
uniform uvec2 origin; // the left edge of the screen, in units of the tile since its start
uniform bool early; // the left edge is before the start: origin is how far
uniform float scale; // pixels of a unit
uniform float rest; // pixels between the left edge and the unit in which it is
uniform vec4 rows; // top of the first, distance, height of a box, least width of a moment
uniform vec3 window; // where to begin and end to draw; width of all
uniform usampler2D names; // by name: colour, and 128 if a search did not find it
const uint GOES_ON = 4u; // AFTER

uvec2 sum(uvec2 a, uvec2 b) {
  uint low = a.x + b.x;
  return uvec2(low, a.y + b.y + (low < a.x ? 1u : 0u));
}

uvec2 difference(uvec2 a, uvec2 b) {
  return uvec2(a.x - b.x, a.y - b.y - (a.x < b.x ? 1u : 0u));
}

float rounded(uvec2 a) {
  return float(a.y) * 4294967296.0 + float(a.x);
}

float place(uvec2 time) {
  if (early) return rounded(sum(time, origin)) * scale - rest;
  bool left = time.y < origin.y || (time.y == origin.y && time.x < origin.x);
  return (left ? -rounded(difference(origin, time)) : rounded(difference(time, origin))) * scale - rest;
}

void main() {
  uvec2 start = uvec2(part.x, high.x);
  uvec2 span = uvec2(part.y, high.y);
  float left = max(place(start), -2.0);
  float right = min(place(sum(start, span)), window.z + 2.0);
  right = max(right, left + (span == uvec2(0u) ? rows.w : 1.0));
  // A call that goes on in the next tile must not show where that begins.
  if ((part.w >> 24u & GOES_ON) != 0u) right += 1.0;
  else if (right - left > 3.0) right -= 0.75;
  float top = rows.x + float(part.w & 65535u) * rows.y;
  spread(vec4(max(left, window.x), top, min(right, window.y), top + rows.z));
  uint entry = texelFetch(names, ivec2(int(part.z % 1024u), int(part.z / 1024u)), 0).r;
  uint shade = entry >= 128u ? 4u : part.w >> 16u & 255u;
  colour = texelFetch(palette, ivec2(int(entry & 127u), int(shade)), 0).rgb;
}
`;

/** Lines and backgrounds. */
export const BARS = `${COMMON}${CORNERS}
layout(location = 0) in vec4 edges;
layout(location = 1) in uint column;
void main() {
  spread(edges);
  colour = texelFetch(palette, ivec2(int(column), 5), 0).rgb;
}
`;

export const COVER = `${COMMON}
flat in vec4 box;
flat in vec3 colour;
out vec4 result;
void main() {
  vec2 at = vec2(gl_FragCoord.x, size.y - gl_FragCoord.y) - 0.5;
  vec2 cover = clamp(min(at + 1.0, box.zw) - max(at, box.xy), 0.0, 1.0);
  result = vec4(colour, 1.0) * (cover.x * cover.y);
}
`;

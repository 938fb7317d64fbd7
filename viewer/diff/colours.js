// colours.js — what colour a call is drawn in: red when its own time grew, blue when it shrank,
// the more of it the greater its part in the greatest change.

const NEUTRAL = (dark) => `oklch(${dark ? 0.42 : 0.9} 0.012 80)`;

function changeColour(change, most, least, dark) {
  const size = Math.abs(change);
  if (size === 0 || size < least || size < most / 2000) return NEUTRAL(dark);
  const part = Math.sqrt(Math.min(1, size / most)); // small changes are to be seen too
  const light = dark ? 0.42 + 0.13 * part : 0.9 - 0.2 * part;
  return `oklch(${light} ${0.02 + (dark ? 0.15 : 0.13) * part} ${change > 0 ? 25 : 252})`;
}

const LEGEND = [
  ["own time longer in B", (dark) => changeColour(1, 1, 0, dark)],
  ["the same", NEUTRAL],
  ["shorter", (dark) => changeColour(-1, 1, 0, dark)],
];

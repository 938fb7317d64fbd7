// What colours mean. Hues are from a set that people with any kind of colour blindness can tell
// apart; within a hue, functions differ in lightness.

import type { Name } from "./types";

export interface Family {
  word: string;
  hue: number;
  light: [saturation: number, lightness: number];
  dark: [saturation: number, lightness: number];
}

export const FAMILIES: Record<string, Family> = {
  own: { word: "program", hue: 212, light: [62, 66], dark: [46, 44] },
  library: { word: "libraries", hue: 168, light: [36, 64], dark: [34, 34] },
  builtin: { word: "built-in", hue: 215, light: [14, 76], dark: [12, 36] },
  import: { word: "imports", hue: 280, light: [26, 74], dark: [22, 40] },
  span: { word: "spans, operators", hue: 40, light: [82, 62], dark: [60, 42] },
  gc: { word: "garbage collection", hue: 12, light: [74, 62], dark: [58, 44] },
};

export function familyOf(name: Name): string {
  if (name[3] === "gc") return "gc";
  if (name[3] === "span" || name[3] === "operator") return "span";
  return name[4] in FAMILIES ? name[4] : "own";
}

const STEPS = 5;
const order = Object.keys(FAMILIES);

function hash(text: string): number {
  let value = 2166136261;
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 16777619);
  return (value ^ (value >>> 15)) >>> 0;
}

/** The number of a name's colour: one of `palette`. */
export function colourOf(name: Name): number {
  const family = order.indexOf(familyOf(name));
  return family * STEPS + (hash(name[0] + name[1]) % STEPS);
}

/** All colours as CSS. FADE from 0 to 1 mixes them with the background. */
export function palette(dark: boolean, fade: number): string[] {
  const colours: string[] = [];
  for (const key of order) {
    const family = FAMILIES[key];
    const [saturation, lightness] = dark ? family.dark : family.light;
    for (let step = 0; step < STEPS; step++) {
      const hue = family.hue + (step - 2) * 5;
      const l = lightness + (step - 2) * (dark ? 3.2 : 3.6);
      const background = dark ? 11 : 100;
      colours.push(`hsl(${hue} ${(saturation * (1 - fade * 0.5)).toFixed(1)}% ${(l + (background - l) * fade).toFixed(1)}%)`);
    }
  }
  return colours;
}

export function familyColour(key: string, dark: boolean): string {
  return palette(dark, 0)[order.indexOf(key) * STEPS + 2];
}

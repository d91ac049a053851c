/** The two colour maps of Sonde as lookup tables; the colours are Python's (results/colors.py). */

import { COLOR_TABLES } from "./look.generated";

export type Theme = "light" | "dark";
export type MapKind = "diverging" | "sequential";

const LAST = 256;

/** Opaque pixels from the least place to the greatest, in the byte order of `ImageData`. */
export function lookup(kind: MapKind, theme: Theme): Uint32Array {
  const table = COLOR_TABLES[theme][kind];
  const pixels = new Uint32Array(LAST + 1);
  for (let step = 0; step <= LAST; step++) {
    const rgb = Number.parseInt(table.slice(6 * step, 6 * step + 6), 16);
    const red = rgb >>> 16;
    const green = (rgb >>> 8) & 255;
    const blue = rgb & 255;
    pixels[step] = ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
  }
  return pixels;
}

/** Which entry of a table a fraction from 0 to 1 is; beyond the ends, the ends. */
export function entry(fraction: number): number {
  return Math.min(Math.max(Math.round(fraction * LAST), 0), LAST);
}

/** The colour of a fraction as `#rrggbb`. */
export function cssColor(kind: MapKind, theme: Theme, fraction: number): string {
  const at = 6 * entry(fraction);
  return `#${COLOR_TABLES[theme][kind].slice(at, at + 6)}`;
}

/** Black or white, whichever reads better on this colour: 4.5 to 1 or more on any. */
export function textOn(color: string): string {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => linear(color.slice(at, at + 2)));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? "#000000" : "#ffffff";
}

function linear(hex: string): number {
  const channel = Number.parseInt(hex, 16) / 255;
  return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
}

// A tile: see src/model/tiles/tile.h, which specifies its bytes.

export const COLUMNS = 512;
export const LEVELS = 48;

export const CALL = 1;
export const BEFORE = 2;
export const AFTER = 4;
export const SUMMARY = 8;
export const LOST = 16;
export const OPEN = 32;

const HEADER = 32;

export interface Tile {
  from: number; // nanoseconds since the start of the capture
  length: number;
  unit: number; // nanoseconds of a unit of the times below
  count: number;
  fromSummaries: boolean;
  deeper: boolean;
  start: Uint32Array | Float64Array;
  span: Uint32Array | Float64Array;
  busy: Uint32Array | Float64Array;
  name: Uint32Array;
  calls: Uint32Array;
  number: Uint32Array;
  high: Uint8Array;
  flags: Uint8Array;
  /** By depth: where its parts begin; one more at the end. */
  rows: Uint32Array;
  bytes: number;
}

function rowsOf(depth: Uint16Array, count: number): Uint32Array {
  const depths = count ? depth[count - 1] + 1 : 0;
  const rows = new Uint32Array(depths + 1);
  for (let d = 0, i = 0; d <= depths; d++) {
    while (i < count && depth[i] < d) i++;
    rows[d] = i;
  }
  return rows;
}

export function parseTile(buffer: ArrayBuffer): Tile {
  const head = new DataView(buffer);
  if (buffer.byteLength < HEADER || head.getUint32(0, true) !== 1) throw new Error("not a tile");
  const count = head.getUint32(8, true);
  if (buffer.byteLength !== HEADER + count * 28) throw new Error("a tile is cut short");
  const at = (n: number) => HEADER + n * count;
  const depth = new Uint16Array(buffer, at(24), count);
  return {
    from: head.getFloat64(16, true),
    length: head.getFloat64(24, true),
    unit: 2 ** head.getUint32(12, true),
    count,
    fromSummaries: (head.getUint32(4, true) & 1) !== 0,
    deeper: (head.getUint32(4, true) & 2) !== 0,
    start: new Uint32Array(buffer, at(0), count),
    span: new Uint32Array(buffer, at(4), count),
    busy: new Uint32Array(buffer, at(8), count),
    name: new Uint32Array(buffer, at(12), count),
    calls: new Uint32Array(buffer, at(16), count),
    number: new Uint32Array(buffer, at(20), count),
    flags: new Uint8Array(buffer, at(26), count),
    high: new Uint8Array(buffer, at(27), count),
    rows: rowsOf(depth, count),
    bytes: buffer.byteLength,
  };
}

/** The level whose columns are at most NS long. */
export function levelFor(ns: number): number {
  return Math.max(0, Math.min(LEVELS - 1, Math.floor(Math.log2(Math.max(1, ns)))));
}

export function tileLength(level: number): number {
  return 2 ** level * COLUMNS;
}

/** The first part of row DEPTH that ends after TIME (in units of the tile). */
export function firstPart(tile: Tile, depth: number, time: number): number {
  let low = tile.rows[depth];
  let high = tile.rows[depth + 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (tile.start[middle] + tile.span[middle] < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

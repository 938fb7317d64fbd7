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
  const tile: Tile = {
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
  return tile.fromSummaries ? joinParts(tile) : tile;
}

/** The level whose columns are at most NS long. */
export function levelFor(ns: number): number {
  return Math.max(0, Math.min(LEVELS - 1, Math.floor(Math.log2(Math.max(1, ns)))));
}

export function tileLength(level: number): number {
  return 2 ** level * COLUMNS;
}

/** The first part of row DEPTH that ends after TIME (in units of the tile); of a list of parts, if there is one. */
export function firstPart(tile: Tile, depth: number, time: number, list: { index: Uint32Array; rows: Uint32Array } | null = null): number {
  const rows = list ? list.rows : tile.rows;
  let low = rows[depth];
  let high = rows[depth + 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    const part = list ? list.index[middle] : middle;
    if (tile.start[part] + tile.span[part] < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Does a part go on with the call before it, which has the same name? Summaries have a part for each of their columns, and
 * between them calls that are cut where a summary begins or ends. */
export function continues(before: number, flags: number, calls: number): boolean {
  const all = (value: number, bits: number) => (value & bits) === bits;
  const goesOn = all(before, SUMMARY) || all(before, CALL | AFTER);
  const began = all(flags, SUMMARY) ? calls === 0 : all(flags, CALL | BEFORE);
  return goesOn && began && all(before | flags, SUMMARY);
}

/** The flags of two parts of one call. What comes from a summary is not known exactly. */
export function joined(before: number, flags: number): number {
  const both = (before & ~AFTER) | (flags & ~BEFORE);
  return both & SUMMARY ? both & ~CALL : both;
}

/** Join the parts of a call that a summary has in several columns. */
function joinParts(tile: Tile): Tile {
  const { start, span, busy, name, calls, number, high, flags, rows } = tile;
  let count = 0;
  for (let depth = 0; depth + 1 < rows.length; depth++) {
    const begin = count;
    for (let i = rows[depth]; i < rows[depth + 1]; i++) {
      const last = count - 1;
      const end = last >= begin ? start[last] + span[last] : 0;
      if (last >= begin && name[last] === name[i] && continues(flags[last], flags[i], calls[i]) && end + 1 >= start[i]) {
        span[last] = Math.max(end, start[i] + span[i]) - start[last];
        busy[last] += busy[i];
        flags[last] = joined(flags[last], flags[i]);
        if (!number[last] && !high[last]) [number[last], high[last]] = [number[i], high[i]];
        continue;
      }
      if (count !== i) {
        for (const column of [start, span, busy, name, calls, number, high, flags]) column[count] = column[i];
      }
      count++;
    }
    rows[depth] = begin;
  }
  rows[rows.length - 1] = count;
  return { ...tile, count };
}

// What the page computes, without a browser.

import assert from "node:assert/strict";
import { test } from "node:test";

import { differences } from "../src/compare";
import { barStart, groupBars } from "../src/durations";
import { sandwich, treeOf } from "../src/flame";
import { duration, grouped, moment, roundStep } from "../src/format";
import { arrowsOf, lanesOf, tasksOf } from "../src/marks";
import { matcher } from "../src/search";
import { readState } from "../src/state";
import { AFTER, BEFORE, CALL, firstPart, levelFor, parseTile, SUMMARY, tileLength } from "../src/tile";
import type { Name, Stats } from "../src/types";
import { Viewport } from "../src/viewport";

/** A tile with parts [depth, start, length]. */
function bytes(parts: [number, number, number][]): ArrayBuffer {
  const count = parts.length;
  const buffer = new ArrayBuffer(32 + 28 * count);
  const view = new DataView(buffer);
  view.setUint32(0, 1, true);
  view.setUint32(8, count, true);
  view.setUint32(12, 1, true);
  view.setFloat64(16, 1000, true);
  view.setFloat64(24, 512, true);
  parts.forEach(([depth, start, length], i) => {
    view.setUint32(32 + 4 * i, start, true);
    view.setUint32(32 + 4 * count + 4 * i, length, true);
    view.setUint16(32 + 24 * count + 2 * i, depth, true);
  });
  return buffer;
}

test("a tile has rows by depth, also where a depth is empty", () => {
  const tile = parseTile(
    bytes([
      [0, 0, 10],
      [0, 20, 5],
      [2, 1, 3],
    ]),
  );
  assert.deepEqual([...tile.rows], [0, 2, 2, 3]);
  assert.equal(tile.unit, 2);
  assert.equal(tile.from, 1000);
  assert.equal(firstPart(tile, 0, 15), 1);
  assert.equal(firstPart(tile, 0, 10), 0);
  assert.equal(firstPart(tile, 1, 0), 2);
  assert.deepEqual([...parseTile(bytes([])).rows], [0]);
});

test("a call that summaries and calls between them have in pieces is one part", () => {
  const buffer = bytes([
    [0, 0, 10],
    [0, 10, 5],
    [0, 15, 20],
    [0, 35, 5],
    [0, 40, 5],
  ]);
  const count = 5;
  const view = new DataView(buffer);
  view.setUint32(4, 1, true); // from summaries
  [1, 0, 0, 0, 1].forEach((calls, i) => view.setUint32(32 + 16 * count + 4 * i, calls, true));
  [0, 77, 0, 77, 78].forEach((number, i) => view.setUint32(32 + 20 * count + 4 * i, number, true));
  const flags = [SUMMARY, CALL | BEFORE | AFTER, SUMMARY, CALL | BEFORE, CALL];
  flags.forEach((flag, i) => view.setUint8(32 + 26 * count + i, flag));
  const tile = parseTile(buffer);
  assert.equal(tile.count, 2);
  assert.deepEqual([tile.start[0], tile.span[0], tile.number[0], tile.flags[0]], [0, 40, 77, SUMMARY]);
  assert.deepEqual([tile.start[1], tile.span[1], tile.number[1], tile.flags[1]], [40, 5, 78, CALL]);
});

test("bytes that are no tile are refused", () => {
  assert.throws(() => parseTile(new ArrayBuffer(4)));
  assert.throws(() => parseTile(bytes([[0, 0, 1]]).slice(0, 40)));
});

test("the columns of a level are at most a pixel", () => {
  for (const ns of [0.3, 1, 1.5, 1000, 1e9]) assert.ok(2 ** levelFor(ns) <= Math.max(1, ns));
  assert.equal(tileLength(3), 4096);
});

test("numbers are written for people", () => {
  assert.equal(duration(0), "0 ns");
  assert.equal(duration(1234), "1.234 µs");
  assert.equal(duration(123456789), "123.5 ms");
  assert.equal(duration(-5e9), "−5.000 s");
  assert.equal(duration(3601e9), "60 min 1 s");
  assert.equal(grouped(1234567), "1\u202f234\u202f567");
  assert.equal(moment(1500000, 500000), "1.5 ms");
  assert.deepEqual([1, 3, 11, 200, 501].map(roundStep), [1, 5, 20, 200, 1000]);
});

test("a glide arrives, however long ago a capture began", () => {
  const view = new Viewport();
  view.width = 1000;
  view.whole = 100 * 365.25 * 86400e9; // a century
  view.showAll();
  while (view.step(true));
  const at = view.whole / 4;
  view.glide(at, at);
  let steps = 0;
  while (view.step(false)) assert.ok(++steps < 1000);
  assert.ok(view.from < at && at < view.to);
  assert.ok(view.to - view.from < view.whole / 1e11);
});

test("zooming keeps the time under the mouse", () => {
  const view = new Viewport();
  view.whole = 1e9;
  view.width = 1000;
  view.set(0, 1e9);
  const at = view.time(300);
  view.zoom(8, 300);
  assert.ok(Math.abs(view.time(300) - at) < 1);
  view.pan(1e9);
  assert.ok(view.to <= view.whole * 1.03);
  view.set(5, 5);
  assert.ok(view.to - view.from >= 20);
});

test("a search is text, an expression or a whole name", () => {
  const names: Name[] = [
    ["fib", "a.py", 1, "function", "own"],
    ["Fibre", "b.py", 1, "function", "own"],
  ];
  const found = (text: string) => names.filter(matcher(text)).map((name) => name[0]);
  assert.deepEqual(found("FIB"), ["fib", "Fibre"]);
  assert.deepEqual(found("=fib"), ["fib"]);
  assert.deepEqual(found("/^F/"), ["Fibre"]);
  assert.deepEqual(found("b.py"), ["Fibre"]);
  assert.throws(() => matcher("/(/"));
});

test("callers and callees of a function are added up over all paths", () => {
  const tree: Stats["tree"] = [
    [1, -1, 1, 0, 100],
    [2, 0, 2, 10, 60],
    [3, 1, 5, 50, 50],
    [3, 0, 1, 40, 40],
    [3, -1, 1, 7, 7],
  ];
  const root = treeOf({ from: 0, to: 0, calls: 0, busy: 0, functions_all: 0, functions: [], tree });
  assert.equal(root.total, 107);
  const callers = sandwich(root, 3, true);
  assert.equal(callers.total, 97);
  assert.deepEqual(
    callers.children.map((node) => [node.name, node.total]),
    [
      [2, 50],
      [1, 40],
    ],
  );
  const callees = sandwich(root, 1, false);
  assert.deepEqual(
    callees.children.map((node) => [node.name, node.total]),
    [
      [2, 60],
      [3, 40],
    ],
  );
});

test("a place in the address that makes no sense is ignored", () => {
  assert.deepEqual(readState("#v=1,2&s=0,1,2,3").view, [1, 2]);
  assert.equal(readState("#v=1,x").view, undefined);
  assert.equal(readState("#v=1").view, undefined);
  assert.equal(readState("").selected, undefined);
});

test("functions of two captures are matched by name, file and line", () => {
  const cost = (name: number, self: number) => ({ name, calls: 1, resumes: 0, self, total: self, mean: 0, min: 0, max: 0, p50: 0, p90: 0, p99: 0 });
  const stats = (functions: Stats["functions"]): Stats => ({ from: 0, to: 0, calls: 0, busy: 0, functions_all: 0, functions, tree: [] });
  const a: Name[] = [
    ["f", "a.py", 1, "function", "own"],
    ["g", "a.py", 5, "function", "own"],
  ];
  const b: Name[] = [
    ["g", "a.py", 5, "function", "own"],
    ["new", "a.py", 9, "function", "own"],
  ];
  const rows = differences([stats([cost(0, 10), cost(1, 100)]), stats([cost(0, 130), cost(1, 7)])], [a, b]);
  assert.deepEqual(
    rows.map((row) => [row.name[0], ...row.self]),
    [
      ["g", 100, 130],
      ["f", 10, 0],
      ["new", 0, 7],
    ],
  );
  assert.deepEqual(rows[0].numbers, [1, 0]);
});

test("marks become tasks in lanes, and arrows", () => {
  const tasks = tasksOf(
    [
      ["async_begin", 0, 1, 10, "7"],
      ["async_begin", 0, 1, 20, "8"],
      ["async_end", 0, 1, 30, "7"],
    ],
    100,
  );
  assert.deepEqual(
    tasks.map((span) => [span.start, span.end]),
    [
      [10, 30],
      [20, 100],
    ],
  );
  const lanes = lanesOf([...tasks, { name: 1, start: 40, end: 50, thread: 0, id: "" }], 100);
  assert.deepEqual([...lanes.tile.rows], [0, 2, 3]);
  assert.deepEqual([...lanes.tile.start], [10, 40, 20]);
  const arrows = arrowsOf([
    ["flow_in", 1, 2, 60, "9", null, 4],
    ["flow_out", 0, 2, 50, "9", null, 2],
    ["flow_in", 1, 2, 70, "5", null, 1],
  ]);
  assert.deepEqual(arrows, [{ name: 2, from: [0, 50, 1], to: [1, 60, 3] }]);
});

test("bars are grouped until they are wide enough", () => {
  assert.deepEqual([3, 4, 7, 8, 11, 12].map(barStart), [3, 4, 7, 8, 14, 16]);
  const bar = (number: number, calls: number, kept: number) => ({
    bar: number,
    from: barStart(number),
    to: barStart(number + 1),
    calls,
    longest: Array.from({ length: kept }, (_, i): [number, number, number, number] => [0, i, 0, barStart(number) - i / 100]),
  });
  const one = groupBars([bar(20, 2, 2)], 9, 32);
  assert.equal(one.length, 9);
  assert.deepEqual(
    one.filter((group) => group.calls).map((group) => [group.from, group.to, group.calls, group.longest.length]),
    [[64, 80, 2, 2]],
  );
  const many = groupBars([bar(20, 1, 1), bar(21, 3, 3), bar(22, 40, 16), bar(99, 2, 2)], 9, 32);
  assert.ok(many.length <= 32);
  assert.equal(many[0].from, 64);
  assert.deepEqual([many[0].calls, many[0].longest.length], [44, 16]); // those after the 16th of a bar are not known
  const ends = many.map((group) => group.to).slice(0, -1);
  assert.deepEqual(
    ends,
    many.slice(1).map((group) => group.from),
  );
  const two = groupBars([bar(20, 1, 1), bar(21, 3, 3), bar(90, 1, 1)], 9, 32)[0];
  assert.deepEqual(
    two.longest.map((call) => call[3]),
    [80, 79.99, 79.98, 64],
  );
  assert.deepEqual(groupBars([], 9, 32), []);
});

// Which tiles are asked for, and which are given up.

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Source } from "../src/source";
import { TileStore } from "../src/store";

interface Asked {
  level: number;
  index: number;
  stop?: AbortSignal;
  answer: (bytes: ArrayBuffer) => void;
}

/** A source that answers when the test wants it. */
class SlowSource {
  asked: Asked[] = [];

  tile(_capture: number, _thread: number, level: number, index: number, _generation: number, stop?: AbortSignal): Promise<ArrayBuffer> {
    return new Promise((answer, fail) => {
      stop?.addEventListener("abort", () => fail(new Error("stopped")));
      this.asked.push({ level, index, stop, answer });
    });
  }
}

function empty(): ArrayBuffer {
  const buffer = new ArrayBuffer(32);
  new DataView(buffer).setUint32(0, 1, true);
  return buffer;
}

function frame(store: TileStore, wanted: [level: number, index: number][]): void {
  store.beginFrame();
  for (const [level, index] of wanted) store.get(0, 0, level, index);
  store.endFrame();
}

function made(): [SlowSource, TileStore] {
  const source = new SlowSource();
  return [source, new TileStore(source as unknown as Source, () => undefined)];
}

const places = (asked: Asked[]) => asked.map(({ level, index }) => `${level} ${index}`);
const settle = () => new Promise((done) => setTimeout(done, 0));

test("tiles that are no longer wanted make room for those that are", async () => {
  const [source, store] = made();
  frame(
    store,
    Array.from({ length: 8 }, (_, i) => [10, i]),
  );
  assert.equal(source.asked.length, 5);
  frame(store, [
    [3, 90000],
    [3, 90001],
  ]);
  assert.deepEqual(
    source.asked.map(({ stop }) => stop?.aborted),
    [true, true, true, true, true, false, false],
  );
  assert.deepEqual(places(source.asked.slice(5)), ["3 90000", "3 90001"]);
  for (const { answer } of source.asked) answer(empty());
  await settle();
  assert.equal(store.busy, false);
  assert.ok(store.peek(0, 0, 3, 90000));
  assert.equal(store.peek(0, 0, 10, 0), null);
});

test("one that was given up can be asked for again at once", async () => {
  const [source, store] = made();
  frame(store, [[10, 1]]);
  frame(store, [[10, 500]]);
  frame(store, [
    [10, 1],
    [10, 500],
  ]);
  assert.deepEqual(places(source.asked), ["10 1", "10 500", "10 1"]);
  source.asked[2].answer(empty());
  await settle();
  assert.ok(store.peek(0, 0, 10, 1));
});

test("while nothing is missing, what is under way may come", async () => {
  const [source, store] = made();
  frame(store, [[10, 1]]);
  frame(store, []);
  assert.equal(source.asked[0].stop?.aborted, false);
  source.asked[0].answer(empty());
  await settle();
  assert.ok(store.peek(0, 0, 10, 1));
});

test("a tile that is a little coarser than a missing one is waited for", () => {
  const [source, store] = made();
  frame(store, [
    [10, 1],
    [10, 9],
  ]);
  frame(store, [[8, 6]]);
  assert.deepEqual(
    source.asked.map(({ stop }) => stop?.aborted),
    [false, true, false],
  );
  frame(store, [[7, 12]]); // two levels finer than the second, three than the first
  assert.deepEqual(
    source.asked.map(({ stop }) => stop?.aborted),
    [true, true, false, false],
  );
});

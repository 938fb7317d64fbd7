// Ask Perfetto's trace processor about traces:
//   node trace_processor.mjs DIRECTORY
// DIRECTORY is what tools/trace-processor.sh prints. Reads lines {"trace": PATH, "queries": [SQL, ...]}
// and prints a line for each: a list with the rows of each query, or a text when it went wrong. Whole
// numbers beyond what JSON holds become texts.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import vm from "node:vm";

const directory = process.argv[2];
const PIECE = 16 * 1024 * 1024;

// The engine is written for a browser's worker: give it what it looks for there.
globalThis.self = globalThis;
globalThis.WorkerGlobalScope = function () {};
globalThis.location = { href: pathToFileURL(directory).href + "/" };
console.warn = () => {};
const log = console.log;
console.log = () => {};

function replaced(text, from, to) {
  if (!text.includes(from)) throw new Error("the engine has changed: no " + from);
  return text.replace(from, to);
}

let glue = readFileSync(join(directory, "engine_bundle.node.js"), "utf8");
glue = replaced(glue, "this.useMemory64 = hasMemory64Support();", "this.useMemory64 = false;");
glue = replaced(glue, "locateFile: (s) => s,", "locateFile: (s) => s, wasmBinary: globalThis.wasmBytes,");
glue = replaced(
  glue,
  "const wasmBridge = new wasm_bridge_1.WasmBridge();",
  "const wasmBridge = new wasm_bridge_1.WasmBridge(); globalThis.bridge = wasmBridge;",
);
globalThis.wasmBytes = new Uint8Array(readFileSync(join(directory, "trace_processor.wasm")));
vm.runInThisContext(glue, { filename: "engine.js" });
while (!globalThis.bridge.reqBufferAddr) await new Promise((done) => setTimeout(done, 5));

const { EngineBase } = await import(pathToFileURL(join(directory, "engine.mjs")).href);
class Engine extends EngineBase {
  mode = "WASM";
  id = "test";
  constructor() {
    super();
    const engine = this;
    globalThis.bridge.initialize({
      postMessage: (bytes) => engine.onRpcResponseBytes(bytes),
    });
  }
  rpcSendRequestBytes(bytes) {
    globalThis.bridge.onMessage({ data: bytes });
  }
}

function plain(value) {
  if (typeof value !== "bigint") return value;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value.toString();
}

const engine = new Engine();

async function answer({ trace, queries }) {
  await engine.resetTraceProcessor({
    cropTrackEvents: false,
    ingestFtraceInRawTable: false,
    analyzeTraceProtoContent: false,
    ftraceDropUntilAllCpusValid: false,
  });
  const bytes = new Uint8Array(readFileSync(trace));
  for (let at = 0; at < bytes.length; at += PIECE) await engine.parse(bytes.subarray(at, at + PIECE));
  await engine.notifyEof();
  const results = [];
  for (const query of queries) {
    const result = await engine.query(query);
    const names = result.columns();
    const rows = [];
    for (const at = result.iter({}); at.valid(); at.next()) rows.push(names.map((name) => plain(at.get(name))));
    results.push(rows);
  }
  return results;
}

for await (const line of createInterface({ input: process.stdin })) {
  const told = await answer(JSON.parse(line)).catch((error) => String(error));
  process.stdout.write(JSON.stringify(told) + "\n");
}
process.exit(0);

// Load a snapshot with the loader of PyTorch's memory viewer and print what it found.
//
//     node load_in_viewer.mjs MemoryViz.js SNAPSHOT
//
// The viewer is a module for browsers: it imports d3 from the network and builds a page. Its loader
// needs neither, so only the loader's functions are taken out of the file.
import {readFileSync} from 'node:fs';

const [viewer, snapshot] = process.argv.slice(2);
const source = readFileSync(viewer, 'utf-8');

function declaration(name) {
  const begin = source.indexOf(`\nfunction ${name}(`);
  return begin < 0 ? '' : source.slice(begin, source.indexOf('\n}\n', begin) + 3);
}

const names = ['version_space', 'annotate_snapshot', 'unpickle', 'unpickleData'];
const code = names.map(declaration).join('');
const load = new Function(
  'console',
  `${code}; return data => { data = unpickle(data); annotate_snapshot(data); return data; };`,
)({log: () => {}});

const bytes = readFileSync(snapshot);
const loaded = load(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
const actions = {};
let frames = 0;
for (const event of loaded.device_traces.flat()) {
  actions[event.action] = (actions[event.action] || 0) + 1;
  frames += event.frames.length;
}
console.log(
  JSON.stringify({
    actions,
    frames,
    categories: loaded.categories,
    segments: loaded.segments.length,
    blocks: loaded.segments.flatMap(s => s.blocks.map(b => [b.addr, b.size, b.state])),
  }),
);

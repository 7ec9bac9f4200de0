// Fails the build when the JavaScript of the console grows past its limits.
import { readdirSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

/** In bytes, compressed by gzip. */
const MAX_FIRST = 150_000;
const MAX_ALL = 570_000;

const folder = process.argv[2] ?? 'dist';
const manifest = JSON.parse(readFileSync(`${folder}/manifest.json`, 'utf8'));
const scripts = readdirSync(`${folder}/assets`).filter((name) => name.endsWith('.js'));
const sizes = new Map(
  scripts.map((name) => [`assets/${name}`, gzipSync(readFileSync(`${folder}/assets/${name}`), { level: 9 }).length]),
);

/** Files of an entry and of what it imports at once. */
function files(entry, found = new Set()) {
  const { file, imports = [] } = manifest[entry];
  found.add(file);
  for (const next of imports) if (!found.has(manifest[next].file)) files(next, found);
  return found;
}

const sum = (names) => [...names].reduce((total, name) => total + (sizes.get(name) ?? 0), 0);
const all = sum(sizes.keys());
// The worker that draws charts is no part of the manifest.
const charts = sum([...sizes.keys()].filter((name) => name.startsWith('assets/worker-')));
const first = sum(new Set([...files('index.html'), ...files('src/screens/runs/Runs.svelte')]));

console.log(`JavaScript, compressed: the list of runs ${kb(first)} of ${kb(MAX_FIRST)}, everything ${kb(all)} of ${kb(MAX_ALL)}, of that charts ${kb(charts)}`);
if (first > MAX_FIRST || all > MAX_ALL || charts === 0) process.exit(1);

function kb(bytes) {
  return `${Math.round(bytes / 1_000)} kB`;
}

// Fails the build when the JavaScript of the console grows past its limits, compressed as it is served.
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

/** In bytes. */
const MAX_FIRST = 150_000;
const MAX_ALL = 600_000;

const folder = process.argv[2] ?? 'dist';
const manifest = JSON.parse(readFileSync(`${folder}/manifest.json`, 'utf8'));
const sizes = new Map();
for (const { file } of Object.values(manifest)) {
  if (file.endsWith('.js')) sizes.set(file, gzipSync(readFileSync(`${folder}/${file}`), { level: 9 }).length);
}

/** Files of an entry and of what it imports at once; with `lazily`, of what it can load later as well. */
function files(entry, lazily, found = new Set()) {
  const { file, imports = [], dynamicImports = [] } = manifest[entry];
  if (found.has(file)) return found;
  found.add(file);
  for (const next of lazily ? [...imports, ...dynamicImports] : imports) files(next, lazily, found);
  return found;
}

const sum = (names) => [...names].reduce((total, name) => total + (sizes.get(name) ?? 0), 0);
const charts = Object.keys(manifest).filter((name) => name.endsWith('parts/chart.ts'));
const all = sum(files('index.html', true));
const chart = sum(files(charts[0], false));
const first = sum(new Set([...files('index.html', false), ...files('src/screens/runs/Runs.svelte', false)]));

console.log(`JavaScript, compressed: the list of runs ${kb(first)} of ${kb(MAX_FIRST)}, everything ${kb(all)} of ${kb(MAX_ALL)}, of that charts ${kb(chart)}`);
if (first > MAX_FIRST || all > MAX_ALL) process.exit(1);

function kb(bytes) {
  return `${Math.round(bytes / 1_000)} kB`;
}

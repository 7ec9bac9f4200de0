// Fails the build when the JavaScript of the console grows past its limits.
import { readdirSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

/** In bytes, compressed by gzip. */
const MAX_FIRST = 150_000;
/** Of one screen, with its editors and charts. */
const MAX_SCREEN = 500_000;
const MAX_ALL = 570_000;

const PAGE = 'index.html';
const folder = process.argv[2] ?? 'dist';
const manifest = JSON.parse(readFileSync(`${folder}/manifest.json`, 'utf8'));
const scripts = readdirSync(`${folder}/assets`).filter((name) => name.endsWith('.js'));
const sizes = new Map(
  scripts.map((name) => [`assets/${name}`, gzipSync(readFileSync(`${folder}/assets/${name}`), { level: 9 }).length]),
);

/** Files of an entry and of what it imports: at once, or also later. */
function files(entry, later = false, found = new Set()) {
  const { file, imports = [], dynamicImports = [] } = manifest[entry];
  found.add(file);
  // The page itself loads the other screens.
  const next = later && entry !== PAGE ? [...imports, ...dynamicImports] : imports;
  for (const name of next) if (!found.has(manifest[name].file)) files(name, later, found);
  return found;
}

const sum = (names) => [...names].reduce((total, name) => total + (sizes.get(name) ?? 0), 0);
const all = sum(sizes.keys());
// The worker that draws charts is no part of the manifest.
const charts = sum([...sizes.keys()].filter((name) => name.startsWith('assets/worker-')));
const first = sum(new Set([...files(PAGE), ...files('src/screens/runs/Runs.svelte')]));
const screens = manifest[PAGE].dynamicImports.filter((name) => name.startsWith('src/screens/')).map((name) => {
  const loaded = files(name, true);
  return sum(loaded) + ([...loaded].some((file) => file.startsWith('assets/Chart-')) ? charts : 0);
});
const largest = Math.max(...screens);

console.log(
  `JavaScript, compressed: the list of runs ${kb(first)} of ${kb(MAX_FIRST)}, the largest screen ${kb(largest)} of ${kb(MAX_SCREEN)}, everything ${kb(all)} of ${kb(MAX_ALL)}, of that charts ${kb(charts)}`,
);
// Less means that a chunk is called something else now, and is not counted.
const counted = charts > 0 && largest > charts;
if (!counted || first > MAX_FIRST || largest > MAX_SCREEN || all > MAX_ALL) process.exit(1);

function kb(bytes) {
  return `${Math.round(bytes / 1_000)} kB`;
}

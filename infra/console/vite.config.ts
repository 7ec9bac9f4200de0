import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig, type Plugin } from 'vite';

/** Gives the console what the API's document says beside types: which permissions each role has. */
function roles(): Plugin {
  const id = 'virtual:roles';
  return {
    name: 'roles',
    resolveId: (source) => (source === id ? `\0${id}` : undefined),
    load(loaded) {
      if (loaded !== `\0${id}`) return undefined;
      const document = JSON.parse(readFileSync(new URL('../openapi.json', import.meta.url), 'utf8'));
      return `export default ${JSON.stringify(document['x-roles'])};`;
    },
  };
}

/** A runner to develop against. */
const runner = process.env['MILLRACE_URL'] ?? 'http://127.0.0.1:3000';

/** Takes the page's proof from the page that the runner serves, because here Vite serves it. */
function proof(): Plugin {
  const place = /<meta name="page-proof" content="[^"]*" \/>/;
  return {
    name: 'proof',
    apply: 'serve',
    async transformIndexHtml(html) {
      // `fetch` would say that a script asks, which gets no proof.
      const page = await new Promise<string>((resolve) => {
        const request = get(`${runner}/console`, (response) => text(response).then(resolve, () => resolve('')));
        request.on('error', () => resolve(''));
      });
      return html.replace(place, place.exec(page)?.[0] ?? '$&');
    },
  };
}

export default defineConfig({
  plugins: [svelte(), roles(), proof()],
  // The page stands at `/console`, behind the stage of a deployed API as well, so no address in it may be
  // absolute.
  base: './',
  resolve: {
    alias: [
      // Vega-Lite takes four small functions from the package `vega`, which would bring the whole of it.
      { find: /^vega$/, replacement: 'vega-util' },
      // What a chart makes is counted in it, for all parts of Vega.
      { find: /^vega-dataflow$/, replacement: fileURLToPath(new URL('src/parts/chart/dataflow.ts', import.meta.url)) },
    ],
  },
  worker: { format: 'es' },
  experimental: {
    renderBuiltUrl: (file, { hostType }) => (hostType === 'html' ? `./console/${file}` : { relative: true }),
  },
  build: {
    target: 'es2022',
    // The policy of the page forbids inline scripts and `data:` outside of pictures.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1_000,
    reportCompressedSize: false,
    manifest: 'manifest.json',
  },
  server: {
    host: '127.0.0.1',
    proxy: { '/api': runner, '/ingest': runner, '/console': runner },
  },
});

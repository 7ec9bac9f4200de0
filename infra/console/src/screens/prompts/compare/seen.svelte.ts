/**
 * Keeps the versions that this page has read or saved, because the API answers the content of the current one
 * alone. A reload forgets them.
 */

import { SvelteMap } from 'svelte/reactivity';

import type { Prompt } from '../read';

/** Versions in memory; the oldest one leaves first. */
const MAX_VERSIONS = 200;

const versions = new SvelteMap<string, Prompt>();

export function remember(prompt: Prompt): void {
  const key = keyOf(prompt.id, prompt.version);
  if (versions.get(key) !== undefined) return;
  if (versions.size >= MAX_VERSIONS) {
    for (const oldest of versions.keys()) {
      versions.delete(oldest);
      break;
    }
  }
  versions.set(key, prompt);
}

export function seen(id: string, version: number): Prompt | undefined {
  return versions.get(keyOf(id, version));
}

const keyOf = (id: string, version: number) => `${version} ${id}`;

import type { Component } from 'svelte';

/** Place of the navigation. Its code is loaded when it is opened. */
export interface Screen {
  /** First segment of its addresses. */
  name: string;
  label: string;
  /** Path of a 20 by 20 picture, drawn in lines. */
  picture: string;
  /** The caller has one of these permissions, or the screen is not offered. */
  permissions: readonly string[];
  load: () => Promise<{ default: Component }>;
}

export const SCREENS: readonly Screen[] = [
  {
    name: 'runs',
    label: 'Runs',
    picture: 'M3 5h6m4 0h4M3 10h10m4 0h0M3 15h3m4 0h7',
    permissions: ['workflow:run'],
    load: () => import('../screens/runs/Runs.svelte'),
  },
  {
    name: 'events',
    label: 'Events',
    picture: 'M11 2 4 11h6l-1 7 7-9h-6z',
    permissions: ['workflow:read', 'workflow:run', 'workflow:admin'],
    load: () => import('../screens/events/Events.svelte'),
  },
  {
    name: 'data',
    label: 'Data',
    picture: 'M3 5c0-3 14-3 14 0v10c0 3-14 3-14 0zm0 0c0 3 14 3 14 0M3 10c0 3 14 3 14 0',
    permissions: ['content:read'],
    load: () => import('../screens/data/Data.svelte'),
  },
  {
    name: 'prompts',
    label: 'Prompts',
    picture: 'M3 4h14v9H9l-4 4v-4H3zM6 7h8M6 10h5',
    permissions: ['interaction:read'],
    load: () => import('../screens/prompts/Prompts.svelte'),
  },
  {
    name: 'audit',
    label: 'Audit',
    picture: 'M4 17V9m4 8V3m4 14v-6m4 6V7',
    permissions: ['project:admin', 'account:admin', 'audit:read'],
    load: () => import('../screens/audit/Audit.svelte'),
  },
];

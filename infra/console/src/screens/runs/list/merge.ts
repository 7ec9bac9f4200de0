/** Keeps a list of runs, newest first, up to date with pages that overlap it. */

import type { Schemas } from '../../../api/client';

export type Run = Schemas['WorkflowRunSummary'];

/** Returns the order of the listing: newest first, and by run id where two began at once. */
export function byStart(a: Run, b: Run): number {
  if (a.started_at !== b.started_at) return a.started_at < b.started_at ? 1 : -1;
  return a.run_id === b.run_id ? 0 : a.run_id < b.run_id ? 1 : -1;
}

/**
 * Puts the newest runs in front of those that are known. `head` is complete down to its last run, or
 * altogether if `whole`: what it lacks there is left out. Returns nothing if runs may be missing between the
 * two.
 */
export function withHead(runs: readonly Run[], head: readonly Run[], whole: boolean): Run[] | undefined {
  if (whole) return [...head];
  const last = head.at(-1);
  const first = runs[0];
  if (last === undefined || first === undefined) return [...runs];
  if (byStart(last, first) < 0) return undefined;
  return [...head, ...runs.filter((run) => byStart(run, last) > 0)];
}

/** Appends an older page. */
export function withTail(runs: readonly Run[], page: readonly Run[]): Run[] {
  const ids = new Set(runs.map((run) => run.run_id));
  return [...runs, ...page.filter((run) => !ids.has(run.run_id))].sort(byStart);
}

/** Addresses of this screen and of those that it leads to. */

import { href } from '../../shell/route.svelte';

export function runHref(run: { workflow_id: string; run_id: string }, query: Record<string, string | undefined> = {}): string {
  return href(['runs', run.workflow_id, run.run_id], query);
}

/** The list of all runs with a workflow id. */
export function workflowHref(workflowId: string): string {
  return href(['runs'], { query: `WorkflowId = ${quoted(workflowId)}` });
}

/** Returns a text of the list-filter language. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Returns such as '01a21580…503d'. */
export function short(id: string): string {
  return id.length <= 16 ? id : `${id.slice(0, 8)}…${id.slice(-4)}`;
}

/** Asks the code of a run. */

import { answer, client } from '../../../api/client';

export interface Ids {
  workflow_id: string;
  run_id: string;
}

export async function queryRun(ids: Ids, name: string, signal?: AbortSignal): Promise<unknown> {
  const path = { workflow_id: ids.workflow_id, run_id: ids.run_id, query_name: name };
  return answer<unknown>(
    client.GET('/api/v1/workflows/runs/{workflow_id}/{run_id}/query/{query_name}', { params: { path }, ...(signal && { signal }) }),
  );
}

/** Returns the signals that a run waits for, of the answer to `__stack`. */
export function signalsOf(stack: unknown): string[] {
  if (!Array.isArray(stack)) return [];
  const names = stack.map((entry) => (typeof entry === 'string' ? /^signal (.+)$/s.exec(entry)?.[1] : undefined));
  return [...new Set(names.filter((name) => name !== undefined))];
}

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

/** Returns the names of the signals that a run waits for. */
export async function awaitedSignals(ids: Ids): Promise<string[]> {
  return (await queryRun(ids, '__signals')) as string[];
}

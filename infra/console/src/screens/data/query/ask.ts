import { answer, client, type Schemas } from '../../../api/client';
import type { Result } from './result';

/** Runs a statement over a version of a data store; without an id over the current one. */
export async function ask(store: string, version: string, body: Schemas['QueryRequest'], signal?: AbortSignal): Promise<Result> {
  const options = { body, ...(signal && { signal }) };
  const path = { store_id: store };
  const result =
    version === ''
      ? answer(client.POST('/api/v1/data/{store_id}/query', { params: { path }, ...options }))
      : answer(
          client.POST('/api/v1/data/{store_id}/versions/{version_id}/query', {
            params: { path: { ...path, version_id: version } },
            ...options,
          }),
        );
  // The text is the form of an answer as CSV, which is not asked for.
  return (await result) as Result;
}

/** Reads prompt templates. */

import { answer, answered, client, type Schemas } from '../../api/client';
import { pageOf, readPage, type Page } from '../../api/pages.svelte';

export type Prompt = Schemas['PromptTemplate'];
export type PromptVersion = Schemas['PromptVersionItem'];

/** A template, and the entity tag of its version. */
export interface Read {
  prompt: Prompt;
  etag: string;
}

export async function readPrompt(id: string, signal?: AbortSignal): Promise<Read> {
  const { data, response } = await answered(
    client.GET('/api/v1/prompts/{pt_id}', { params: { path: { pt_id: id } }, ...(signal && { signal }) }),
  );
  return withTag(data, response);
}

export function withTag(prompt: Prompt, response: Response): Read {
  return { prompt, etag: response.headers.get('etag') ?? `"${prompt.version}"` };
}

export function readVersions(id: string, token: string | undefined, signal?: AbortSignal): Promise<Page<PromptVersion>> {
  return readPage(
    client.GET('/api/v1/prompts/{pt_id}/versions', {
      params: { path: { pt_id: id }, query: pageOf(token) },
      ...(signal && { signal }),
    }),
  );
}

export function readVersion(id: string, version: number, signal?: AbortSignal): Promise<Prompt> {
  return answer(
    client.GET('/api/v1/prompts/{pt_id}/versions/{version}', {
      params: { path: { pt_id: id, version } },
      ...(signal && { signal }),
    }),
  );
}

export function readForks(id: string, token: string | undefined, signal?: AbortSignal): Promise<Page<PromptVersion>> {
  return readPage(
    client.GET('/api/v1/prompts/{pt_id}/forks', {
      params: { path: { pt_id: id }, query: pageOf(token) },
      ...(signal && { signal }),
    }),
  );
}

export function readInteractions(id: string, signal?: AbortSignal): Promise<Schemas['PromptInteractions']> {
  return answer(
    client.GET('/api/v1/prompts/{pt_id}/interactions', { params: { path: { pt_id: id } }, ...(signal && { signal }) }),
  );
}

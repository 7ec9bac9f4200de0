/** Reads prompt templates. */

import { answer, answered, client, type Schemas } from '../../api/client';
import type { Page } from './pages.svelte';

export type Prompt = Schemas['PromptTemplate'];
export type PromptVersion = Schemas['PromptVersionItem'];

/** A template, and the entity tag of its version. */
export interface Read {
  prompt: Prompt;
  etag: string;
}

const PAGE_SIZE = 50;

export async function readPrompt(id: string, signal?: AbortSignal): Promise<Read> {
  const { data, response } = await answered(
    client.GET('/api/v1/prompts/{pt_id}', { params: { path: { pt_id: id } }, ...(signal && { signal }) }),
  );
  return withTag(data, response);
}

export function withTag(prompt: Prompt, response: Response): Read {
  return { prompt, etag: response.headers.get('etag') ?? `"${prompt.version}"` };
}

export async function readPage<T>(sent: Parameters<typeof answered<T[]>>[0]): Promise<Page<T>> {
  const { data, response } = await answered(sent);
  return { entries: data, next: response.headers.get('x-next-page-token') ?? undefined };
}

export const pageOf = (token: string | undefined) => ({ page_size: PAGE_SIZE, ...(token && { next_page_token: token }) });

export function readVersions(id: string, token: string | undefined, signal?: AbortSignal): Promise<Page<PromptVersion>> {
  return readPage(
    client.GET('/api/v1/prompts/{pt_id}/versions', {
      params: { path: { pt_id: id }, query: pageOf(token) },
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

/** Renders a content that need not be saved. */

import { answer, client, type Schemas } from '../../../api/client';

/** An author types on: only the content after a pause is rendered. */
const PAUSE_MS = 250;

export interface Rendered {
  text: string;
  /** What it was rendered from. */
  content: string;
}

/** Rejects with the reason of `signal` when a later content takes the place of this one. */
export async function render(
  contentType: Schemas['ContentType'],
  content: string,
  data: Record<string, unknown> | undefined,
  signal: AbortSignal,
): Promise<Rendered> {
  await pause(signal);
  const { text } = await answer(
    client.POST('/api/v1/prompts/render', {
      body: { content_type: contentType, content, ...(data && { data: data as never }) },
      signal,
    }),
  );
  return { text, content };
}

function pause(signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, PAUSE_MS);
    signal.addEventListener('abort', () => (clearTimeout(timer), reject(signal.reason)), { once: true });
  });
}

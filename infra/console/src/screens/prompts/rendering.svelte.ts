/** Renders a draft with its test data as it changes. */

import { answer, client } from '../../api/client';
import { ApiError, isAbort } from '../../api/error';
import type { Mark } from '../../parts/editor';
import type { Draft } from './draft.svelte';

/** Time without a change before the service is asked, in milliseconds. */
const REST_MS = 250;

export class Rendering {
  text = $state<string>();
  error = $state.raw<unknown>();
  #rendered = $state('');
  readonly marks: readonly Mark[] = $derived(marksOf(this.error, this.#rendered));

  /** Create it during the initialisation of a component. */
  constructor(draft: Draft) {
    $effect(() => {
      const body = { content_type: draft.contentType, content: draft.content, data: draft.data.value ?? {} };
      if (draft.data.error !== undefined) return undefined;
      const abort = new AbortController();
      const timer = setTimeout(async () => {
        try {
          const { text } = await answer(client.POST('/api/v1/prompts/render', { body, signal: abort.signal }));
          this.text = text;
          this.error = undefined;
        } catch (error) {
          if (isAbort(error)) return;
          this.error = error;
        }
        this.#rendered = body.content;
      }, REST_MS);
      return () => {
        clearTimeout(timer);
        abort.abort();
      };
    });
  }
}

/** Returns the place that an error names as 'at line 1, column 16'. */
export function marksOf(error: unknown, content: string): Mark[] {
  if (!(error instanceof ApiError)) return [];
  const found = /line (\d+)(?:, column (\d+))?/.exec(error.message);
  if (found === null) return [];
  const lines = content.split('\n');
  const line = Math.min(Number(found[1]), lines.length) - 1;
  const before = lines.slice(0, line).reduce((sum, text) => sum + text.length + 1, 0);
  const from = before + Math.min(Number(found[2] ?? 1) - 1, lines[line]?.length ?? 0);
  return [{ from, to: from + 1, message: error.message }];
}

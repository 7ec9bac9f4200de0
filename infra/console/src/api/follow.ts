/**
 * Follows the update stream of a run.
 *
 * Uses `fetch` instead of `EventSource`, which cannot send the token in a header. A broken stream resumes
 * after the last message that arrived, so that no message is missing or repeated.
 */

import { EventSourceParserStream } from 'eventsource-parser/stream';

import { BASE } from './base';
import { send, type Schemas } from './client';
import { ApiError, isAbort } from './error';

export type Update = Schemas['RunUpdate'];

/** Types of the last message of a run. */
const LAST = new Set(['complete', 'terminated']);
const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 8_000;
/** A stream that is silent for longer has broken without a sign: the service says something each 15 s. */
const MAX_SILENCE_MS = 40_000;

export interface Follower {
  /** Called for each message, in order. */
  message(update: Update): void;
  /** Called when the stream is interrupted and when it is open again. */
  live(open: boolean): void;
}

/**
 * Follows until the run ends or `signal` aborts. `since` is a time in milliseconds; 0 begins with the first
 * message. Throws {@link ApiError} if the service refuses.
 */
export async function follow(
  run: { workflow_id: string; run_id: string },
  since: number,
  follower: Follower,
  signal: AbortSignal,
): Promise<void> {
  const path = `${BASE}/api/v1/workflows/runs/${encodeURIComponent(run.workflow_id)}/${encodeURIComponent(run.run_id)}/stream?since=${since}`;
  let lastId: string | undefined;
  let pause = FIRST_PAUSE_MS;
  while (!signal.aborted) {
    try {
      const headers: Record<string, string> = lastId === undefined ? {} : { 'last-event-id': lastId };
      const response = await send(new Request(path, { headers, signal }));
      if (response.status === 204) return;
      if (!response.ok && response.status < 500 && response.status !== 429) {
        const body = await response.json().catch(() => undefined);
        throw new ApiError(response.status, body, response.headers.get('x-request-id') ?? undefined);
      }
      if (response.ok && response.body !== null) {
        follower.live(true);
        pause = FIRST_PAUSE_MS;
        const frames = response.body.pipeThrough(heard()).pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
        const reader = frames.getReader();
        for (let frame = await reader.read(); !frame.done; frame = await reader.read()) {
          lastId = frame.value.id ?? lastId;
          const update = JSON.parse(frame.value.data) as Update;
          follower.message(update);
          if (LAST.has(update.type)) return;
        }
      }
    } catch (error) {
      if (isAbort(error) || error instanceof ApiError) throw error;
    }
    follower.live(false);
    await sleep(pause, signal);
    pause = Math.min(pause * 2, MAX_PAUSE_MS);
  }
}

/** Passes bytes on, and fails when none come for too long. */
function heard(): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  let timer: ReturnType<typeof setTimeout>;
  const wait = (controller: TransformStreamDefaultController) => {
    clearTimeout(timer);
    timer = setTimeout(() => controller.error(new Error('The stream is silent.')), MAX_SILENCE_MS);
  };
  return new TransformStream({
    start: wait,
    transform(bytes, controller) {
      wait(controller);
      controller.enqueue(bytes);
    },
    flush: () => clearTimeout(timer),
  });
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
  });
}

/** The update messages of a run: those that there are, and each new one as it is published. */

import { answer, client, type Schemas } from '../../../api/client';
import { isAbort } from '../../../api/error';
import { follow, type Update } from '../../../api/follow';

/** Messages that are kept; the service keeps 1,000. */
const MAX_KEPT = 5_000;
/** Messages that arrive together are shown together, after this time in milliseconds. */
const TOGETHER_MS = 20;

export type Standing = 'connecting' | 'live' | 'reconnecting' | 'ended' | 'refused';

export class Updates {
  messages = $state.raw<readonly Update[]>([]);
  standing = $state<Standing>('connecting');
  error = $state.raw<unknown>();
  readonly #run: { workflow_id: string; run_id: string };
  readonly #arrived: (messages: readonly Update[]) => void;
  #waiting: Update[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Timestamps of a run's messages rise strictly, so that the last one tells what is known. */
  #last = -1;

  /** Follows while the component lives. */
  constructor(run: { workflow_id: string; run_id: string }, arrived: (messages: readonly Update[]) => void) {
    this.#run = run;
    this.#arrived = arrived;
    $effect(() => {
      const abort = new AbortController();
      void this.#follow(abort.signal);
      return () => {
        abort.abort();
        clearTimeout(this.#timer);
      };
    });
  }

  /** Reads what came after the end of a run, where the stream is over. */
  readOn = async (): Promise<void> => {
    if (this.standing !== 'ended') return;
    const path = { workflow_id: this.#run.workflow_id, run_id: this.#run.run_id };
    for (let more = true; more; ) {
      const query = { since: Math.max(0, this.#last) };
      const page: Schemas['RunUpdatePage'] = await answer(
        client.GET('/api/v1/workflows/runs/{workflow_id}/{run_id}/updates', { params: { path, query } }),
      );
      page.messages.forEach((message) => this.#take(message));
      more = page.has_more && page.messages.length > 0;
    }
  };

  async #follow(signal: AbortSignal): Promise<void> {
    const live = (open: boolean) => {
      if (!signal.aborted) this.standing = open ? 'live' : 'reconnecting';
    };
    try {
      await follow(this.#run, 0, { message: (message) => this.#take(message), live }, signal);
      if (signal.aborted) return;
      this.standing = 'ended';
      await this.readOn();
    } catch (error) {
      if (isAbort(error) || signal.aborted) return;
      this.error = error;
      if (this.standing !== 'ended') this.standing = 'refused';
    }
  }

  #take(message: Update): void {
    if (message.timestamp <= this.#last) return;
    this.#last = message.timestamp;
    this.#waiting.push(message);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const arrived = this.#waiting;
      this.#waiting = [];
      this.messages = [...this.messages, ...arrived].slice(-MAX_KEPT);
      this.#arrived(arrived);
    }, TOGETHER_MS);
  }
}

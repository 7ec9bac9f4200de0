/** The update messages of one run, as they come. */

import { untrack } from 'svelte';

import { follow, type Update } from '../../api/follow';
import { isAbort } from '../../api/error';

export class Updates {
  messages = $state.raw<readonly Update[]>([]);
  /** True while the stream is open. */
  live = $state(false);
  /** True after the last message of the run. */
  ended = $state(false);
  error = $state.raw<unknown>();

  /** Follows until the component is gone. Create it during the initialisation of a component. */
  constructor(run: { workflow_id: string; run_id: string }, changed: () => void) {
    $effect(() => {
      const abort = new AbortController();
      let waiting: Update[] = [];
      let frame = 0;
      // One change of the page for all messages of a frame: a stream begins with up to 1,000.
      const show = () => {
        frame = 0;
        this.messages = [...this.messages, ...waiting];
        waiting = [];
        changed();
      };
      const follower = {
        message: (update: Update) => {
          waiting.push(update);
          frame ||= requestAnimationFrame(show);
        },
        live: (open: boolean) => (this.live = open),
      };
      // A renewed token is no reason to begin again.
      untrack(() => follow(run, 0, follower, abort.signal))
        .then(() => (this.ended = true))
        .catch((error: unknown) => {
          if (!isAbort(error)) this.error = error;
        })
        .finally(() => (this.live = false));
      return () => {
        abort.abort();
        cancelAnimationFrame(frame);
      };
    });
  }
}

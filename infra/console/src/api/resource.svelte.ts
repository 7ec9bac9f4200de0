/**
 * Loads what a view shows, again when its inputs change, and keeps the previous data on the screen meanwhile.
 *
 * Create it during the initialisation of a component. `load` may read state: a change of what it reads before
 * its first `await` loads again. A later load aborts an earlier one.
 */

import { untrack } from 'svelte';

import { isAbort, Unreachable } from './error';

export interface Options {
  /** Loads again after this time, in milliseconds, while the page is visible. 0 does not. */
  every?: () => number;
}

/** Pause until the next attempt when the service cannot be reached, in milliseconds. */
const RECONNECT_MS = 1_000;

export class Resource<T> {
  data = $state.raw<T>();
  error = $state.raw<unknown>();
  /** True while nothing is loaded, or while a load after a change is under way. */
  loading = $state(true);
  #wanted = $state(0);
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(load: (signal: AbortSignal) => Promise<T>, options: Options = {}) {
    $effect(() => {
      void this.#wanted;
      const every = options.every?.() ?? 0;
      const abort = new AbortController();
      const begin = async (first: boolean) => {
        clearTimeout(this.#timer);
        if (first) untrack(() => (this.loading = true));
        let pause = every;
        try {
          const data = await load(abort.signal);
          if (abort.signal.aborted) return;
          this.data = data;
          this.error = undefined;
        } catch (error) {
          if (isAbort(error) || abort.signal.aborted) return;
          this.error = error;
          if (error instanceof Unreachable) pause = RECONNECT_MS;
        }
        this.loading = false;
        if (pause > 0) this.#timer = setTimeout(whenVisible, pause);
      };
      const whenVisible = () => {
        if (document.visibilityState === 'visible') return void begin(false);
        document.addEventListener('visibilitychange', whenVisible, { once: true });
      };
      void begin(true);
      return () => {
        abort.abort();
        clearTimeout(this.#timer);
        document.removeEventListener('visibilitychange', whenVisible);
      };
    });
  }

  reload = (): void => {
    this.#wanted += 1;
  };
}

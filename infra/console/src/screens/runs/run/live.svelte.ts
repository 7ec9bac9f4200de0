/**
 * One run, as it changes: its detail, its history and its update messages.
 *
 * The history is read as events, of which each request takes those after the last known one. The format
 * `tasks` has no pages, and would come whole each time.
 */

import { answer, client, type Schemas } from '../../../api/client';
import { ApiError, isAbort, Unreachable } from '../../../api/error';
import { withEvents, type HistoryEvent, type Item } from './timeline';
import { Updates } from './updates.svelte';

type Detail = Schemas['WorkflowRun'];

const EVERY_MS = 2_500;
const RECONNECT_MS = 1_000;
/** Pause between a message of the run and the request for its new detail. */
const SOON_MS = 250;
/** A run whose detail takes long to load is asked for less often. */
const SLOWER = 10;

export class LiveRun {
  detail = $state.raw<Detail>();
  error = $state.raw<unknown>();
  events = $state.raw<readonly HistoryEvent[]>([]);
  items = $state.raw<readonly Item[]>([]);
  /** True when every event that there is has been read. */
  complete = $state(false);
  readonly updates: Updates;
  readonly #ids: { workflow_id: string; run_id: string };
  readonly #wantsAll: () => boolean;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #due = Infinity;
  #loading = false;
  #again = false;
  #over = new AbortController();

  /** `wantsAll` says whether a view shows the whole history; otherwise its first page is enough. */
  constructor(ids: { workflow_id: string; run_id: string }, wantsAll: () => boolean) {
    this.#ids = ids;
    this.#wantsAll = wantsAll;
    this.updates = new Updates(ids, () => this.touch());
    $effect(() => {
      this.#over = new AbortController();
      void wantsAll();
      this.touch(0);
      const visible = () => document.visibilityState === 'visible' && this.touch(0);
      document.addEventListener('visibilitychange', visible);
      return () => {
        this.#over.abort();
        clearTimeout(this.#timer);
        this.#due = Infinity;
        document.removeEventListener('visibilitychange', visible);
      };
    });
  }

  /** Loads again within `ms`. */
  touch = (ms = SOON_MS): void => {
    if (this.#loading) {
      this.#again = true;
      return;
    }
    const due = Date.now() + ms;
    if (due >= this.#due) return;
    clearTimeout(this.#timer);
    this.#due = due;
    this.#timer = setTimeout(() => void this.#load(), ms);
  };

  async #load(): Promise<void> {
    const { signal } = this.#over;
    this.#due = Infinity;
    if (document.visibilityState !== 'visible' && this.detail !== undefined) return;
    this.#loading = true;
    this.#again = false;
    const began = performance.now();
    let pause = EVERY_MS;
    let more = false;
    try {
      more = await this.#read(signal);
      this.error = undefined;
    } catch (error) {
      if (!isAbort(error)) this.error = error;
      if (error instanceof Unreachable) pause = RECONNECT_MS;
    }
    this.#loading = false;
    if (signal.aborted) return this.#over.signal === signal || !this.#again ? undefined : this.touch(0);
    if (more) return this.touch(0);
    if (this.#again) return this.touch();
    const isRefused = this.error instanceof ApiError && this.error.status < 500 && this.error.status !== 429;
    const isOpen = this.detail === undefined || this.detail.status === 'RUNNING' || this.error !== undefined;
    if (isOpen && !isRefused) this.touch(Math.max(pause, (performance.now() - began) * SLOWER));
  }

  /** Reads the detail and the next events. Returns whether there are more events to read at once. */
  async #read(signal: AbortSignal): Promise<boolean> {
    const after = this.events.at(-1)?.event_id ?? 0;
    const wantsEvents = after === 0 || this.#wantsAll();
    const query = wantsEvents ? { include_history: true, history_format: 'events' as const, history_after: after } : {};
    const detail: Detail = await answer(
      client.GET('/api/v1/workflows/runs/{workflow_id}/{run_id}', { params: { path: this.#ids, query }, signal }),
    );
    const { history, ...rest } = detail;
    // The input never changes, and may be large.
    this.detail = { ...rest, input: this.detail === undefined ? rest.input : this.detail.input };
    if (history?.type !== 'events') return false;
    const events = history.events.filter((event) => event.event_id > after);
    if (events.length > 0) {
      this.events = [...this.events, ...events];
      this.items = withEvents(this.items, events);
    }
    this.complete = !history.next_after;
    return !this.complete && this.#wantsAll();
  }
}

/**
 * A list that is read page by page: the first page is live, further ones follow on demand.
 *
 * Create it during the initialisation of a component. A change of what `read` reads before its first `await`
 * begins anew.
 */

import { Resource, type Options } from '../../api/resource.svelte';

export interface Page<T> {
  entries: T[];
  /** Token of the next page. */
  next: string | undefined;
}

type Read<T> = (token: string | undefined, signal?: AbortSignal) => Promise<Page<T>>;

export class Pages<T> {
  readonly first: Resource<Page<T>>;
  /** Pages behind the first, as far as they were asked for. */
  #later = $state.raw<{ entries: T[]; next: string | undefined }>();
  readonly entries = $derived.by(() => [...(this.first.data?.entries ?? []), ...(this.#later?.entries ?? [])]);
  readonly more = $derived.by(() => (this.#later === undefined ? this.first.data?.next : this.#later.next) !== undefined);
  error = $state.raw<unknown>();
  busy = $state(false);
  readonly #read: Read<T>;
  #round = 0;

  constructor(read: Read<T>, options: Options = {}) {
    this.#read = read;
    let key: unknown;
    this.first = new Resource(async (signal) => {
      const [page, asked] = [read(undefined, signal), signal];
      if (key !== asked) this.#restart();
      key = asked;
      return page;
    }, options);
  }

  /** Reads the next page. */
  load = async (): Promise<void> => {
    const token = this.#later === undefined ? this.first.data?.next : this.#later.next;
    if (token === undefined || this.busy) return;
    const round = this.#round;
    this.busy = true;
    this.error = undefined;
    try {
      const page = await this.#read(token);
      if (round !== this.#round) return;
      this.#later = { entries: [...(this.#later?.entries ?? []), ...page.entries], next: page.next };
    } catch (error) {
      if (round === this.#round) this.error = error;
    }
    this.busy = false;
  };

  #restart(): void {
    this.#round += 1;
    this.#later = undefined;
    this.error = undefined;
    this.busy = false;
  }
}

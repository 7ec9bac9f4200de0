/**
 * A list that is loaded page by page. The first page is kept up to date; later ones are loaded on demand and
 * kept.
 *
 * Create it during the initialisation of a component.
 */

import { untrack } from 'svelte';

import { answered } from './client';
import { Resource } from './resource.svelte';

const PAGE_SIZE = 50;

export interface Page<T> {
  items: readonly T[];
  /** Where the next page begins. */
  next: string | undefined;
}

interface Options<T> {
  load: (next: string | undefined, signal?: AbortSignal) => Promise<Page<T>>;
  /** Changes with what is asked for; the list then begins anew. */
  key?: () => string;
  /** Pause between two looks at the first page, in milliseconds. 0 looks once. */
  every?: number;
  /** Tells entries apart. Default: their `id`. */
  idOf?: (item: T) => unknown;
}

/** Returns a page of a list that is an array, whose header has the token of the next page. */
export async function readPage<T>(request: Parameters<typeof answered<T[]>>[0]): Promise<Page<T>> {
  const { data, response } = await answered(request);
  return { items: data, next: response.headers.get('x-next-page-token') ?? undefined };
}

/** Returns the parameters of a page of such a list. */
export function pageOf(next: string | undefined): { page_size: number; next_page_token?: string } {
  return { page_size: PAGE_SIZE, ...(next !== undefined && { next_page_token: next }) };
}

export class Pages<T extends { id: string }> {
  readonly first: Resource<Page<T>>;
  #later = $state.raw<readonly T[]>([]);
  /** Where the page after the last loaded one begins, once later pages are loaded. */
  #next = $state.raw<string>();
  #opened = $state(false);
  loadingMore = $state(false);
  moreError = $state.raw<unknown>();
  readonly #load: Options<T>['load'];
  readonly #key: () => string;
  readonly #idOf: (item: T) => unknown;

  readonly items: readonly T[] = $derived.by(() => {
    const first = this.first.data?.items ?? [];
    const ids = new Set(first.map(this.#idOf));
    return [...first, ...this.#later.filter((item) => !ids.has(this.#idOf(item)) && ids.add(this.#idOf(item)))];
  });
  readonly next = $derived.by(() => (this.#opened ? this.#next : this.first.data?.next));

  constructor({ load, key = () => '', every = 0, idOf = (item) => item.id }: Options<T>) {
    this.#load = load;
    this.#key = key;
    this.#idOf = idOf;
    this.first = new Resource(
      async (signal) => {
        void key();
        const page = await load(undefined, signal);
        this.#keepPushedOut(page);
        return page;
      },
      { every: () => every },
    );
    $effect(() => {
      void key();
      untrack(() => this.#close());
    });
  }

  /** Loads the next page. */
  more = async (): Promise<void> => {
    const { next } = this;
    if (next === undefined || this.loadingMore) return;
    const key = this.#key();
    this.loadingMore = true;
    this.moreError = undefined;
    try {
      const page = await this.#load(next);
      if (this.#key() !== key) return;
      this.#later = [...this.#later, ...page.items];
      this.#next = page.next;
      this.#opened = true;
    } catch (error) {
      this.moreError = error;
    } finally {
      this.loadingMore = false;
    }
  };

  /** Begins with the first page again. */
  reload = (): void => {
    this.#close();
    this.first.reload();
  };

  #close(): void {
    this.#later = [];
    this.#next = undefined;
    this.#opened = false;
    this.moreError = undefined;
  }

  /** New entries push others out of the end of the first page, which then are in no page. */
  #keepPushedOut(page: Page<T>): void {
    if (!this.#opened) return;
    const ids = new Set(page.items.map(this.#idOf));
    const before = this.first.data?.items ?? [];
    const last = before.findLastIndex((item) => ids.has(this.#idOf(item)));
    // Where the pages do not meet, entries between them are missing.
    if (last === -1) this.#close();
    else this.#later = [...before.slice(last + 1), ...this.#later];
  }
}

/** The runs that match: the first page as it changes, and older pages as they are asked for. */

import { answer, client, type Schemas } from '../../../api/client';
import { ApiError, isAbort } from '../../../api/error';
import { Resource } from '../../../api/resource.svelte';
import { withHead, withTail, type Run } from './merge';

const EVERY_MS = 2_000;
/** Pages that are read to close a gap between two polls before the list begins anew. */
const MAX_HEAD_PAGES = 5;
/** Pages without a match that are looked through by one request for more. */
const MAX_EMPTY_PAGES = 5;
const FIRST_PAGE = 50;
const LATER_PAGE = 200;

type Page = Schemas['WorkflowRunPage'];
interface Polled {
  pages: Page[];
  body: Schemas['ListRuns'];
}

export class RunPages {
  runs = $state.raw<readonly Run[]>([]);
  hasMore = $state(false);
  loadingMore = $state(false);
  moreError = $state.raw<unknown>();
  /** Called with the number of runs that came above the known ones, before they are shown. */
  oncome: (count: number) => void = () => {};
  #token: string | undefined;
  #body: Schemas['ListRuns'] | undefined;
  /** Filters that the API does not take, which are not sent again. */
  #refused: { body: Schemas['ListRuns']; error: unknown } | undefined;
  readonly #head: Resource<Polled>;

  /** `body` may read state: when it changes, the list begins anew. */
  constructor(body: () => Schemas['ListRuns']) {
    this.#head = new Resource(
      async (signal) => {
        const wanted = body();
        if (this.#refused?.body === wanted) throw this.#refused.error;
        try {
          const polled = await this.#read(wanted, signal);
          if (!signal.aborted) this.#take(polled);
          return polled;
        } catch (error) {
          if (error instanceof ApiError && error.status === 400) this.#refused = { body: wanted, error };
          throw error;
        }
      },
      { every: () => EVERY_MS },
    );
  }

  get error(): unknown {
    return this.#head.error;
  }

  /** True until the first answer with the current filters. */
  get loading(): boolean {
    return this.#head.loading;
  }

  more = async (): Promise<void> => {
    const body = this.#body;
    if (body === undefined || this.#token === undefined || this.loadingMore) return;
    this.loadingMore = true;
    this.moreError = undefined;
    try {
      for (let pages = 0; pages < MAX_EMPTY_PAGES && this.#token !== undefined; pages += 1) {
        const page: Page = await list({ ...body, page_size: LATER_PAGE, next_page_token: this.#token });
        if (this.#body !== body) return;
        this.#token = page.has_more ? (page.next_page_token ?? undefined) : undefined;
        this.hasMore = this.#token !== undefined;
        if (page.runs.length === 0) continue;
        this.runs = withTail(this.runs, page.runs);
        break;
      }
    } catch (error) {
      if (!isAbort(error) && this.#body === body) this.moreError = error;
    } finally {
      this.loadingMore = false;
    }
  };

  async #read(body: Schemas['ListRuns'], signal: AbortSignal): Promise<Polled> {
    const isSame = this.#body === body;
    const newest = isSame ? this.runs[0] : undefined;
    const pages: Page[] = [];
    let token: string | undefined;
    do {
      const page = await list({ ...body, page_size: FIRST_PAGE, ...(token && { next_page_token: token }) }, signal);
      pages.push(page);
      token = page.has_more ? (page.next_page_token ?? undefined) : undefined;
      if (newest === undefined || page.runs.some((run) => run.started_at <= newest.started_at)) break;
    } while (token !== undefined && pages.length < MAX_HEAD_PAGES);
    return { pages, body };
  }

  #take({ pages, body }: Polled): void {
    const last = pages.at(-1);
    const head = pages.flatMap((page) => page.runs);
    const token = last?.has_more ? (last.next_page_token ?? undefined) : undefined;
    const merged = this.#body === body ? withHead(this.runs, head, token === undefined) : undefined;
    if (merged !== undefined && this.runs.length > 0) {
      const newest = this.runs[0]?.run_id;
      const came = merged.findIndex((run) => run.run_id === newest);
      if (came > 0) this.oncome(came);
      if (token === undefined) this.#token = undefined;
      else if (merged.length === head.length) this.#token = token;
      if (!same(this.runs, merged)) this.runs = merged;
    } else {
      this.#token = token;
      this.runs = head;
    }
    const isNew = this.#body !== body;
    this.#body = body;
    this.hasMore = this.#token !== undefined;
    if (isNew) this.moreError = undefined;
    if (isNew && head.length === 0 && this.hasMore) void this.more();
  }
}

function list(body: Schemas['ListRuns'], signal?: AbortSignal): Promise<Page> {
  return answer(client.POST('/api/v1/workflows/runs', { body, ...(signal && { signal }) }));
}

function same(a: readonly Run[], b: readonly Run[]): boolean {
  return a.length === b.length && a.every((run, index) => run.run_id === b[index]?.run_id && run.status === b[index]?.status);
}

/**
 * Keeps the view in the address: `#/runs/<workflow>/<run>?tab=timeline`.
 *
 * The part after `#` never reaches the service, so that the console works behind every stage and base path,
 * and no address of it appears in a log.
 */

class Route {
  #hash = $state(location.hash);
  readonly #url = $derived(new URL(this.#hash.slice(1) || '/', 'http://console'));
  /** Decoded segments of the path. */
  readonly path = $derived(this.#url.pathname.split('/').filter(Boolean).map(decode));
  readonly query = $derived(this.#url.searchParams);
  /** Asked before another address opens, while a view has unsaved input; false keeps the current one. */
  guard: ((address: string) => boolean) | undefined;

  constructor() {
    window.addEventListener('hashchange', () => {
      if (location.hash === this.#hash) return;
      if (this.guard?.(location.hash) === false) history.pushState(null, '', this.#hash);
      else this.#hash = location.hash;
    });
  }

  go(address: string, { replace = false } = {}): void {
    if (this.guard?.(address) === false) return;
    if (replace) history.replaceState(null, '', address);
    else history.pushState(null, '', address);
    this.#hash = location.hash;
  }

  /** Changes parameters of the current view; an empty value removes one. */
  set(parameters: Record<string, string | undefined>, { replace = true } = {}): void {
    const query = new URLSearchParams(this.query);
    for (const [name, value] of Object.entries(parameters)) {
      if (value === undefined || value === '') query.delete(name);
      else query.set(name, value);
    }
    this.go(href(this.path, Object.fromEntries(query)), { replace });
  }
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** Returns the address of a view. */
export function href(path: readonly string[], query: Record<string, string | undefined> = {}): string {
  const entries = Object.entries(query).filter((entry): entry is [string, string] => !!entry[1]);
  const search = new URLSearchParams(entries).toString();
  return `#/${path.map(encodeURIComponent).join('/')}${search && `?${search}`}`;
}

export const route = new Route();

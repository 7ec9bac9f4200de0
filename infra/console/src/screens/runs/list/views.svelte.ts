/** Saved views: names for filters, kept in this browser for each project. */

import { session } from '../../../session/session.svelte';

export interface View {
  name: string;
  /** Parameters of the address. */
  filters: string;
}

const DEFAULTS: readonly View[] = [
  { name: 'Running', filters: 'status=RUNNING' },
  { name: 'Failed today', filters: 'status=FAILED%2CTIMED_OUT&started=today' },
  { name: 'Conversations', filters: 'type=AgentConversation' },
  { name: 'Longer than a minute', filters: 'query=ExecutionDuration+%3E+%271m%27' },
];

function key(): string {
  return `millrace.runs.views.${session.principal?.account ?? ''}/${session.principal?.project ?? ''}`;
}

class Views {
  list = $state.raw<readonly View[]>(stored());

  save(view: View): void {
    this.#keep([...this.list.filter((other) => other.name !== view.name), view]);
  }

  remove(name: string): void {
    this.#keep(this.list.filter((view) => view.name !== name));
  }

  #keep(list: readonly View[]): void {
    this.list = list;
    try {
      localStorage.setItem(key(), JSON.stringify(list));
    } catch {
      // Without storage the views last as long as the page.
    }
  }
}

function stored(): readonly View[] {
  try {
    const read: unknown = JSON.parse(localStorage.getItem(key()) ?? 'null');
    return Array.isArray(read) ? read.filter(isView) : DEFAULTS;
  } catch {
    return DEFAULTS;
  }
}

function isView(value: unknown): value is View {
  const view = value as Partial<View> | null;
  return typeof view?.name === 'string' && typeof view.filters === 'string';
}

/** Reads the views of the caller's project. */
export function savedViews(): Views {
  return new Views();
}

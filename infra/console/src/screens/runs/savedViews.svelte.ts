/** Named filters of the list of runs, kept in this browser for each project. */

export interface SavedView {
  name: string;
  /** Query of the address. */
  query: string;
}

const FIRST: readonly SavedView[] = [
  { name: 'Running', query: 'status=RUNNING' },
  { name: 'Failed', query: 'status=FAILED%2CTIMED_OUT' },
  { name: 'Agents', query: 'type=AgentConversation' },
];

export class SavedViews {
  readonly #key: string;
  views = $state<SavedView[]>([]);

  constructor(account: string, project: string | undefined) {
    this.#key = `millrace.run-views.${account}/${project ?? ''}`;
    this.views = read(this.#key);
  }

  save(name: string, query: string): void {
    this.#store([...this.views.filter((view) => view.name !== name), { name, query }]);
  }

  remove(name: string): void {
    this.#store(this.views.filter((view) => view.name !== name));
  }

  #store(views: SavedView[]): void {
    this.views = views;
    localStorage.setItem(this.#key, JSON.stringify(views));
  }
}

function read(key: string): SavedView[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(key) ?? 'null');
    if (Array.isArray(stored)) return stored.filter(isView);
  } catch {
    // What cannot be read is replaced.
  }
  return [...FIRST];
}

function isView(value: unknown): value is SavedView {
  return typeof value === 'object' && value !== null && 'name' in value && 'query' in value;
}

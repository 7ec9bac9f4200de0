/**
 * Compares two versions of a data store by queries over them: the API reads no schema of an earlier version.
 *
 * The names of its tables follow from the history of the schema; what they hold is asked of the version.
 */

import { answer, client, type Schemas } from '../../../api/client';
import { ApiError } from '../../../api/error';
import { ask } from '../query/ask';

export interface TableState {
  rows: number;
  /** Types by column, as the database names them. */
  columns: Map<string, string>;
}

export interface TableDifference {
  name: string;
  before: TableState | undefined;
  after: TableState | undefined;
  /** A sentence for each difference of the columns. */
  columns: string[];
}

export interface Difference {
  tables: TableDifference[];
  /** Changes of the schema between the two, newest first. */
  changes: Schemas['SchemaHistoryItem'][];
  /** Number of tables that were left out. */
  left: number;
}

type Version = Pick<Schemas['StoreVersion'], 'id' | 'schema_version' | 'created_at'>;

const MAX_TABLES = 300;
/** Tables of one statement. */
const TABLES_AT_A_TIME = 25;
const MAX_HISTORY = 500;

export async function difference(store: Schemas['DataStore'], before: Version, after: Version, signal: AbortSignal): Promise<Difference> {
  const params = { path: { store_id: store.id }, query: { limit: MAX_HISTORY } };
  const history = await answer(client.GET('/api/v1/data/{store_id}/schema/history', { params, signal }));
  const [earlier, later] = [namesAt(store, history, before), namesAt(store, history, after)];
  const names = [...new Set([...earlier, ...later])];
  const asked = names.slice(0, MAX_TABLES);
  const of = (present: readonly string[]) => asked.filter((name) => present.includes(name));
  const [first, second] = await Promise.all([
    tablesOf(store.id, before.id, of(earlier), signal),
    tablesOf(store.id, after.id, of(later), signal),
  ]);
  const tables = asked
    .map((name) => ({ name, before: first.get(name), after: second.get(name), columns: columnsBetween(first.get(name), second.get(name)) }))
    .filter((table) => table.before !== undefined || table.after !== undefined);
  const [low, high] = [before.schema_version, after.schema_version].sort((a, b) => a - b) as [number, number];
  const changes = history.filter((item) => item.schema_version > low && item.schema_version <= high);
  return { tables, changes, left: names.length - asked.length };
}

/** Returns the names of the tables in a version: those of now, with the later changes taken back. */
function namesAt(store: Schemas['DataStore'], history: readonly Schemas['SchemaHistoryItem'][], version: Version): string[] {
  const names = new Set(store.schema.tables.map((table) => table.name));
  for (const { changes } of history.filter((item) => item.schema_version > version.schema_version)) {
    for (const change of changes) {
      const [, verb, name] = /^(Created|Dropped)(?: the)? table (\w+)/.exec(change) ?? [];
      if (name === undefined) continue;
      if (verb === 'Created') names.delete(name);
      else names.add(name);
    }
  }
  return [...names];
}

async function tablesOf(store: string, version: string, names: readonly string[], signal: AbortSignal): Promise<Map<string, TableState>> {
  const states = new Map<string, TableState>();
  for (let start = 0; start < names.length; start += TABLES_AT_A_TIME) {
    await readTables(store, version, names.slice(start, start + TABLES_AT_A_TIME), states, signal);
  }
  return states;
}

/**
 * Asks for tables together; a table that the version does not have is left out, and the others are asked
 * again.
 */
async function readTables(store: string, version: string, names: readonly string[], states: Map<string, TableState>, signal: AbortSignal): Promise<void> {
  let present = names;
  while (present.length > 0) {
    const text = (name: string) => `'${name.replaceAll("'", "''")}'`;
    const identifier = (name: string) => `"${name.replaceAll('"', '""')}"`;
    const sql = present
      .flatMap((name) => [
        `SELECT ${text(name)} AS t, column_name AS c, column_type AS v FROM (DESCRIBE ${identifier(name)})`,
        `SELECT ${text(name)}, NULL, count(*)::VARCHAR FROM ${identifier(name)}`,
      ])
      .join('\nUNION ALL ');
    try {
      const { rows } = await ask(store, version, { sql, limit: 10_000 }, signal);
      for (const [name, column, value] of rows as [string, string | null, string][]) {
        const state = states.get(name) ?? { rows: 0, columns: new Map() };
        states.set(name, state);
        if (column === null) state.rows = Number(value);
        else state.columns.set(column, value === 'VARCHAR' ? 'STRING' : value);
      }
      return;
    } catch (error) {
      const missing = error instanceof ApiError && error.status === 400 ? /table '(\w+)' does not exist/i.exec(error.message)?.[1] : undefined;
      const rest = present.filter((name) => name.toLowerCase() !== missing?.toLowerCase());
      if (rest.length === present.length) throw error;
      present = rest;
    }
  }
}

function columnsBetween(before: TableState | undefined, after: TableState | undefined): string[] {
  if (before === undefined || after === undefined) return [];
  const said: string[] = [];
  for (const [name, type] of before.columns) {
    const now = after.columns.get(name);
    if (now === undefined) said.push(`${name} ${type} is gone`);
    else if (now !== type) said.push(`${name} was ${type}, is ${now}`);
  }
  for (const [name, type] of after.columns) if (!before.columns.has(name)) said.push(`${name} ${type} is new`);
  return said;
}

export interface RowDifference {
  columns: string[];
  types: string[];
  /** Number of rows that are only in the later version, only in the earlier one, and differ. */
  added: number;
  removed: number;
  changed: number;
  /** Kind and values of some of these rows. */
  sample: [string, ...unknown[]][];
}

/** Rows of a table that a comparison can read: those of one answer. */
export const MAX_COMPARED = 10_000;
const MAX_SAMPLE = 200;

/** Compares the rows of a table by its key. */
export async function compareRows(store: string, before: string, after: string, table: string, key: readonly string[], signal?: AbortSignal): Promise<RowDifference> {
  const sql = `SELECT * FROM "${table}"`;
  const [first, second] = await Promise.all([before, after].map((version) => ask(store, version, { sql, limit: MAX_COMPARED }, signal)));
  if (first === undefined || second === undefined) throw new Error('A version gave no answer.');
  const shared = second.columns.filter((name) => first.columns.includes(name));
  const indexed = (result: typeof first) => {
    const [keys, places] = [key, shared].map((names) => names.map((name) => result.columns.indexOf(name)));
    return new Map(result.rows.map((row) => [JSON.stringify(keys?.map((place) => row[place])), places?.map((place) => row[place]) ?? []]));
  };
  const [old, present] = [indexed(first), indexed(second)];
  const difference: RowDifference = { columns: shared, types: shared.map((name) => second.column_types[second.columns.indexOf(name)] ?? ''), added: 0, removed: 0, changed: 0, sample: [] };
  const note = (kind: string, values: unknown[]) => {
    if (difference.sample.length < MAX_SAMPLE) difference.sample.push([kind, ...values]);
  };
  for (const [id, values] of present) {
    const was = old.get(id);
    if (was === undefined) {
      difference.added += 1;
      note('added', values);
    } else if (JSON.stringify(was) !== JSON.stringify(values)) {
      difference.changed += 1;
      note('before', was);
      note('after', values);
    }
  }
  for (const [id, values] of old) {
    if (present.has(id)) continue;
    difference.removed += 1;
    note('removed', values);
  }
  return difference;
}

/** Compares two versions of a data store: by their schemas, and by queries for the rows. */

import { answer, client, type Schemas } from '../../../api/client';
import { ask } from '../query/ask';

type Version = Pick<Schemas['StoreVersion'], 'id' | 'schema_version'>;
type Table = Schemas['SchemaTable'];

export interface TableDifference {
  name: string;
  before: Table | undefined;
  after: Table | undefined;
  /** A sentence for each difference of the columns. */
  columns: string[];
  /** Columns of the primary key, if it is the same in both. */
  key: string[];
}

export interface Difference {
  tables: TableDifference[];
  /** Changes of the schema between the two, newest first. */
  changes: Schemas['VersionChange'][];
}

const MAX_HISTORY = 500;

export async function difference(store: string, before: Version, after: Version, signal: AbortSignal): Promise<Difference> {
  const path = { store_id: store };
  const [earlier, later, history] = await Promise.all([
    tablesOf(store, before.id, signal),
    tablesOf(store, after.id, signal),
    answer(client.GET('/api/v1/data/{store_id}/schema/history', { params: { path, query: { limit: MAX_HISTORY } }, signal })),
  ]);
  const names = [...new Set([...earlier.keys(), ...later.keys()])];
  const tables = names.map((name) => tableDifference(name, earlier.get(name), later.get(name)));
  const [low, high] = [before.schema_version, after.schema_version].sort((a, b) => a - b) as [number, number];
  const between = history.filter((item) => item.schema_version > low && item.schema_version <= high);
  return { tables, changes: between.flatMap((item) => item.changes ?? []) };
}

async function tablesOf(store: string, version: string, signal: AbortSignal): Promise<Map<string, Table>> {
  const params = { path: { store_id: store }, query: { version_id: version, format: 'full' as const } };
  const schema = (await answer(client.GET('/api/v1/data/{store_id}/schema', { params, signal }))) as Schemas['FullSchema'];
  return new Map(schema.tables.map((table) => [table.name, table]));
}

function tableDifference(name: string, before: Table | undefined, after: Table | undefined): TableDifference {
  const difference: TableDifference = { name, before, after, columns: [], key: [] };
  if (before === undefined || after === undefined) return difference;
  const [old, present] = [before, after].map((table) => new Map(table.columns.map((column) => [column.name, column.type])));
  for (const [column, type] of old ?? []) {
    const now = present?.get(column);
    if (now === undefined) difference.columns.push(`${column} ${type} is gone`);
    else if (now !== type) difference.columns.push(`${column} was ${type}, is ${now}`);
  }
  for (const [column, type] of present ?? []) if (!old?.has(column)) difference.columns.push(`${column} ${type} is new`);
  const [key, other] = [keyOf(before), keyOf(after)];
  if (key.join() === other.join()) difference.key = key;
  return difference;
}

function keyOf(table: Table): string[] {
  return table.columns.filter((column) => column.primary_key).map((column) => column.name);
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

/** Compares two versions by what a query of each says of its tables. */

import { ask } from '../query/ask';

export interface TableDifference {
  table: string;
  /** Absent where the version has no such table. */
  from: TableState | undefined;
  to: TableState | undefined;
}

export interface TableState {
  rows: number;
  /** Type of each column by its name. */
  columns: Map<string, string>;
}

/** Most tables that are compared: each is one count over the version. */
export const MAX_TABLES = 100;

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;

/** Returns rows and columns of the tables that a version has. */
export async function stateOf(store: string, version: string, tables: readonly string[], signal: AbortSignal): Promise<Map<string, TableState>> {
  const state = new Map<string, TableState>();
  for (const table of tables.slice(0, MAX_TABLES)) {
    try {
      const counted = await ask(store, version, { sql: `SELECT count(*) FROM ${quoted(table)}` }, signal);
      const shape = await ask(store, version, { sql: `SELECT * FROM ${quoted(table)}`, limit: 1 }, signal);
      const columns = new Map(shape.columns.map((name, index) => [name, shape.column_types[index] ?? '']));
      state.set(table, { rows: Number(counted.rows[0]?.[0] ?? 0), columns });
    } catch (error) {
      signal.throwIfAborted();
      // A version without the table refuses the statement.
      if (!(error instanceof Error) || !/no table|does not exist|unknown/i.test(error.message)) throw error;
    }
  }
  return state;
}

/** Returns a sentence for each change of the columns. */
export function columnChanges(from: TableState, to: TableState): string[] {
  const sentences: string[] = [];
  for (const [name, type] of to.columns) {
    const before = from.columns.get(name);
    if (before === undefined) sentences.push(`${name} ${type} is new`);
    else if (before !== type) sentences.push(`${name} is ${type} instead of ${before}`);
  }
  for (const name of from.columns.keys()) if (!to.columns.has(name)) sentences.push(`${name} is gone`);
  return sentences;
}

/** The rows of an answer, and their forms as text. */

import type { Schemas } from '../../../api/client';

export type Result = Schemas['QueryResult'];

const NUMBERS = /^(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT|UTINYINT|USMALLINT|UINTEGER|UBIGINT|UHUGEINT|FLOAT|DOUBLE|DECIMAL)\b(?!.*\[)/;

export function isNumber(type: string): boolean {
  return NUMBERS.test(type);
}

/** Returns the text of a value, as a cell shows it and as CSV has it. */
export function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** CSV as the service writes it: RFC 4180, null as an empty field, an empty text as `""`. */
export function csvOf({ columns, rows }: Pick<Result, 'columns' | 'rows'>): string {
  const lines = [columns.map((name) => field(name)).join(',')];
  for (const row of rows) lines.push(row.map(field).join(','));
  return `${lines.join('\r\n')}\r\n`;
}

function field(value: unknown): string {
  if (value === null || value === undefined) return '';
  const text = textOf(value);
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** An array of row objects. Of columns with the same name the later ones get a number. */
export function jsonOf({ columns, rows }: Pick<Result, 'columns' | 'rows'>): string {
  const names = distinct(columns);
  const objects = rows.map((row) => JSON.stringify(Object.fromEntries(names.map((name, index) => [name, row[index]]))));
  return `[${objects.join(',\n')}]\n`;
}

function distinct(columns: readonly string[]): string[] {
  const taken = new Set(columns);
  const used = new Set<string>();
  return columns.map((name) => {
    let unique = name;
    for (let number = 2; used.has(unique); number += 1) {
      const other = `${name}_${number}`;
      if (!taken.has(other)) unique = other;
    }
    used.add(unique);
    return unique;
  });
}

/**
 * Row objects for a chart. DECIMAL and large integers arrive as text, so that no digit is lost; a chart needs
 * numbers.
 */
export function recordsOf({ columns, column_types, rows }: Result): Record<string, unknown>[] {
  const numeric = columns.map((_, index) => isNumber(column_types[index] ?? ''));
  return rows.map((row) =>
    Object.fromEntries(
      columns.map((name, index) => [name, numeric[index] && typeof row[index] === 'string' ? Number(row[index]) : row[index]]),
    ),
  );
}

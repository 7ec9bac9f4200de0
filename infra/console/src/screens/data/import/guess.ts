/**
 * Columns of a new table, by the first rows of a file. The user corrects them; the import itself guesses
 * nothing.
 */

import { blank, type ColumnDraft, type TypeName } from '../schema/columns';

/** In bytes. */
const HEAD = 256_000;
const MAX_ROWS = 500;
const MAX_COLUMNS = 500;

export type Format = 'csv' | 'json' | 'ndjson' | 'parquet';

/** Returns the format by the ending of a file's name, as the service does. */
export function formatOf(name: string): Format | undefined {
  const [, ending] = /\.(csv|json|ndjson|jsonl|parquet)(?:\.gz|\.zst)?$/i.exec(name) ?? [];
  const lower = ending?.toLowerCase();
  return lower === 'jsonl' ? 'ndjson' : (lower as Format | undefined);
}

export function isCompressed(name: string): boolean {
  return /\.(gz|zst)$/i.test(name);
}

/** Returns a name that the service takes, after the file's name. */
export function tableNameOf(file: string): string {
  return nameOf(file.replace(/^.*[\\/]/, '').replace(/\.(csv|json|ndjson|jsonl|parquet)?(\.gz|\.zst)?$/i, ''));
}

function nameOf(text: string): string {
  const name = text.trim().replace(/[^A-Za-z0-9_]+/g, '_').slice(0, 62);
  return /^[A-Za-z_]/.test(name) ? name : `_${name}`;
}

/** Returns the columns that the head of a file shows; none if it cannot be read. */
export async function guessColumns(file: File): Promise<ColumnDraft[]> {
  const format = formatOf(file.name);
  if (format === undefined || format === 'parquet' || /\.zst$/i.test(file.name)) return [];
  const text = await headOf(file);
  const rows = format === 'csv' ? csvRows(text) : jsonRows(text);
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))].slice(0, MAX_COLUMNS);
  return names.map((name) => {
    const values = rows.map((row) => row[name]).filter((value) => value !== null && value !== undefined);
    return blank({ name, ...typeOf(values) });
  });
}

async function headOf(file: File): Promise<string> {
  if (!isCompressed(file.name)) return file.slice(0, HEAD).text();
  const reader = file.stream().pipeThrough(new DecompressionStream('gzip')).pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  while (text.length < HEAD) {
    const { done, value } = await reader.read();
    if (done) return text;
    text += value;
  }
  await reader.cancel();
  return text;
}

type Row = Record<string, unknown>;

/** RFC 4180; a row that is cut off is left out. */
function csvRows(text: string): Row[] {
  const rows: (string | null)[][] = [[]];
  const field = /("(?:[^"]|"")*"|[^",\r\n]*)(,|\r?\n|$)/gy;
  const body = text.replace(/^\uFEFF/, '');
  while (field.lastIndex < body.length && rows.length <= MAX_ROWS + 1) {
    const match = field.exec(body);
    if (match === null) break;
    const [, value = '', end] = match;
    rows.at(-1)?.push(value.startsWith('"') ? value.slice(1, -1).replaceAll('""', '"') : value === '' ? null : value);
    if (end !== ',') rows.push([]);
  }
  const [head = [], ...data] = rows.filter((row) => row.length > 0 && !(row.length === 1 && row[0] === null));
  const whole = text.length < HEAD || data.length < 2 ? data : data.slice(0, -1);
  const names = head.map((name, index) => name?.trim() || `column_${index + 1}`);
  if (whole.length === 0) return [Object.fromEntries(names.map((name) => [name, null]))];
  return whole.map((row) => Object.fromEntries(names.map((name, index) => [name, row[index] ?? null])));
}

/** An array of objects, or one object after the other; an object that is cut off is left out. */
function jsonRows(text: string): Row[] {
  const rows: Row[] = [];
  let [depth, start, quoted] = [0, -1, false];
  for (let at = 0; at < text.length && rows.length < MAX_ROWS; at += 1) {
    const char = text[at];
    if (quoted) {
      if (char === '\\') at += 1;
      else if (char === '"') quoted = false;
    } else if (char === '"') quoted = true;
    else if (char === '{' && (depth += 1) === 1) start = at;
    else if (char === '}' && (depth -= 1) === 0) rows.push(...parsed(text.slice(start, at + 1)));
  }
  return rows;
}

function parsed(text: string): Row[] {
  try {
    // A fraction, and digits that a number of JavaScript does not keep, are only told apart as text.
    return [JSON.parse(text) as Row];
  } catch {
    return [];
  }
}

const INTEGER = /^[+-]?\d+$/;
/** An identifier such as a postal code keeps its zeros only as text. */
const ZEROS = /^[+-]?0\d/;
const DECIMAL = /^[+-]?\d+\.\d+$/;
const FLOAT = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;
const DATE = /^\d{4}-\d{2}-\d{2}$/;
const TIMESTAMP = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:?\d{2})?$/;

function typeOf(values: readonly unknown[]): { type: TypeName; precision?: number; scale?: number } {
  if (values.length === 0) return { type: 'STRING' };
  if (values.every((value) => typeof value === 'boolean')) return { type: 'BOOLEAN' };
  if (values.some((value) => typeof value === 'object')) return { type: 'JSON' };
  if (values.every((value) => typeof value === 'number')) {
    return { type: values.every(Number.isInteger) ? 'BIGINT' : 'DOUBLE' };
  }
  if (!values.every((value) => typeof value === 'string')) return { type: 'JSON' };
  const all = (pattern: RegExp) => values.every((value) => pattern.test(value.trim()));
  if (values.some((value) => ZEROS.test(value))) return { type: 'STRING' };
  if (all(INTEGER)) return values.every((value) => value.length <= 18) ? { type: 'BIGINT' } : { type: 'STRING' };
  const parts = values.map((value) => value.trim().replace(/^[+-]/, '').split('.'));
  if (values.every((value) => DECIMAL.test(value) || INTEGER.test(value))) {
    const scale = Math.max(...parts.map((part) => part[1]?.length ?? 0));
    if (scale <= 6) return { type: 'DECIMAL', precision: 18, scale };
  }
  if (all(FLOAT)) return { type: 'DOUBLE' };
  if (all(/^(true|false)$/i)) return { type: 'BOOLEAN' };
  if (all(DATE)) return { type: 'DATE' };
  if (values.every((value) => DATE.test(value) || TIMESTAMP.test(value))) return { type: 'TIMESTAMP' };
  return { type: 'STRING' };
}

/**
 * Sends a file to a data store.
 *
 * A small file of JSON goes into the request, as its text: a parsed number would lose digits beyond 2^53. CSV
 * is always uploaded and read by the service, which alone knows that `007` stays a text and that an empty
 * field is null.
 */

import { answer, client, type Schemas } from '../../../api/client';
import { ApiError, Unreachable } from '../../../api/error';
import { formatOf, isCompressed, type Format } from './guess';

type ImportRequest = Schemas['ImportRequest'];
export type Options = Pick<ImportRequest, 'mode'> & Pick<ImportRequest, 'message' | 'rounding'>;

/** In bytes; the service takes 5.5 MB in a request. */
export const MAX_INLINE = 5_000_000;
/** The service counts a quote, a backslash and a line break twice, up to 6.2 MB. */
const MAX_WEIGHT = 6_100_000;
const POLL_MS = 1_000;

export interface Progress {
  uploaded: (bytes: number, of: number) => void;
  /** The service has the file and imports it. */
  importing: (status: string) => void;
}

/** Imports a file into a table that exists. Throws what the service refuses, with the faulty rows. */
export async function importFile(store: string, table: string, file: File, format: Format | undefined, options: Options, progress: Progress, signal: AbortSignal): Promise<Schemas['Import'] | Schemas['ImportResult']> {
  const kind = format ?? formatOf(file.name);
  if ((kind === 'json' || kind === 'ndjson') && !isCompressed(file.name) && file.size <= MAX_INLINE) {
    const rows = await rowsOf(file);
    if (rows !== undefined) {
      progress.importing('RUNNING');
      return importRows(store, table, rows, options, signal);
    }
  }
  const uri = await upload(store, file, progress, signal);
  return importSource(store, { [table]: { source: 'artifact', uri, ...(format !== undefined && { format }) } }, options, progress, signal);
}

/** Returns the text of an array of row objects; none if the file is better uploaded. */
async function rowsOf(file: File): Promise<string | undefined> {
  const text = (await file.text()).replace(/^\uFEFF/, '').trim();
  if (text.length + (text.match(/["\\\n]/g)?.length ?? 0) > MAX_WEIGHT) return undefined;
  if (text.startsWith('[')) return isRows(text) ? text : undefined;
  const lines = `[${text.split(/\r?\n/).filter((line) => line.trim() !== '').join(',')}]`;
  return isRows(lines) ? lines : undefined;
}

function isRows(text: string): boolean {
  try {
    const rows: unknown = JSON.parse(text);
    return Array.isArray(rows) && rows.every((row) => typeof row === 'object' && row !== null && !Array.isArray(row));
  } catch {
    return false;
  }
}

function importRows(store: string, table: string, rows: string, options: Options, signal: AbortSignal): Promise<Schemas['ImportResult']> {
  const body: ImportRequest = { ...options, background: false, tables: { [table]: { source: 'inline', data: [] } } };
  const bodySerializer = () => {
    const { tables: _, ...rest } = body;
    return `${JSON.stringify(rest).slice(0, -1)},"tables":{${JSON.stringify(table)}:{"source":"inline","data":${rows}}}}`;
  };
  return answer(client.POST('/api/v1/data/{store_id}/import', { params: { path: { store_id: store } }, body, bodySerializer, signal }));
}

/** Puts the file where an import finds it, and returns its place. */
async function upload(store: string, file: File, progress: Progress, signal: AbortSignal): Promise<string> {
  const body = { name: file.name, bytes: file.size };
  const link = await answer(client.POST('/api/v1/data/{store_id}/uploads', { params: { path: { store_id: store } }, body, signal }));
  await new Promise<void>((resolve, reject) => {
    // `fetch` does not tell how much it has sent.
    const request = new XMLHttpRequest();
    request.open(link.method, link.url);
    // The browser sets the length itself, and refuses that it is set.
    for (const [name, value] of Object.entries(link.headers)) if (name.toLowerCase() !== 'content-length') request.setRequestHeader(name, value);
    request.upload.onprogress = (event) => progress.uploaded(event.loaded, file.size);
    request.onload = () =>
      request.status < 300
        ? resolve()
        : reject(new ApiError(request.status, { message: `The storage refused the file with the status ${request.status}. Import it again; the link may have expired.` }, undefined));
    request.onerror = () => reject(new Unreachable(undefined));
    request.onabort = () => reject(new DOMException('The upload was cancelled.', 'AbortError'));
    signal.addEventListener('abort', () => request.abort(), { once: true });
    request.send(file);
  });
  signal.throwIfAborted();
  return link.uri;
}

/** Imports files that the service fetches, in the background, and waits for the end. */
export async function importSource(store: string, tables: ImportRequest['tables'], options: Options, progress: Progress, signal: AbortSignal): Promise<Schemas['Import']> {
  const path = { store_id: store };
  progress.importing('PENDING');
  const body: ImportRequest = { ...options, tables, background: true };
  const begun = await answer(client.POST('/api/v1/data/{store_id}/import', { params: { path }, body, signal }));
  for (;;) {
    const params = { path: { ...path, import_id: begun.id } };
    const state = await answer(client.GET('/api/v1/data/{store_id}/import/{import_id}', { params, signal }));
    if (state.status === 'COMPLETED') return state;
    if (state.status === 'FAILED') throw failureOf(state);
    progress.importing(state.status);
    await pause(POLL_MS, signal);
  }
}

/** The record of a failed import as the refusal that a waiting request would have got. */
function failureOf({ id, error, errors }: Schemas['Import']): ApiError {
  const body = { error: 'import_failed', message: error ?? 'The import failed.', details: `Nothing of the import ${id} is visible.`, ...(errors && { errors }) };
  return new ApiError(422, body, undefined);
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => (clearTimeout(timer), reject(signal.reason)), { once: true });
  });
}

/** Brings a file into a table. */

import { answer, client, type Schemas } from '../../../api/client';
import { Unreachable } from '../../../api/error';

/** Files up to this size are sent with the request where they are JSON, in bytes. */
export const MAX_INLINE_BYTES = 5_000_000;

export type Source = Record<string, unknown>;

export interface Progress {
  /** What happens now. */
  text: string;
  /** From 0 to 1; undefined where it is not known. */
  part?: number;
}

/** Returns the rows of a JSON file: an array of objects, or an object a line. */
function rowsOf(text: string): unknown[] {
  const begin = text.trimStart();
  if (begin.startsWith('[')) return JSON.parse(text) as unknown[];
  return text.split('\n').filter((line) => line.trim() !== '').map((line) => JSON.parse(line) as unknown);
}

/** Returns the format that the service reads from a name. */
export function formatOf(name: string): 'csv' | 'json' | 'parquet' | undefined {
  const [, ending] = /\.(csv|json|ndjson|jsonl|parquet)(?:\.gz)?$/i.exec(name) ?? [];
  if (ending === undefined) return undefined;
  const lower = ending.toLowerCase();
  return lower === 'csv' ? 'csv' : lower === 'parquet' ? 'parquet' : 'json';
}

/**
 * Returns the source of an import: rows for a small JSON file, otherwise the place of the uploaded file. CSV is always
 * uploaded, so that the service reads its values and not this page.
 */
export async function sourceOf(store: string, file: File, show: (progress: Progress) => void, signal: AbortSignal): Promise<Source> {
  const format = formatOf(file.name);
  if (format === 'json' && !file.name.endsWith('.gz') && file.size <= MAX_INLINE_BYTES) {
    try {
      return { source: 'inline', data: rowsOf(await file.text()) };
    } catch (cause) {
      throw new Error(`${file.name} is neither a JSON array of objects nor one object a line: ${cause instanceof Error ? cause.message : ''}`, { cause });
    }
  }
  const body = { name: file.name, bytes: file.size };
  const link = await answer(client.POST('/api/v1/data/{store_id}/uploads', { params: { path: { store_id: store } }, body, signal }));
  await upload(link, file, show, signal);
  return { source: 'artifact', uri: link.uri, ...(format !== undefined && { format }) };
}

/** `fetch` does not tell how much of a body is sent. */
function upload(link: { url: string; headers: unknown }, file: File, show: (progress: Progress) => void, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('PUT', link.url);
    for (const [name, value] of Object.entries((link.headers ?? {}) as Record<string, string>)) {
      // The browser sets it from the body.
      if (name.toLowerCase() !== 'content-length') request.setRequestHeader(name, value);
    }
    request.upload.onprogress = ({ loaded, total }) => show({ text: 'Uploading', part: total > 0 ? loaded / total : 0 });
    request.onload = () =>
      request.status < 300 ? resolve() : reject(new Error(`The upload was refused with the status ${request.status}. Choose the file again.`));
    request.onerror = () => reject(new Unreachable('upload'));
    request.onabort = () => reject(new DOMException('The upload was cancelled.', 'AbortError'));
    signal.addEventListener('abort', () => request.abort(), { once: true });
    request.send(file);
  });
}

/** Pause between two looks at an import, in milliseconds. */
const EVERY_MS = 700;

/** Imports, and returns when it has ended. Throws if it failed. */
export async function load(
  store: string,
  request: Schemas['ImportRequest'],
  show: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<Schemas['Import'] | Schemas['ImportResult']> {
  show({ text: 'Importing' });
  const begun = await answer(client.POST('/api/v1/data/{store_id}/import', { params: { path: { store_id: store } }, body: request, signal }));
  let now: Schemas['Import'] | Schemas['ImportResult'] = begun;
  while (now.status === 'PENDING' || now.status === 'RUNNING') {
    show({ text: `Importing: ${now.status.toLowerCase()}` });
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    now = await answer(client.GET('/api/v1/data/{store_id}/import/{import_id}', { params: { path: { store_id: store, import_id: begun.id } }, signal }));
  }
  return now;
}

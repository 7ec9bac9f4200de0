/**
 * Counts the memory of a chart, because no browser limits that of a worker, and anyone who may write to a data
 * store can write a chart.
 *
 * What Vega makes is counted where it is made, so that one that makes too much is stopped before it has it. What
 * a chart lets go is found by looking at what it still holds, when the count is high and a run begins.
 */

/** Most memory of a chart, in MB; a part each is for the code, for the rows and for the copies of its canvas. */
const MAX_MB = 512;
/** For what is counted here, in bytes. */
const MAX_MADE = 256 * 1_048_576;

// In bytes, measured in Chromium.
const OBJECT = 64;
const FIELD = 16;

let total = 0;
/** What was held when it was last looked at. */
let held = 0;

/** Throws where the chart has no room for so many bytes more. */
export function check(bytes: number): void {
  if (!(total + bytes <= MAX_MADE)) throw new Error(`The chart needs more than ${MAX_MB} MB of memory and was stopped. Show fewer rows, marks or views.`);
}

/** Counts bytes that the chart makes. */
export function take(bytes: number): void {
  check(bytes);
  total += bytes;
}

/** Counts what `value` is made of, but nothing that it refers to. */
export function weigh<T>(value: T): T {
  take(sizeOf(value));
  return value;
}

/** Begins a run: counts again what the chart holds, where it has made much since the last time. */
export function begin(root: object): void {
  if (total < held + MAX_MADE / 4) return;
  total = held = reachable(root);
  check(0);
}

/** Size of an object by the number of its fields. */
export function objectOf(fields: number): number {
  return OBJECT + FIELD * fields;
}

function sizeOf(value: unknown): number {
  if (typeof value === 'string') return FIELD + 2 * value.length;
  if (Array.isArray(value)) return objectOf(value.length / 2);
  if (ArrayBuffer.isView(value)) return OBJECT + value.byteLength;
  if (value instanceof Map || value instanceof Set) return objectOf(2 * value.size);
  return typeof value === 'object' && value !== null ? objectOf(Object.keys(value).length) : FIELD;
}

function reachable(root: object): number {
  const seen = new Set<unknown>([root]);
  const waiting: unknown[] = [root];
  let bytes = 0;
  const visit = (part: unknown) => {
    if (typeof part === 'string' ? part.length < OBJECT : typeof part !== 'object' || part === null) return;
    if (seen.has(part)) return;
    seen.add(part);
    waiting.push(part);
  };
  while (waiting.length > 0) {
    const value = waiting.pop();
    bytes += sizeOf(value);
    if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) continue;
    if (value instanceof Map) for (const [key, part] of value) (visit(key), visit(part));
    else if (value instanceof Set || Array.isArray(value)) for (const part of value) visit(part);
    else for (const key of Object.keys(value)) visit((value as Record<string, unknown>)[key]);
  }
  return bytes;
}

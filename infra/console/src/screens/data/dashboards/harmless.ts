/**
 * Takes out of a chart what could reach beyond it or take the page down. Anyone who may write to the data
 * store can write a chart; those who look at it trust it less.
 */

import { MAX_PLACES } from '../query/chart';

type Spec = Record<string, unknown>;

/** In pixels; what is drawn takes memory by its area. */
const MAX_SIZE = 2_000;
const MAX_STEP = 100;
/** Bins, ticks and points that a chart makes up by itself. */
const MAX_MADE = 1_000;
const MAX_DEPTH = 40;

/** Keys that name an address, an element of the page, or settings of the part that draws. */
const REFUSED = new Set(['url', 'href', 'usermeta', 'element', 'loader']);
/** Keys whose number is a length, by its limit. */
const LIMITS: Record<string, number> = {
  width: MAX_SIZE,
  height: MAX_SIZE,
  step: MAX_STEP,
  maxbins: MAX_MADE,
  steps: MAX_MADE,
  minsteps: MAX_MADE,
  maxsteps: MAX_MADE,
  tickCount: MAX_PLACES,
  columns: 50,
};
/** Keys of number formats, and the width or precision of one that is too long. */
const FORMAT = /format$/i;
const LONG = /[1-9]\d{4}/;

/**
 * Returns the chart without them, and the names of what was left out. Throws where a chart cannot be drawn at
 * all.
 */
export function harmless(spec: Spec): { spec: Spec; left: string[] } {
  const left = new Set<string>();
  const clean = (value: unknown, key: string, depth: number): unknown => {
    if (depth > MAX_DEPTH) throw new Error(`The chart nests more than ${MAX_DEPTH} levels.`);
    if (typeof value === 'string' && FORMAT.test(key) && LONG.test(value)) throw new Error('A format of the chart makes more than 9,999 characters.');
    if (typeof value === 'number') return Math.min(value, LIMITS[key] ?? Infinity);
    if (Array.isArray(value)) return value.map((item) => clean(item, key, depth + 1));
    if (typeof value !== 'object' || value === null) return value;
    const copy: Spec = {};
    for (const [name, part] of Object.entries(value)) {
      if (REFUSED.has(name)) left.add(name);
      else if (name === 'data') {
        const values = (part as Spec | null)?.['values'];
        if (Array.isArray(values)) copy[name] = { values };
        else left.add(name);
      } else if (name === 'keyvals' && !Array.isArray(part)) left.add(name);
      // Another step of bins would be another chart; the part that draws limits their number.
      else if (key === 'bin' && (name === 'step' || name === 'steps')) copy[name] = clean(part, '', depth + 1);
      else copy[name] = clean(part, name, depth + 1);
    }
    return copy;
  };
  return { spec: clean(spec, '', 0) as Spec, left: [...left] };
}

/** Returns the chart of a text; throws a sentence where it is none. */
export function specOfText(text: string): Spec {
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('The chart is a JSON object.');
  return value as Spec;
}

/** Charts that fit the columns of an answer. */

import { isNumber, type Result } from './result';

export const MARKS = ['bar', 'line', 'area', 'point'] as const;
export type MarkName = (typeof MARKS)[number];

export interface Choice {
  x: string;
  /** Empty counts rows. */
  y: string;
  /** Empty has one colour. */
  colour: string;
  mark: MarkName;
}

type Scale = 'temporal' | 'quantitative' | 'nominal';

/** Most values of a column that colours can tell apart. */
const MAX_COLOURS = 20;
/** Most places on an axis of texts. */
export const MAX_PLACES = 200;

export interface Field {
  name: string;
  scale: Scale;
}

/** Returns the columns that a chart can show: those with a name of their own and one value a row. */
export function fieldsOf({ columns, column_types }: Result): Field[] {
  return columns.flatMap((name, index) => {
    const scale = scaleOf(column_types[index] ?? '');
    return scale === undefined || columns.indexOf(name) !== columns.lastIndexOf(name) ? [] : [{ name, scale }];
  });
}

function scaleOf(type: string): Scale | undefined {
  if (/^(DATE|TIMESTAMP)/.test(type) && !type.includes('[')) return 'temporal';
  if (isNumber(type)) return 'quantitative';
  return /^(STRING|VARCHAR|BOOLEAN|UUID|ENUM)(?!.*\[)/.test(type) ? 'nominal' : undefined;
}

/** Returns a chart to begin with: time, then text, then a number along x; a number along y. */
export function choose(result: Result): Choice | undefined {
  const fields = fieldsOf(result);
  const of = (scale: Scale) => fields.filter((field) => field.scale === scale);
  const numbers = of('quantitative');
  const x = of('temporal')[0] ?? of('nominal')[0] ?? numbers[0];
  if (x === undefined) return undefined;
  // A key is a number that says little.
  const heights = numbers.filter((field) => field !== x);
  const y = heights.find((field) => !/(^|_)id$/i.test(field.name)) ?? heights[0];
  const colour = of('nominal').find((field) => field !== x && valuesOf(result, field.name).size <= MAX_COLOURS);
  return {
    x: x.name,
    y: y?.name ?? '',
    colour: colour?.name ?? '',
    mark: x.scale === 'temporal' ? 'line' : x.scale === 'nominal' || y === undefined ? 'bar' : 'point',
  };
}

function valuesOf({ columns, rows }: Result, name: string): Set<unknown> {
  const index = columns.indexOf(name);
  return new Set(rows.map((row) => row[index]));
}

/** Returns the chart in Vega-Lite, without its data. */
export function specOf(result: Result, { x, y, colour, mark }: Choice): Record<string, unknown> {
  const fields = new Map(fieldsOf(result).map((field) => [field.name, field]));
  const channel = (name: string) => {
    const scale = fields.get(name)?.scale ?? 'nominal';
    return {
      field: name.replace(/[\\.[\]'"]/g, '\\$&'),
      type: scale,
      title: name,
      // Times of the service are in UTC.
      ...(scale === 'temporal' && { scale: { type: 'utc' } }),
      ...(scale === 'nominal' && { sort: null }),
    };
  };
  return {
    mark: { type: mark, tooltip: true },
    encoding: {
      x: channel(x),
      y: y === '' ? { aggregate: 'count', type: 'quantitative', title: 'Rows' } : channel(y),
      ...(colour !== '' && { color: channel(colour) }),
    },
  };
}

/**
 * Returns the rows whose text along x is among the first {@link MAX_PLACES}; more can be neither drawn nor
 * read.
 */
export function readable(result: Result, { x }: Choice): { rows: Result['rows']; left: number } {
  if (fieldsOf(result).find((field) => field.name === x)?.scale !== 'nominal') return { rows: result.rows, left: 0 };
  const places = new Set([...valuesOf(result, x)].slice(0, MAX_PLACES));
  const index = result.columns.indexOf(x);
  const rows = result.rows.filter((row) => places.has(row[index]));
  return { rows, left: result.rows.length - rows.length };
}

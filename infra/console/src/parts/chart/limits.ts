/** Limits what a chart makes up by itself, because anyone who may write to a data store can write a chart. */

import type { Transform } from 'vega-dataflow';
import { axisticks, legendentries, scale } from 'vega-encode';
import { expressionFunction, functionContext } from 'vega-functions';
import { expressionInterpreter } from 'vega-interpreter';
import { loess, regression } from 'vega-regression';
import { aggregate, bin, density, kde, quantile } from 'vega-transforms';

import { check, objectOf, take, weigh } from './budget';

/** Values of a list, characters of a text, or bins. */
const MAX_MADE = 10_000;
/** Views of a chart; each takes memory before the first of its marks is there. */
const MAX_VIEWS = 200;
/** Size of a group's value of one measure, in bytes. */
const MEASURE = 200;
/** In milliseconds; a longer unit is limited as days are. */
const UNITS: Record<string, number> = { millisecond: 1, second: 1_000, minute: 60_000, hour: 3_600_000 };
const DAY = 86_400_000;

/** Names of functions that no expression can write. */
const PLUS = '+';
const LIST = '[]';
const CALL = { type: 'CallExpression' };

interface Node {
  type?: string;
  operator?: string;
  left?: unknown;
  right?: unknown;
  elements?: unknown[];
  properties?: unknown[];
}
type Evaluate = (...args: unknown[]) => unknown;
type Parameters = Record<string, unknown>;

limit('sequence', (...args) => {
  const [start, stop, step] = args.length < 2 ? [0, args[0]] : args;
  return Math.abs((Number(stop) - Number(start)) / Number(step ?? 1));
});
for (const name of ['timeSequence', 'utcSequence']) {
  limit(name, (unit, start, stop, step) => (Number(stop) - Number(start)) / unitOf(String(unit).replace(/s$/, '')) / Number(step ?? 1));
}
// A specifier may have a width and a precision.
limit('format', (_value, specifier) => Math.max(0, ...(String(specifier).match(/\d+/g) ?? []).map(Number)));

// What the interpreter has by itself, so that it is counted too; and `pad`, whose own texts take many times
// their length, because they are put together from single characters.
const own: Record<string, Evaluate> = {
  pad: (text, length, character, align) => {
    const whole = String(text);
    const missing = Math.max(0, Number(length) - whole.length);
    const before = align === 'left' ? missing : align === 'center' ? Math.trunc(missing / 2) : 0;
    const put = String(character || ' ');
    return put.repeat(before) + whole + put.repeat(missing - before);
  },
  upper: (text) => String(text).toUpperCase(),
  lower: (text) => String(text).toLowerCase(),
  trim: (text) => String(text).trim(),
  substring: (text, ...places) => String(text).substring(...(places as [number])),
  split: (text, ...rest) => String(text).split(...(rest as [string])),
  encodeURIComponent: (text) => encodeURIComponent(String(text)),
  btoa: (text) => btoa(String(text)),
  atob: (text) => atob(String(text)),
  [PLUS]: (left, right) => (left as string) + (right as string),
  [LIST]: (...values) => values,
};
for (const [name, evaluate] of Object.entries(own)) expressionFunction(name, evaluate);

// One call of these can make gigabytes from texts of no size.
fit('join', (list, separator) => textOf(list, String(separator ?? ',').length));
fit('replace', (text, pattern, replacement) => {
  const [whole, put] = [String(text), String(replacement)];
  // `$'` and its kin stand for parts of the text.
  const each = put.length + (put.split('$').length - 1) * whole.length;
  let size = whole.length;
  whole.replace(pattern as RegExp, () => {
    size += each;
    check(2 * size);
    return '';
  });
  return size;
});
fit('split', (text) => 8 * String(text).length);
fit('pad', (text, length, character) => String(text).length + Number(length) * String(character || ' ').length);
limit('pad', (_text, length) => Number(length));

for (const [name, evaluate] of Object.entries(functionContext)) {
  // The rows of a source are there already.
  if (name === 'data') continue;
  expressionFunction(name, function (this: unknown, ...args) {
    return weigh(evaluate.apply(this, args));
  });
}

const transform = bin.prototype.transform;
bin.prototype.transform = function (options, pulse) {
  const binned = transform.call(this, options, pulse);
  // Only the scale that comes next makes a value of each.
  const { start, stop, step } = this.value;
  if ((stop - start) / step > MAX_MADE) throw new Error(`The chart has more than ${MAX_MADE} bins.`);
  return binned;
};

before(scale, ({ bins, domain, domainMin, domainMax, domainRaw }) => {
  if (typeof bins !== 'object' || bins === null || Array.isArray(bins)) return;
  const { start, stop, step } = bins as Parameters;
  const ends = [start, stop, domainMin, domainMax, domain, domainRaw].flat().map(Number).filter(Number.isFinite);
  atMost('bins', (Math.max(...ends) - Math.min(...ends)) / Math.abs(Number(step)));
});
for (const marks of [axisticks, legendentries]) {
  before(marks, ({ count: wanted, scale: of }) => {
    if (typeof wanted === 'number') return atMost('ticks', wanted);
    if (wanted === null || wanted === undefined) return;
    const { interval, step } = typeof wanted === 'object' ? (wanted as Parameters) : { interval: wanted, step: 1 };
    const ends = (of as { domain: () => unknown[] }).domain().map(Number);
    atMost('ticks', (Math.max(...ends) - Math.min(...ends)) / unitOf(String(interval)) / Number(step ?? 1));
  });
}
for (const curve of [density, kde, loess, regression]) {
  before(curve, ({ steps, minsteps, maxsteps }) => [steps, minsteps, maxsteps].forEach((points) => atMost('points of a curve', Number(points ?? 0))));
}
before(quantile, ({ step }) => atMost('quantiles', 1 / Number(step ?? 1)));

const newcell = aggregate.prototype.newcell;
aggregate.prototype.newcell = function (...group) {
  take(MEASURE * this._measures.length);
  return newcell.apply(this, group);
};

/** Interprets expressions as Vega's own does, and counts what they make. */
export const interpreter = Object.fromEntries(
  Object.entries(expressionInterpreter as unknown as Record<string, (context: unknown, expression: unknown) => Evaluate>).map(([kind, interpret]) => [
    kind,
    (context: unknown, expression: unknown): Evaluate => {
      const fields = called(expression);
      const evaluate = interpret(context, expression);
      return (...values) => {
        take(objectOf(fields));
        return evaluate(...values);
      };
    },
  ]),
);

/**
 * Makes the lists and sums of an expression calls of functions, which are counted, and returns the number of
 * fields of its objects.
 */
function called(part: unknown): number {
  if (typeof part !== 'object' || part === null) return 0;
  const node = part as Node;
  const fields = Object.values(node).reduce((sum: number, child) => sum + called(child), 0);
  if (node.type === 'BinaryExpression' && node.operator === '+') Object.assign(node, { ...CALL, callee: { name: PLUS }, arguments: [node.left, node.right] });
  else if (node.type === 'ArrayExpression') Object.assign(node, { ...CALL, callee: { name: LIST }, arguments: node.elements });
  return fields + (node.type === 'ObjectExpression' ? 4 + (node.properties?.length ?? 0) : 0);
}

/** Throws where a specification has too many views: their number is the product of what it repeats. */
export function limitViews(spec: Record<string, unknown>): void {
  if (viewsOf(spec) > MAX_VIEWS) throw new Error(`The chart has more than ${MAX_VIEWS} views.`);
}

function viewsOf(spec: unknown): number {
  if (typeof spec !== 'object' || spec === null) return 0;
  const { repeat, spec: inner, ...parts } = spec as Parameters;
  const lists = ['layer', 'concat', 'hconcat', 'vconcat'].map((name) => parts[name]).filter(Array.isArray);
  const views = lists.flat().reduce((sum: number, part) => sum + viewsOf(part), 0);
  if (inner === undefined) return Math.max(1, views);
  const sizes = Array.isArray(repeat) ? [repeat] : Object.values((repeat ?? {}) as Parameters).filter(Array.isArray);
  return views + viewsOf(inner) * sizes.reduce((product, list) => product * list.length, 1);
}

/** Makes a function throw where it would make more, by its arguments. */
function limit(name: string, sizeOf: (...args: unknown[]) => number): void {
  const whole = expressionFunction(name);
  expressionFunction(name, function (this: unknown, ...args) {
    if (sizeOf(...args) > MAX_MADE) throw new Error(`${name}() in an expression of the chart makes more than ${MAX_MADE} values or characters.`);
    return whole.apply(this, args);
  });
}

/** Makes a function throw where the chart has no room for what it would make. */
function fit(name: string, charactersOf: (...args: unknown[]) => number): void {
  const whole = expressionFunction(name);
  expressionFunction(name, function (this: unknown, ...args) {
    check(2 * charactersOf(...args));
    return whole.apply(this, args);
  });
}

/** Has a look at the parameters of a transform before it begins. */
function before({ prototype }: Transform, look: (parameters: Parameters) => void): void {
  const whole = prototype.transform;
  prototype.transform = function (parameters, pulse) {
    look(parameters);
    return whole.call(this, parameters, pulse);
  };
}

function atMost(what: string, number: number): void {
  if (number > MAX_MADE) throw new Error(`The chart has more than ${MAX_MADE} ${what}.`);
}

function unitOf(name: string): number {
  return UNITS[name] ?? DAY;
}

/** Characters of a list as a text. */
function textOf(value: unknown, separator: number): number {
  if (!Array.isArray(value)) return typeof value === 'string' ? value.length : String(value).length;
  return value.reduce((sum: number, part) => sum + separator + textOf(part, 1), 0);
}

/** Limits what a chart makes up by itself, because anyone who may write to a data store can write a chart. */

import { expressionFunction } from 'vega-functions';
import { bin } from 'vega-transforms';

/** Values of a list, characters of a text, or bins. */
const MAX_MADE = 10_000;
/** In milliseconds; a longer unit is limited as days are. */
const UNITS: Record<string, number> = { milliseconds: 1, seconds: 1_000, minutes: 60_000, hours: 3_600_000 };
const DAY = 86_400_000;

limit('sequence', (...args) => {
  const [start, stop, step] = args.length < 2 ? [0, args[0]] : args;
  return Math.abs((Number(stop) - Number(start)) / Number(step ?? 1));
});
for (const name of ['timeSequence', 'utcSequence']) {
  limit(name, (unit, start, stop, step) => (Number(stop) - Number(start)) / (UNITS[String(unit)] ?? DAY) / Number(step ?? 1));
}
limit('pad', (_text, length) => Number(length));
// A specifier may have a width and a precision.
limit('format', (_value, specifier) => Math.max(0, ...(String(specifier).match(/\d+/g) ?? []).map(Number)));

const transform = bin.prototype.transform;
bin.prototype.transform = function (options, pulse) {
  const binned = transform.call(this, options, pulse);
  // Only the scale that comes next makes a value of each.
  const { start, stop, step } = this.value;
  if ((stop - start) / step > MAX_MADE) throw new Error(`The chart has more than ${MAX_MADE} bins.`);
  return binned;
};

/** Makes a function throw where it would make more, by its arguments. */
function limit(name: string, sizeOf: (...args: unknown[]) => number): void {
  const whole = expressionFunction(name);
  expressionFunction(name, function (this: unknown, ...args) {
    if (sizeOf(...args) > MAX_MADE) throw new Error(`${name}() in an expression of the chart makes more than ${MAX_MADE} values or characters.`);
    return whole.apply(this, args);
  });
}

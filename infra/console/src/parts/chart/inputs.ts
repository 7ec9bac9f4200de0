/** Describes the fields for the parameters of a chart. */

import type { Input } from './messages';

/** Options of a field that are shown. */
const MAX_OPTIONS = 200;
/** Characters of a field or a tooltip that are shown. */
export const MAX_TEXT = 1_000;

/** What a specification says of a field; none of it is checked. */
export type Binding = { signal: string } & Partial<Record<'input' | 'name' | 'options' | 'labels' | 'min' | 'max' | 'step', unknown>>;

/** Returns the field of a parameter; none where the specification names an element of the page instead. */
export function inputOf({ signal, input, name, options, labels, min, max, step }: Binding, value: unknown): Input[] {
  if (typeof input !== 'string') return [];
  const values: readonly unknown[] = Array.isArray(options) ? options.slice(0, MAX_OPTIONS) : [];
  if (values.length === 0 && ['select', 'radio'].includes(input)) return [];
  // As Vega has it: a range holds the value that the parameter begins with.
  const begin = Number(value) || 0;
  const most = number(max) ?? Math.max(100, begin);
  return [
    {
      signal,
      type: input,
      label: typeof name === 'string' ? name : signal,
      options: values.map((option, index) => ({ value: option, label: String((Array.isArray(labels) ? labels[index] : undefined) ?? option) })),
      min: number(min) ?? Math.min(0, most, begin),
      max: most,
      step: number(step) ?? 'any',
      value: shown(value),
    },
  ];
}

/** Returns the value that the page gets: a text has no limit in an expression. */
export function shown(value: unknown): unknown {
  return typeof value === 'string' || (typeof value === 'object' && value !== null) ? String(value).slice(0, MAX_TEXT) : value;
}

function number(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

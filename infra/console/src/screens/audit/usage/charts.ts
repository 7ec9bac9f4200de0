/**
 * Vega-Lite specifications. Fields have fixed names, so that no text of the API becomes part of an
 * expression.
 */

import type { Resolution } from './range';

type Spec = Record<string, unknown>;

/** What a number counts; a number of events has no fraction. */
export interface Unit {
  title: string;
  whole?: boolean;
}

export const EVENTS: Unit = { title: 'events', whole: true };

const FORMATS: Record<Resolution, string> = { hour: '%b %d, %H:%M', day: '%b %d', week: '%b %d', month: '%b %Y' };
const LABELS = { labelLimit: 160 };

const time = (resolution: Resolution) => ({
  field: 'time',
  type: 'temporal',
  scale: { type: 'utc' },
  title: null,
  axis: { format: FORMATS[resolution], labelOverlap: true, grid: false },
});
const axisOf = ({ whole }: Unit) => ({ tickCount: 5, ...(whole && { tickMinStep: 1 }) });
const tooltip = (...fields: string[]) => fields.map((field) => ({ field, type: field === 'value' ? 'quantitative' : 'nominal' }));

/** Bars as wide as their period, one series above another. */
export function stacked(unit: Unit, resolution: Resolution): Spec {
  return {
    transform: [{ stack: 'value', groupby: ['time'], sort: [{ field: 'series' }], as: ['low', 'high'] }],
    mark: { type: 'rect', x2Offset: -1 },
    encoding: {
      x: time(resolution),
      x2: { field: 'end' },
      y: { field: 'low', type: 'quantitative', title: unit.title, axis: axisOf(unit) },
      y2: { field: 'high' },
      color: { field: 'series', type: 'nominal', title: null, legend: { orient: 'bottom', columns: 3, ...LABELS } },
      tooltip: tooltip('period', 'series', 'value'),
    },
  };
}

/** Bars as wide as their period. */
export function bars(unit: Unit, resolution: Resolution): Spec {
  return {
    mark: { type: 'rect', x2Offset: -1 },
    encoding: {
      x: time(resolution),
      x2: { field: 'end' },
      y: { field: 'value', type: 'quantitative', title: unit.title, axis: axisOf(unit) },
      y2: { datum: 0 },
      tooltip: tooltip('period', 'value'),
    },
  };
}

/** Points over time; a period without a number has none. */
export function line(unit: Unit, resolution: Resolution): Spec {
  return {
    mark: { type: 'line', point: true },
    encoding: {
      x: time(resolution),
      y: { field: 'value', type: 'quantitative', title: unit.title, axis: axisOf(unit) },
      tooltip: tooltip('period', 'value'),
    },
  };
}

/** Bars side by side, in the order of the rows. */
export function ranked(unit: Unit): Spec {
  return {
    mark: { type: 'bar' },
    encoding: {
      y: { field: 'series', type: 'nominal', sort: null, title: null, axis: LABELS },
      x: { field: 'value', type: 'quantitative', title: unit.title, axis: axisOf(unit) },
      tooltip: tooltip('series', 'value'),
    },
  };
}

/** Height of a ranked chart, in pixels. */
export function rankedHeight(rows: number): number {
  return 60 + Math.max(1, rows) * 24;
}

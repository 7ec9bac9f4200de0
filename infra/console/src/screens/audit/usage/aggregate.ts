/** Asks for the numbers of the charts. */

import { answer, client, type Schemas } from '../../../api/client';
import type { Meter } from './meters';
import { endOf, MAX_ROWS, sentRange, type Range } from './range';

export const CATEGORIES = ['content', 'workflow', 'security', 'billing', 'system', 'external'] as const;

export type Request = Schemas['AggregateEvents'];
export type Row = Schemas['AggregateRow'];

export function aggregate(body: Request, signal: AbortSignal): Promise<Schemas['Aggregation']> {
  return answer(client.POST('/api/v1/audit-trail/aggregate', { body, signal }));
}

/** A number of one period; `series` tells what it counts. */
export interface Point extends Record<string, unknown> {
  time: string;
  end: string;
  series: string;
  value: number | null;
}

function points({ rows }: Schemas['Aggregation'], metric: string, series: string, range: Range): Point[] {
  return rows.map(({ dimensions, metrics }) => {
    const time = dimensions['time'] ?? '';
    return { time, end: endOf(time, range.resolution), series, value: metrics[metric] ?? null };
  });
}

const byTime = ({ resolution }: Range) => [{ dimension: 'time', resolution }];

/**
 * Counts the events of each period by category. Each category is a request of its own, because only an answer
 * that is grouped by time alone has the empty periods, and because all of them together may exceed the rows
 * of one.
 */
export async function eventsByCategory(range: Range, signal: AbortSignal): Promise<Point[]> {
  const metrics = [{ id: 'events', operation: 'count' as const }];
  const totals = await aggregate({ ...sentRange(range), groupBy: [{ dimension: 'event_category' }], metrics, limit: MAX_ROWS }, signal);
  const present = CATEGORIES.filter((category) => totals.rows.some(({ dimensions }) => dimensions['event_category'] === category));
  // Without any event the empty periods are shown all the same.
  const asked = present.length === 0 ? CATEGORIES.slice(0, 1) : present;
  const series = await Promise.all(
    asked.map(async (category) =>
      points(
        await aggregate({ ...sentRange(range), filter: { eventCategories: [category] }, groupBy: byTime(range), metrics, limit: MAX_ROWS }, signal),
        'events',
        category,
        range,
      ),
    ),
  );
  return series.flat();
}

export interface Bar extends Record<string, unknown> {
  series: string;
  value: number | null;
}

const TOP = 10;

export async function topActions(range: Range, signal: AbortSignal): Promise<Bar[]> {
  const { rows } = await aggregate(
    {
      ...sentRange(range),
      groupBy: [{ dimension: 'action' }],
      metrics: [{ id: 'events', operation: 'count' }],
      order: { metric: 'events', direction: 'desc' },
      limit: TOP,
    },
    signal,
  );
  return rows.map(({ dimensions, metrics }) => ({ series: dimensions['action'] ?? '(none)', value: metrics['events'] ?? null }));
}

/** Adds up and averages a meter in each period. */
export async function meterByTime(range: Range, { category, type }: Meter, signal: AbortSignal) {
  const meter = { meterCategory: category, meterType: type };
  const answered = await aggregate(
    {
      ...sentRange(range),
      groupBy: byTime(range),
      metrics: [
        { id: 'sum', operation: 'sum_meter', ...meter },
        { id: 'average', operation: 'average_meter', ...meter },
      ],
      limit: MAX_ROWS,
    },
    signal,
  );
  return { sum: points(answered, 'sum', 'sum', range), average: points(answered, 'average', 'average per event', range) };
}

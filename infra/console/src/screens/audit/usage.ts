/** Questions about usage, and the rows that charts draw. */

import type { Schemas } from '../../api/client';

export type Request = Schemas['AggregateEvents'];
export type Row = Record<string, string | number | null>;

export const RESOLUTIONS = ['hour', 'day', 'week', 'month'] as const;
export type Resolution = (typeof RESOLUTIONS)[number];

/** Most rows of an answer. */
const MAX_ROWS = 1_000;
const DAY_MS = 86_400_000;

/** Meters of the contract. */
export const METERS = [
  ['processing', 'documents'],
  ['processing', 'pages'],
  ['processing', 'ocr_pages'],
  ['processing', 'vision_pages'],
  ['extraction', 'properties'],
  ['extraction', 'citations'],
  ['verification', 'digitally_verified'],
  ['verification', 'ai_verified'],
  ['verification', 'unverified'],
  ['review', 'issues'],
] as const;

export interface Range {
  days: number;
  resolution: Resolution;
}

/** Returns the range of an address. */
export function rangeOf(query: URLSearchParams): Range {
  const days = Math.min(366, Math.max(1, Math.round(Number(query.get('days') ?? 7)) || 7));
  const resolution = RESOLUTIONS.find((one) => one === query.get('resolution')) ?? 'day';
  return { days, resolution };
}

function since(days: number, now: number): string {
  return new Date(now - (days - 1) * DAY_MS).toISOString();
}

export function byTime({ days, resolution }: Range, dimension: string, now: number): Request {
  return {
    from: since(days, now),
    groupBy: [{ dimension: 'time', resolution }, { dimension }],
    metrics: [{ id: 'events', operation: 'count' }],
    limit: MAX_ROWS,
  };
}

export function byAction({ days }: Range, now: number): Request {
  return {
    from: since(days, now),
    groupBy: [{ dimension: 'action' }],
    metrics: [{ id: 'events', operation: 'count' }],
    order: { metric: 'events' },
    limit: 10,
  };
}

export function byMeter({ days, resolution }: Range, [meterCategory, meterType]: readonly [string, string], now: number): Request {
  return {
    from: since(days, now),
    groupBy: [{ dimension: 'time', resolution }],
    metrics: [
      { id: 'sum', operation: 'sum_meter', meterCategory, meterType },
      { id: 'average', operation: 'average_meter', meterCategory, meterType },
    ],
    limit: MAX_ROWS,
  };
}

/** Returns dimensions and metrics of each row side by side. */
export function rowsOf(aggregation: Schemas['Aggregation']): Row[] {
  return aggregation.rows.map((row) => ({ ...(row.dimensions as Row), ...(row.metrics as Row) }));
}

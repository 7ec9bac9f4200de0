/** Time range and resolution of the charts, in the address. Days are of UTC, as the API counts them. */

import type { Schemas } from '../../../api/client';

export type Resolution = Schemas['Resolution'];

export const DAYS = [7, 30, 90] as const;
export const RESOLUTIONS: readonly Resolution[] = ['hour', 'day', 'week', 'month'];

/** Limits of the API. */
export const MAX_ROWS = 1_000;
const MAX_DAYS = 366;

const DAY_MS = 86_400_000;
const SIZES_MS: Record<Resolution, number> = {
  hour: 3_600_000,
  day: DAY_MS,
  week: 7 * DAY_MS,
  month: 28 * DAY_MS,
};

export interface Range {
  /** A number of days up to now, or days that the user chose. */
  kind: '7' | '30' | '90' | 'own';
  /** First and last day, both included, such as '2026-11-01'. */
  first: string;
  last: string;
  resolution: Resolution;
  projectId: string | undefined;
}

/** `today` is a day of UTC, such as '2026-11-26'. */
export function rangeOf(query: URLSearchParams, today: string): Range {
  const kind = (['7', '30', '90', 'own'] as const).find((other) => other === query.get('range')) ?? '30';
  const own = kind === 'own';
  const last = (own && day(query.get('last'))) || today;
  const first = own ? (day(query.get('first')) ?? shift(last, -29)) : shift(today, 1 - Number(kind));
  const resolution = RESOLUTIONS.find((other) => other === query.get('resolution')) ?? 'day';
  return { kind, first, last, resolution, projectId: query.get('projectId') || undefined };
}

/** Returns why the API refuses a range, or nothing. */
export function faultOf({ first, last, resolution }: Range): string | undefined {
  const days = (Date.parse(last) - Date.parse(first)) / DAY_MS + 1;
  if (days < 1) return 'The first day is after the last one.';
  if (days > MAX_DAYS) return `A range has at most ${MAX_DAYS} days.`;
  if (!fits(days, resolution)) return `By ${resolution}, a range has at most ${maxDays(resolution)} days. Choose a shorter range, or days.`;
  return undefined;
}

function fits(days: number, resolution: Resolution): boolean {
  return days <= maxDays(resolution);
}

function maxDays(resolution: Resolution): number {
  return Math.floor((MAX_ROWS * SIZES_MS[resolution]) / DAY_MS);
}

/** Range as a request has it. A range up to now ends with the time of the request. */
export function sentRange({ kind, first, last, projectId }: Range) {
  return {
    from: `${first}T00:00:00.000Z`,
    ...(kind === 'own' && { to: `${last}T23:59:59.999Z` }),
    ...(projectId !== undefined && { projectId }),
  };
}

/** Returns the end of a period, in ISO 8601. */
export function endOf(time: string, resolution: Resolution): string {
  const start = new Date(time);
  if (resolution === 'month') start.setUTCMonth(start.getUTCMonth() + 1);
  else start.setTime(start.getTime() + SIZES_MS[resolution]);
  return start.toISOString();
}

/** Returns a period as a table has it, such as '2026-11-01' or '2026-11-01 13:00'. */
export function period(time: string, resolution: Resolution): string {
  if (resolution === 'hour') return `${time.slice(0, 10)} ${time.slice(11, 16)}`;
  return resolution === 'month' ? time.slice(0, 7) : time.slice(0, 10);
}

export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

function shift(from: string, days: number): string {
  return dayOf(Date.parse(from) + days * DAY_MS);
}

function day(text: string | null): string | undefined {
  return text !== null && /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)) ? text : undefined;
}

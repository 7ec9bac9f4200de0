/** The filters of the list: in the address, and as the API takes them. */

import type { Schemas } from '../../../api/client';

export const STATUSES = ['RUNNING', 'COMPLETED', 'FAILED', 'TIMED_OUT', 'CANCELED', 'TERMINATED', 'CONTINUED_AS_NEW'] as const;

/** Filters that are one text, by their name in the address and in the request. */
export const TEXTS = [
  { name: 'document_id', label: 'Document id' },
  { name: 'event_name', label: 'Event name', help: 'The action of the event that started the run.' },
  { name: 'rule_id', label: 'Subscription id' },
  { name: 'initiated_by', label: 'Initiated by', help: 'Such as user:ops.' },
] as const;

/** Values of `started` in the address; `start` and `end` give exact times. */
export const SPANS = [
  { name: 'hour', label: 'In the last hour', ms: 3_600_000 },
  { name: 'today', label: 'Today', ms: 0 },
  { name: 'day', label: 'In the last 24 hours', ms: 86_400_000 },
  { name: 'week', label: 'In the last 7 days', ms: 604_800_000 },
] as const;

export const PARAMETERS = ['status', 'search_term', 'type', 'query', 'started', 'start', 'end', ...TEXTS.map((text) => text.name)];

/** Returns the filters as the API takes them. `now` is in milliseconds. */
export function request(address: URLSearchParams, now: number): Schemas['ListRuns'] {
  const body: Record<string, string> = {};
  for (const name of PARAMETERS) {
    const value = address.get(name)?.trim();
    if (value && name !== 'started') body[name] = value;
  }
  const earliest = startOf(address.get('started'), now);
  if (earliest !== undefined && body['start'] === undefined) body['start'] = new Date(earliest).toISOString();
  return body;
}

function startOf(span: string | null, now: number): number | undefined {
  const choice = SPANS.find(({ name }) => name === span);
  if (choice === undefined) return undefined;
  return choice.name === 'today' ? new Date(now).setHours(0, 0, 0, 0) : now - choice.ms;
}

/** Returns the filters of an address in one order, to tell whether two addresses have the same. */
export function normal(address: URLSearchParams): string {
  const parameters = new URLSearchParams();
  for (const name of PARAMETERS) {
    const value = address.get(name);
    if (value) parameters.set(name, value);
  }
  return parameters.toString();
}

/** Returns a time for an input of the type `datetime-local`, in the reader's zone. */
export function localTime(iso: string | null): string {
  const ms = Date.parse(iso ?? '');
  if (Number.isNaN(ms)) return '';
  return new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

export function isoTime(local: string): string {
  const ms = Date.parse(local);
  return Number.isNaN(ms) ? '' : new Date(ms).toISOString();
}

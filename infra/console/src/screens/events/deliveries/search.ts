/** Keeps the filters of deliveries in the address. */

import type { Schemas } from '../../../api/client';

export type Delivery = Schemas['Delivery'];
export type Search = Schemas['SearchDeliveries'];

export const STATUSES = ['evaluating', 'pending', 'running', 'retrying', 'succeeded', 'failed', 'cancelled'] as const;
export const TARGETS = ['webhook', 'workflow', 'agent', 'process'] as const;
export const CATEGORIES = ['content', 'workflow', 'security', 'billing', 'system', 'external'] as const;

/** Filters with one value. */
const TEXTS = ['event_id', 'subscription_id', 'resource_id', 'from', 'to'] as const;
/** Filters with several values, which stand in the address with commas between them. */
const LISTS = ['status', 'target_type', 'event_category', 'action', 'resource_type'] as const;
export const FILTERS: readonly string[] = [...TEXTS, ...LISTS];

export const ENDED: ReadonlySet<string> = new Set(['succeeded', 'failed', 'cancelled']);

export function list(text: string | null): string[] {
  return (text ?? '').split(',').map((part) => part.trim()).filter((part) => part !== '');
}

export function searchOf(query: URLSearchParams): Search {
  const search: Search = {};
  for (const name of TEXTS) {
    const value = query.get(name)?.trim();
    if (value) search[name] = value;
  }
  for (const name of LISTS) {
    const values = list(query.get(name));
    if (values.length > 0) search[name] = values;
  }
  return search;
}

/** Returns a time of the address as a `datetime-local` field has it, in the reader's zone. */
export function toLocal(iso: string | null): string {
  const time = Date.parse(iso ?? '');
  if (Number.isNaN(time)) return '';
  const local = new Date(time - new Date(time).getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 16);
}

export function fromLocal(text: string): string {
  const time = Date.parse(text);
  return Number.isNaN(time) ? '' : new Date(time).toISOString();
}

/** Filters of the list of runs, as the address has them. */

import type { Schemas } from '../../api/client';

export const STATUSES = ['RUNNING', 'COMPLETED', 'FAILED', 'CANCELED', 'TERMINATED', 'TIMED_OUT', 'CONTINUED_AS_NEW'] as const;

export interface TextFilter {
  /** Name in the request and in the address. */
  name: 'type' | 'search_term' | 'document_id' | 'event_name' | 'rule_id' | 'initiated_by';
  label: string;
  example: string;
}

export const TEXT_FILTERS: readonly TextFilter[] = [
  { name: 'type', label: 'Workflow type', example: 'Approval' },
  { name: 'search_term', label: 'Search', example: 'part of a type or subscription, or a run id' },
  { name: 'document_id', label: 'Document', example: 'invoice-17' },
  { name: 'event_name', label: 'Event', example: 'order_placed' },
  { name: 'rule_id', label: 'Subscription id', example: '' },
  { name: 'initiated_by', label: 'Initiated by', example: 'user:dev' },
];

const TIMES = ['start', 'end'] as const;

/** Returns the body of the listing for an address. */
export function requestOf(query: URLSearchParams): Schemas['ListRuns'] {
  const body: Schemas['ListRuns'] = { page_size: 50 };
  for (const name of ['status', 'query', ...TEXT_FILTERS.map((filter) => filter.name)] as const) {
    const value = query.get(name);
    if (value) body[name] = value;
  }
  for (const name of TIMES) {
    const at = new Date(query.get(name) ?? '');
    if (!Number.isNaN(at.getTime())) body[name] = at.toISOString();
  }
  return body;
}

/** True if the address has a filter. */
export function isFiltered(query: URLSearchParams): boolean {
  return [...query.keys()].length > 0;
}

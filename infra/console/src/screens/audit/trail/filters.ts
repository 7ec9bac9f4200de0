/** Which records the trail shows: in the address, and for the API. */

import type { Schemas } from '../../../api/client';
import { decodeList } from '../choices';

export const ACTIONS: readonly Schemas['AuditAction'][] = [
  'create',
  'update',
  'delete',
  'bulk_update',
  'bulk_delete',
  'attach',
  'detach',
  'publish',
  'unpublish',
];

export const RESOURCE_TYPES = [
  'prompt',
  'data_store',
  'dashboard',
  'workflow',
  'event_subscription',
  'event_channel',
  'event_delivery',
  'event',
  'api_key',
  'interaction',
  'artifact',
] as const;

export const PAGE = 50;

/** Parameters that hold one value. */
export const SINGLE = ['resourceId', 'principalId', 'principalUserId', 'projectId', 'from', 'to'] as const;

export interface Filters {
  actions: string[];
  resourceTypes: string[];
  single: Partial<Record<(typeof SINGLE)[number], string>>;
  offset: number;
  /** Latest record of a walk, so that records that come meanwhile do not move the pages on. */
  until: string | undefined;
}

export function filtersOf(query: URLSearchParams): Filters {
  const single = Object.fromEntries(SINGLE.map((name) => [name, query.get(name)]).filter(([, value]) => value));
  const offset = Number(query.get('offset'));
  return {
    actions: decodeList(query.get('actions')),
    resourceTypes: decodeList(query.get('resourceTypes')),
    single,
    offset: Number.isSafeInteger(offset) && offset > 0 ? offset : 0,
    until: query.get('until') ?? undefined,
  };
}

export function isFiltered({ actions, resourceTypes, single }: Filters): boolean {
  return actions.length > 0 || resourceTypes.length > 0 || Object.keys(single).length > 0;
}

export function sentFilters({ actions, resourceTypes, single, offset, until }: Filters) {
  return {
    ...single,
    ...(until !== undefined && single.to === undefined && { to: until }),
    ...(actions.length > 0 && { actions }),
    ...(resourceTypes.length > 0 && { resourceTypes }),
    limit: PAGE,
    offset,
  };
}

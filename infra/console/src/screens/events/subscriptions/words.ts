/** Says in a few words what a subscription matches and where it delivers. */

import type { Schemas } from '../../../api/client';
import { isObject } from '../../../parts/json';

/** Entries of a list that are named. */
const NAMED = 3;

function some(values: readonly string[]): string {
  const more = values.length - NAMED;
  return values.slice(0, NAMED).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

export function filterWords(filter: Schemas['Filter']): string {
  const { event_category: categories = [], exclude_event_category: excluded = [], action = [], resource_type: types = [] } = filter;
  const parts = [categories.length === 0 || categories.includes('*') ? 'all categories' : some(categories)];
  if (excluded.length > 0) parts.push(`but not ${some(excluded)}`);
  if (action.length > 0) parts.push(`action ${some(action)}`);
  if (types.length > 0) parts.push(`resource ${some(types)}`);
  if (filter.condition) parts.push('a condition');
  if (filter.semantic_condition) parts.push('a condition in words');
  return parts.join('; ');
}

export function placeOf(target: Schemas['SubscriptionTarget']): string {
  switch (target.type) {
    case 'webhook':
      return target.url;
    case 'workflow':
      return target.endpoint;
    case 'agent':
      return target.interaction_ref ?? 'the general-purpose agent';
    case 'process': {
      const document = target.definition?.['document'];
      return target.process_ref ?? (isObject(document) && typeof document['name'] === 'string' ? `its own definition ${document['name']}` : 'its own definition');
    }
  }
}

/** Short words for filters and targets. */

import type { Schemas } from '../../api/client';

export function filterInWords(filter: Schemas['Filter']): string {
  const parts = [
    list(filter.event_category) ?? 'all categories',
    filter.exclude_event_category?.length ? `without ${list(filter.exclude_event_category)}` : '',
    filter.action?.length ? `actions ${list(filter.action)}` : '',
    filter.resource_type?.length ? `about ${list(filter.resource_type)}` : '',
    filter.condition ? 'with a condition' : '',
    filter.semantic_condition ? `if “${filter.semantic_condition.instruction.slice(0, 60)}”` : '',
  ];
  return parts.filter(Boolean).join(', ');
}

function list(values: readonly string[] | undefined): string | undefined {
  if (values === undefined || values.length === 0 || values.includes('*')) return undefined;
  return values.join(', ');
}

export function placeOf(target: Schemas['SubscriptionTarget']): string {
  switch (target.type) {
    case 'webhook':
      return target.url;
    case 'workflow':
      return target.endpoint;
    case 'agent':
      return target.interaction_ref ?? 'the general agent';
    case 'process':
      return target.process_ref ?? 'a definition of its own';
    default:
      return '';
  }
}

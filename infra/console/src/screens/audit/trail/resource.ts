/** Views of the resources of records. */

import type { Schemas } from '../../../api/client';
import { href } from '../../../shell/route.svelte';

/** Returns the address of the view of a record's resource, where it has one and the record names it. */
export function addressOf({ resource_type, resource_id }: Schemas['AuditEvent']): string | undefined {
  if (resource_id === '') return undefined;
  switch (resource_type) {
    case 'data_store':
      return href(['data', resource_id]);
    case 'prompt':
      return href(['prompts', resource_id]);
    case 'event_subscription':
      return href(['events', 'subscriptions', resource_id]);
    case 'event_channel':
      return href(['events', 'channels', resource_id]);
    default:
      return undefined;
  }
}

export function principalOf(record: Schemas['AuditEvent']): string {
  return record.principal_user_id ?? record.principal_id ?? record.principal_type ?? 'unknown';
}

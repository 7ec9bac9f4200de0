/**
 * Finds the envelope of an event. No operation reads an event, but a run that a delivery started has it in
 * its input.
 */

import { answer, client } from '../../../api/client';
import { ApiError } from '../../../api/error';
import { session } from '../../../session/session.svelte';
import { isObject } from '../../../parts/json';
import type { Delivery } from './search';

export type Envelope = Record<string, unknown>;

/** Most runs that are read in search of one event. */
const MAX_RUNS = 5;

/** Reads it from the run of the delivery, or of another delivery of the same event. */
export async function findEnvelope(eventId: string, signal: AbortSignal): Promise<Envelope | undefined> {
  if (!session.may('workflow:run')) return undefined;
  const { deliveries } = await answer(
    client.POST('/api/v1/events/deliveries/search', {
      body: { event_id: eventId, target_type: ['workflow', 'process'], limit: 50 },
      signal,
    }),
  );
  for (const delivery of deliveries.slice(0, MAX_RUNS)) {
    const envelope = await ofRun(delivery, signal);
    if (envelope?.['event_id'] === eventId) return envelope;
  }
  return undefined;
}

async function ofRun({ workflow_id, workflow_run_id }: Delivery, signal: AbortSignal): Promise<Envelope | undefined> {
  if (!workflow_id || !workflow_run_id) return undefined;
  try {
    const run = await answer(
      client.GET('/api/v1/workflows/runs/{workflow_id}/{run_id}', {
        params: { path: { workflow_id, run_id: workflow_run_id } },
        signal,
      }),
    );
    const event = isObject(run.input) ? run.input['event'] : undefined;
    return isObject(event) ? event : undefined;
  } catch (error) {
    // The run may be gone, or private.
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}

/** Returns what a delivery says about its event. */
export function partOf(delivery: Delivery, account: string, project: string | undefined): Envelope {
  return {
    event_id: delivery.event_id,
    event_category: delivery.event_category,
    action: delivery.action,
    resource_type: delivery.resource_type,
    resource_id: delivery.resource_id,
    account_id: account,
    project_id: project ?? null,
    tenant_id: null,
    timestamp: delivery.created_at,
    source: delivery.source,
    resource_data: {},
    details: {},
    meters: [],
  };
}

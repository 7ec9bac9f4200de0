// The tour (docs/tour.md) with the generated TypeScript client.
import assert from 'node:assert/strict';
import process from 'node:process';

import { createClient } from './generated/client/index.js';
import * as api from './generated/index.js';

const { ORIGIN, TOKEN, WORKFLOW_ID, RUN_ID, RECEIVER } = process.env as Record<string, string>;
const client = createClient({ baseUrl: ORIGIN, auth: () => TOKEN, throwOnError: true });
// Its answers are checked for success, so that `data` is there.
const options = { client, throwOnError: true } as const;

async function prompts(): Promise<void> {
  const { data: prompt } = await api.createPrompt({
    ...options,
    body: { name: 'Greeting', role: 'user', content_type: 'handlebars', content: 'Hello {{name}}!', test_data: { name: 'Ada' } },
  });
  const path = { pt_id: prompt.id };
  const { data: updated } = await api.updatePrompt({ ...options, path, body: { content: 'Welcome, {{name}}!' } });
  assert.equal(updated.version, 2);
  const { data: versions } = await api.listPromptVersions({ ...options, path });
  assert.deepEqual(versions.map(({ version, latest }) => [version, latest]), [[2, true], [1, false]]);
  const refused = await api.updatePrompt({ client, path, body: { content: 'Welcome, {{name}!' }, throwOnError: false });
  assert.equal(refused.error?.error, 'invalid_request');
}

async function stores(): Promise<void> {
  const { data: store } = await api.createDataStore({ ...options, body: { name: 'Sales' } });
  const path = { store_id: store.id };
  await api.createTables({
    ...options,
    path,
    body: { tables: [{ name: 'orders', columns: [{ name: 'id', type: 'BIGINT', primary_key: true }, { name: 'city', type: 'STRING' }] }] },
  });
  const data = [{ id: 1, city: 'Lisbon' }, { id: 2, city: 'Kyoto' }, { id: 3, city: 'Lisbon' }];
  const { data: imported } = await api.importRows({ ...options, path, body: { tables: { orders: { source: 'inline', data } } } });
  assert.equal(imported.status, 'COMPLETED');
  const sql = 'SELECT city, count(*) AS orders FROM orders GROUP BY city HAVING count(*) >= {{least}} ORDER BY city';
  const { data: answer } = await api.queryDataStore({ ...options, path, body: { sql, params: { least: 2 } } });
  assert.deepEqual(answer.rows, [['Lisbon', 2]]);
  const conflict = await api.createDataStore({ client, body: { name: 'Sales' }, throwOnError: false });
  assert.equal(conflict.response?.status, 409);
  const { data: versions } = await api.listStoreVersions({ ...options, path });
  await api.rollBackDataStore({ ...options, path: { ...path, version_id: versions[1]!.id } });
  const { data: download } = await api.downloadDataStore({ ...options, path });
  assert.ok((await fetch(download.url)).ok);
}

async function runs(): Promise<void> {
  const path = { workflow_id: WORKFLOW_ID!, run_id: RUN_ID! };
  const { data: listed } = await api.listWorkflowRuns({ ...options, body: { type: 'Approval' } });
  assert.deepEqual(listed.runs.map(({ run_id }) => run_id), [RUN_ID]);
  await api.signalWorkflowRun({ ...options, path: { ...path, signal_name: 'Approve' }, body: { message: 'A brown one.' } });
  const types: string[] = [];
  const { stream } = await api.streamRunUpdates({ client, path, query: { since: 0 } });
  for await (const update of stream) {
    if (!update) continue; // The answer 204 has no messages.
    types.push(update.type);
    if (update.type === 'complete') break;
  }
  assert.deepEqual(types, ['PROGRESS', 'complete']);
  const { data: run } = await api.getWorkflowRun({ ...options, path, query: { include_history: true, history_format: 'tasks' } });
  assert.equal(run.history?.type, 'tasks');
}

async function events(): Promise<void> {
  const { data: subscription } = await api.createSubscription({
    ...options,
    body: {
      name: 'Merged',
      run_as_role: 'reader',
      filter: { event_category: ['external'] },
      target: { type: 'webhook', url: RECEIVER!, signing_mode: 'signed' },
    },
  });
  assert.ok(subscription.signing_secret);
  const { data: channel } = await api.createChannel({ ...options, body: { name: 'GitHub', source: 'github' } });
  const ingest = createClient({ baseUrl: `${ORIGIN}/ingest`, auth: () => channel.ingest_token ?? undefined });
  const { data: event } = await api.ingestEvent({
    client: ingest,
    throwOnError: true,
    path: { account_id: channel.account_id, project_id: channel.project_id, channel_id: channel.id },
    body: { action: 'closed', payload: { number: 7 } },
  });
  for (;;) {
    const { data: found } = await api.searchDeliveries({ ...options, body: { event_id: event.event_id } });
    if (found.deliveries[0]?.status === 'succeeded') break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function audit(): Promise<void> {
  const { data: trail } = await api.listAuditEvents({ ...options, query: { resourceTypes: ['data_store'], limit: 2 } });
  assert.equal(trail.events.length, 2);
  assert.equal(trail.hasNext, true);
}

await prompts();
await stores();
await runs();
await events();
await audit();

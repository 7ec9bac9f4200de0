import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import AxeBuilder from '@axe-core/playwright';
import type { Locator, Page } from '@playwright/test';

import { expect, open, signInWith, test, unique, type Api } from './console';

const HOSTILE = `<img src=x onerror=alert(1)> \u202Etxt ${'w'.repeat(150)}`;

interface Receiver {
  url: string;
  status: number;
  requests: { headers: IncomingHttpHeaders; body: string }[];
  close: () => void;
}

/** A receiver of webhooks on this machine. */
async function receive(status = 200): Promise<Receiver> {
  const receiver: Receiver = { url: '', status, requests: [], close: () => server.close() };
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      receiver.requests.push({ headers: request.headers, body: Buffer.concat(parts).toString() });
      response.writeHead(receiver.status).end('<script>alert("answer")</script>');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  receiver.url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/hook`;
  return receiver;
}

/** A channel, and what sends an event through it. */
async function channelOf(api: Api, origin: string, name: string) {
  const channel = await api('POST', '/events/channels', { name, source: name });
  const send = async (body: object): Promise<string> => {
    const response = await fetch(`${origin}/ingest/webhooks/events/acme/demo/${channel.id}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${channel.ingest_token}` },
      body: JSON.stringify(body),
    });
    expect(response.status).toBe(202);
    return ((await response.json()) as { event_id: string }).event_id;
  };
  return { id: channel.id as string, send };
}

/** Only events of this source, so that tests do not meet each other's. */
const ofSource = (source: string) => ({ event_category: ['external'], condition: { '==': [{ var: 'source' }, `external:${source}`] } });

const subscribe = (api: Api, name: string, url: string, more: object = {}) =>
  api('POST', '/events/subscriptions', {
    name,
    run_as_role: 'reader',
    filter: ofSource(name),
    target: { type: 'webhook', url, signing_mode: 'signed' },
    ...more,
  });

const headersText = (headers: IncomingHttpHeaders) => Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}`).join('\n');
const editor = (page: Page, name: string): Locator => page.getByRole('textbox', { name, exact: true });
const secretOf = async (page: Page, name: string): Promise<string> =>
  (await page.getByRole('status').filter({ hasText: `${name} — shown once` }).locator('code').textContent()) ?? '';

test('a channel, a subscription and an event lead to a delivery whose signature fits', { tag: '@smoke' }, async ({ page }) => {
  const name = `smoke-${unique()}`;
  const receiver = await receive();
  await open(page, '#/events/channels/new');
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Source', { exact: true }).fill(name);
  await page.getByRole('button', { name: 'Create the channel' }).click();
  await expect(page.getByText('Ingest token — shown once')).toBeVisible();
  const channel = page.url();

  await open(page, '#/events/subscriptions/new');
  await page.getByLabel('Name', { exact: true }).fill(name);
  await page.getByLabel('Categories', { exact: true }).fill('external,');
  await editor(page, 'Condition (JSONLogic)').fill(JSON.stringify(ofSource(name).condition));
  const tried = page.getByRole('region', { name: 'Try the filter' });
  await expect(tried.getByText('does not match')).toBeVisible();
  await editor(page, 'Condition (JSONLogic)').fill(JSON.stringify({ '==': [{ var: 'details.payload.order.amount' }, 120] }));
  await expect(tried.getByText('matches', { exact: true })).toBeVisible();
  await editor(page, 'Condition (JSONLogic)').fill(JSON.stringify(ofSource(name).condition));
  await page.getByLabel('URL').fill(receiver.url);
  await page.getByRole('button', { name: 'Create the subscription' }).click();
  await expect(page.getByRole('heading', { level: 1, name })).toBeVisible();
  const secret = await secretOf(page, 'Signing secret');

  await open(page, '#/events/channels');
  await page.getByRole('link', { name }).click();
  await expect(page).toHaveURL(channel);
  await page.getByRole('button', { name: 'Rotate the token' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click();
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await page.getByRole('link', { name: 'Its deliveries' }).click();
  const row = page.getByRole('table', { name: 'Deliveries' }).getByRole('row').filter({ hasText: name });
  await expect(row.getByText('succeeded')).toBeVisible();

  await row.getByRole('link', { name: /^Delivery of paid/ }).click();
  const dialog = page.getByRole('dialog', { name: 'Delivery' });
  await expect(dialog.getByText('answered 200')).toBeVisible();
  await expect(dialog.getByText('<script>alert("answer")</script>')).toBeVisible();
  const [request] = receiver.requests;
  await dialog.getByText('Check a signature').click();
  await dialog.getByLabel('Received headers').fill(headersText(request?.headers ?? {}));
  await dialog.getByLabel('Received body').fill(request?.body ?? '');
  await dialog.getByLabel('Signing secret').fill(secret);
  await dialog.getByRole('button', { name: 'Check' }).click();
  await expect(dialog.getByText('X-Service-Signature: the signature fits.')).toBeVisible();
  await expect(dialog.getByText('Standard Webhooks: the signature fits.')).toBeVisible();
  receiver.close();
});

test('the check of a signature says what differs', async ({ page, api, origin }) => {
  const name = `signature-${unique()}`;
  const receiver = await receive();
  const { signing_secret: secret, id } = await subscribe(api, name, receiver.url);
  const channel = await channelOf(api, origin, name);
  const event = await channel.send({});
  await expect.poll(() => receiver.requests.length).toBe(1);
  const [{ headers, body } = { headers: {}, body: '' }] = receiver.requests;
  await open(page, `#/events/deliveries?event_id=${event}&delivery=${String(headers['x-service-delivery-id'])}`);
  const dialog = page.getByRole('dialog', { name: 'Delivery' });
  await dialog.getByText('Check a signature').click();
  const check = async (text: string, key: string, received = headersText(headers)) => {
    await dialog.getByLabel('Received headers').fill(received);
    await dialog.getByLabel('Received body').fill(text);
    await dialog.getByLabel('Signing secret').fill(key);
    await dialog.getByRole('button', { name: 'Check' }).click();
  };
  await check(`${body}\n`, secret);
  await expect(dialog.getByText('fits the body without the line break').first()).toBeVisible();
  await check(JSON.stringify(JSON.parse(body), null, 2), secret);
  await expect(dialog.getByText('without spaces').first()).toBeVisible();
  await check(body.replace('external', 'internal'), secret);
  await expect(dialog.getByText('changed after it was signed').first()).toBeVisible();
  await check(body, 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=');
  await expect(dialog.getByText('The secret is a wrong one').first()).toBeVisible();
  await check(body, secret, 'x-service-signature: v1=00');
  await expect(dialog.getByText('x-service-delivery-id is missing')).toBeVisible();
  await check(body, secret, 'content-type: application/json');
  await expect(dialog.getByText('The headers have no signature')).toBeVisible();
  await check(body, secret);
  await dialog.getByLabel('Time of the receipt').fill('2026-01-01T00:00');
  await dialog.getByRole('button', { name: 'Check' }).click();
  await expect(dialog.getByText('a receiver refuses the time').first()).toBeVisible();
  await api('DELETE', `/events/subscriptions/${id}`);
  receiver.close();
});

test('a failing receiver: the next attempt, the answer as text, the event, and filters in the address', async ({ page, api, origin }) => {
  const name = `failing-${unique()}`;
  const receiver = await receive(503);
  await subscribe(api, name, receiver.url);
  await api('POST', '/events/subscriptions', {
    name: `${name} run`,
    run_as_role: 'executor',
    filter: ofSource(name),
    target: { type: 'workflow', endpoint: 'Approval' },
  });
  const { send } = await channelOf(api, origin, name);
  const event = await send({ action: HOSTILE, resource_id: name });

  await open(page, `#/events/deliveries?resource_id=${name}&status=retrying,failed`);
  const table = page.getByRole('table', { name: 'Deliveries' });
  await expect(table.getByText(/^next/)).toBeVisible();
  await expect(table.getByRole('row')).toHaveCount(2);
  await expect(page.getByRole('button', { name: 'retrying' })).toHaveAttribute('aria-pressed', 'true');
  await page.getByRole('button', { name: 'running' }).click();
  await expect(page).toHaveURL(/status=retrying%2Cfailed%2Crunning/);
  await expect(table.getByRole('row')).toHaveCount(3);
  await page.getByLabel('Target').selectOption('webhook');
  await expect(table.getByRole('row')).toHaveCount(2);

  await table.getByRole('link', { name: /^Delivery of/ }).click();
  const dialog = page.getByRole('dialog', { name: 'Delivery' });
  await expect(dialog.getByText('answered 503').first()).toBeVisible();
  await expect(dialog.getByText('<script>alert("answer")</script>').first()).toBeVisible();
  // The envelope comes from the run of the other subscription.
  await expect(dialog.getByText(`"external:${name}"`)).toBeVisible();
  await expect(dialog.getByRole('link', { name: 'The run that posts it' })).toHaveAttribute('href', /^#\/runs\/delivery-/);
  await page.keyboard.press('Escape');
  await expect(dialog).toBeHidden();
  await expect(page).toHaveURL(/target_type=webhook/);

  await page.getByRole('button', { name: 'Remove all filters' }).click();
  await expect(page).not.toHaveURL(/status=/);
  await open(page, `#/events/deliveries?event_id=${event}&from=2020-01-01T00:00:00.000Z&to=2021-01-01T00:00:00.000Z`);
  await expect(page.getByText('No delivery has all of this')).toBeVisible();
  receiver.close();
});

test('deliveries come by pages, and new ones appear by themselves', async ({ page, api, origin }) => {
  const name = `pages-${unique()}`;
  const receiver = await receive();
  const { id } = await subscribe(api, name, receiver.url);
  const { send } = await channelOf(api, origin, name);
  for (let event = 0; event < 60; event += 1) await send({});
  await open(page, `#/events/deliveries?subscription_id=${id}`);
  const rows = page.getByRole('table', { name: 'Deliveries' }).getByRole('row');
  await expect(rows).toHaveCount(51);
  await page.getByRole('button', { name: 'Show more' }).click();
  await expect(rows).toHaveCount(61);
  await send({ action: 'the-newest' });
  await expect(rows.nth(1)).toContainText('the-newest');
  await expect(rows).toHaveCount(62);
  receiver.close();
});

test('a condition in words is said with its verdict', async ({ page, api, origin }) => {
  const name = `words-${unique()}`;
  await api('POST', '/events/subscriptions', {
    name,
    run_as_role: 'executor',
    filter: { ...ofSource(name), semantic_condition: { instruction: 'The customer complains.' } },
    target: { type: 'agent' },
  });
  const { send } = await channelOf(api, origin, name);
  const event = await send({});
  await open(page, `#/events/deliveries?event_id=${event}`);
  await page.getByRole('link', { name: /^Delivery of/ }).click();
  const dialog = page.getByRole('dialog', { name: 'Delivery' });
  await expect(dialog.getByText('decides (enforce), evaluated by: interaction')).toBeVisible();
  await expect(dialog.getByText('No language model is configured').first()).toBeVisible();
});

test('each kind of target is stored as the form has it', async ({ page, api, ops }) => {
  const name = `targets-${unique()}`;
  const file = join(tmpdir(), `${name}.json`);
  const definition = { document: { dsl: '1.0.0', namespace: 'test', name, version: '1.0.0' }, do: [{ one: { set: { done: true } } }] };
  await writeFile(file, JSON.stringify(definition));
  await ops('process', 'load', file);
  const create = async (kind: string, fill: () => Promise<void>) => {
    await open(page, '#/events/subscriptions/new');
    await expect(page.getByRole('heading', { level: 1, name: 'New subscription' })).toBeVisible();
    await page.getByLabel('Name', { exact: true }).fill(name);
    await page.getByLabel('Role').selectOption('executor');
    await page.getByLabel('Actions').fill('never,');
    await page.getByRole('radio', { name: kind }).check();
    await fill();
    await page.getByRole('button', { name: 'Create the subscription' }).click();
    await expect(page.getByRole('heading', { level: 1, name })).toBeVisible();
    return api('GET', `/events/subscriptions/${page.url().split('/').at(-1)}`);
  };
  const webhook = await create('Webhook', async () => {
    await page.getByLabel('URL').fill('http://127.0.0.1:4999/');
    await page.getByLabel('Signature').selectOption('legacy_unsigned');
    await page.getByLabel('Time limit').fill('2500');
    await page.getByRole('button', { name: 'Add a header' }).click();
    await page.getByLabel('Name of header 1').selectOption('x-request-id');
    await page.getByLabel('Value of x-request-id').fill('r-1');
    await page.getByLabel('A condition in words').check();
    await page.getByLabel('Instruction').fill('It is urgent.');
    await page.getByLabel('A negative verdict').selectOption('shadow');
    await page.getByLabel('A failed evaluation').selectOption('fail_open');
  });
  await expect(page.getByText('The deliveries of this webhook are not signed')).toBeVisible();
  expect(webhook.target).toMatchObject({ type: 'webhook', timeout_ms: 2500, headers: { 'x-request-id': 'r-1' }, signing_mode: 'legacy_unsigned' });
  expect(webhook.filter).toMatchObject({ action: ['never'], semantic_condition: { instruction: 'It is urgent.', mode: 'shadow', on_error: 'fail_open' } });

  const workflow = await create('Workflow', async () => {
    await page.getByLabel('Workflow type').fill('Approval');
    await editor(page, 'Values (vars)').fill('{"limit": 5}');
    await page.getByLabel('Path to the workflow id').fill('details.payload.id');
    await page.getByLabel('Workflow class').fill('orders');
  });
  expect(workflow.target).toEqual({ type: 'workflow', endpoint: 'Approval', vars: { limit: 5 }, workflow_id: 'details.payload.id', workflow_class: 'orders' });

  const agent = await create('Agent', async () => {
    await page.getByLabel('Interaction', { exact: true }).fill('sys:general');
    await editor(page, 'Data').fill('{"text": "$event.details.payload"}');
    await page.getByLabel('Most turns').fill('4');
  });
  expect(agent.target).toEqual({ type: 'agent', interaction_ref: 'sys:general', data: { text: '$event.details.payload' }, max_iterations: 4 });

  const stored = await create('Process', async () => page.getByRole('textbox', { name: 'Process', exact: true }).fill(`test/${name}`));
  expect(stored.target).toEqual({ type: 'process', process_ref: `test/${name}`, run_type: 'programmatic' });
  const inline = await create('Process', async () => {
    await page.getByRole('radio', { name: 'A definition in this subscription' }).check();
    await editor(page, 'Definition').fill(JSON.stringify(definition));
    await page.getByLabel('Tasks that act outside').selectOption('supervised');
  });
  expect(inline.target).toMatchObject({ type: 'process', definition, run_type: 'supervised' });
});

test('refusals are said in the words of the service, and the input stays', async ({ page, allowErrors }) => {
  allowErrors(/40\d/);
  await open(page, '#/events/subscriptions/new');
  const create = page.getByRole('button', { name: 'Create the subscription' });
  await editor(page, 'Condition (JSONLogic)').fill('{"==": [1,}');
  await expect(page.getByText(/^Line 1, column \d+: A value is missing here/)).toBeVisible();
  await expect(page.getByText('The filter cannot be tried')).toBeVisible();
  await expect(create).toBeDisabled();
  await editor(page, 'Condition (JSONLogic)').fill('{"frobnicate": 1}');
  await expect(page.getByRole('region', { name: 'Try the filter' }).getByRole('alert')).toContainText("operator 'frobnicate'");
  await editor(page, 'Condition (JSONLogic)').fill('');
  await page.getByLabel('Name', { exact: true }).fill(HOSTILE);
  for (const [url, words] of [['http://10.0.0.1/', 'is not public'], ['http://127.0.0.1:22/', 'its port 22'], ['no url', 'target.url']] as const) {
    await page.getByLabel('URL').fill(url);
    await create.click();
    await expect(page.locator('form').getByRole('alert')).toContainText(words);
    await expect(page.getByLabel('URL')).toHaveValue(url);
  }
  await page.getByRole('radio', { name: 'Process' }).check();
  await page.getByRole('radio', { name: 'A definition in this subscription' }).check();
  await editor(page, 'Definition').fill('{"a": 1}');
  await create.click();
  await expect(page.getByRole('alert').getByText("The field 'do' is missing.")).toBeVisible();
  await expect(page.getByLabel('Name', { exact: true })).toHaveValue(HOSTILE);
});

test('two editors do not overwrite each other, and no input is lost', async ({ page, api, allowErrors }) => {
  allowErrors(/412/);
  const name = `editors-${unique()}`;
  const { id } = await subscribe(api, name, 'http://127.0.0.1:4999/');
  await open(page, `#/events/subscriptions/${id}`);
  await page.getByLabel('Name', { exact: true }).fill(`${name} mine`);
  await page.getByLabel('Priority').selectOption('low');
  await api('PUT', `/events/subscriptions/${id}`, { description: 'theirs', priority: 'high' });
  await page.getByLabel('As JSON').check();
  await expect(page.getByLabel('Body that is sent', { exact: true })).toHaveText(/"priority": "low"/);
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText('was changed by another editor')).toBeVisible();
  await page.getByRole('button', { name: 'Load the new version' }).click();
  await expect(page.getByLabel('Description')).toHaveValue('theirs');
  await expect(page.getByText('Priority: "high"')).toBeVisible();
  await expect(page.getByLabel('Name', { exact: true })).toHaveValue(`${name} mine`);
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText('Saved.')).toBeVisible();
  expect(await api('GET', `/events/subscriptions/${id}`)).toMatchObject({ name: `${name} mine`, description: 'theirs', priority: 'low' });
});

test('a secret is rotated, a subscription disabled, enabled and deleted', async ({ page, api }) => {
  const name = `${unique()} ${HOSTILE}`.slice(0, 200);
  const { id } = await subscribe(api, name, 'http://127.0.0.1:4999/', { filter: { action: ['never'] } });
  await open(page, `#/events/subscriptions/${id}`);
  for (const label of [/beside the new one/, /stops at once/]) {
    await page.getByRole('button', { name: 'Rotate the secret' }).click();
    await page.getByRole('radio', { name: label }).check();
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click();
    await expect(page.getByRole('dialog')).toBeHidden();
    const hint = (await api('GET', `/events/subscriptions/${id}`)).target.secret_hint as string;
    expect(await secretOf(page, 'Signing secret')).toMatch(new RegExp(`${hint.replace('+', '\\+')}$`));
  }
  await open(page, '#/events/subscriptions');
  const enabled = page.getByRole('switch', { name: `Enable ${name}` });
  await expect(enabled).toBeChecked();
  await enabled.press('Space');
  await expect(enabled).toBeChecked();
  await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click();
  await expect(enabled).not.toBeChecked();
  await enabled.press('Space');
  await expect(enabled).toBeChecked();
  await page.getByRole('link', { name }).click();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Events' })).toBeVisible();
  await expect(page.getByRole('link', { name })).toHaveCount(0);
});

test('a protected subscription is read-only, and can be replaced', async ({ page, api, ops }) => {
  const name = `platform-${unique()}`;
  const file = join(tmpdir(), `${name}.json`);
  await writeFile(file, JSON.stringify({ name, run_as_role: 'reader', filter: { action: ['never'] }, target: { type: 'webhook', url: 'http://127.0.0.1:4999/' } }));
  await ops('subscription', 'create', '--protected', '--file', file);
  await open(page, '#/events/subscriptions');
  await expect(page.getByRole('switch', { name: `Enable ${name}` })).toBeDisabled();
  await page.getByRole('link', { name }).click();
  await expect(page.getByLabel('Name', { exact: true })).toBeDisabled();
  await expect(page.getByRole('button', { name: 'Save' })).toHaveCount(0);
  await expect(page.getByRole('button', { name: 'Delete' })).toHaveCount(0);
  const id = page.url().split('/').at(-1);
  await page.getByRole('link', { name: 'Create one that replaces it' }).click();
  await expect(page.getByLabel('Id of the system subscription')).toHaveValue(id ?? '');
  await page.getByLabel('Name', { exact: true }).fill(`${name} own`);
  await page.getByLabel('URL').fill('http://127.0.0.1:4999/');
  await page.getByRole('button', { name: 'Create the subscription' }).click();
  await expect(page.getByRole('heading', { level: 1, name: `${name} own` })).toBeVisible();
  const own = page.url().split('/').at(-1);
  expect(await api('GET', `/events/subscriptions/${own}`)).toMatchObject({ overrides_system_subscription_id: id });
});

test('a filter is tried on a recent event', async ({ page, api, origin }) => {
  const name = `recent-${unique()}`;
  await api('POST', '/events/subscriptions', { name, run_as_role: 'executor', filter: ofSource(name), target: { type: 'workflow', endpoint: 'Approval' } });
  const { send } = await channelOf(api, origin, name);
  await send({ resource_id: name, payload: { total: 7 } });
  await expect.poll(async () => (await api('POST', '/events/deliveries/search', { resource_id: name })).deliveries[0]?.workflow_run_id).toBeTruthy();
  await open(page, '#/events/subscriptions/new');
  const option = page.getByLabel('Event', { exact: true }).locator('option', { hasText: name });
  await expect(option).toHaveCount(1);
  await page.getByLabel('Event', { exact: true }).selectOption((await option.getAttribute('value')) ?? '');
  await expect(editor(page, 'Sample event')).toContainText('"total": 7');
  await page.getByLabel('Resource types').fill('order,');
  await expect(page.getByText("resource_type does not have 'external_event'")).toBeVisible();
  await page.getByLabel('Event', { exact: true }).selectOption('template:content');
  await expect(editor(page, 'Sample event')).toContainText('document_processed');
  await page.getByRole('button', { name: 'Remove order' }).click();
  await page.getByLabel('A condition in words').check();
  await page.getByLabel('Instruction').fill('It is urgent.');
  await expect(page.getByText('The condition in words is not evaluated here')).toBeVisible();
});

test('the paths of a channel are previewed, and do as the preview says', async ({ page, api }) => {
  const name = `paths-${unique()}`;
  const { id: subscription_id } = await api('POST', '/events/subscriptions', { name, run_as_role: 'executor', filter: ofSource(name), target: { type: 'workflow', endpoint: 'Approval' } });
  await open(page, '#/events/channels/new');
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Source', { exact: true }).fill(name);
  await page.getByLabel('Default resource type').fill('push');
  await page.getByLabel('Path to the action').fill('object_kind');
  await page.getByLabel('Path to the resource type').fill('nothing.here');
  await page.getByLabel('Path to the resource id').fill('commits.0.id');
  await page.getByLabel('Path to the time').fill('at');
  await editor(page, 'Fixed details').fill('{"team": "shop"}');
  const body = '{"object_kind": 5, "at": 1795000000, "commits": [{"id": "a1"}]}';
  await editor(page, 'Sample body').fill(body);
  const preview = page.getByRole('table', { name: 'Event of the sample body' });
  const expected = { action: '5', resource_type: 'push', resource_id: 'a1', timestamp: '2026-11-18T11:06:40.000Z' };
  for (const [field, value] of Object.entries(expected)) {
    await expect(preview.getByRole('row').filter({ has: page.getByText(field, { exact: true }) })).toContainText(value);
  }
  await expect(preview.getByText('the path nothing.here leads to nothing')).toBeVisible();
  await page.getByRole('button', { name: 'Create the channel' }).click();
  await editor(page, 'Body of the event').fill(body);
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await expect(page.getByRole('link', { name: 'Its deliveries' })).toBeVisible();
  await expect.poll(async () => (await api('POST', '/events/deliveries/search', { resource_id: 'a1', subscription_id })).deliveries[0]?.workflow_run_id).toBeTruthy();
  const [delivery] = (await api('POST', '/events/deliveries/search', { resource_id: 'a1', subscription_id })).deliveries;
  const run = await api('GET', `/workflows/runs/${delivery.workflow_id}/${delivery.workflow_run_id}`);
  expect(run.input.event).toMatchObject({ ...expected, details: { team: 'shop' } });
});

test('a signed channel: the command works in a shell, and the page signs as well', async ({ page, api, allowErrors }) => {
  allowErrors(/40\d/);
  const name = `signed-${unique()}`;
  await open(page, '#/events/channels/new');
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Source', { exact: true }).fill("it's <b>");
  await page.getByLabel('The sender signs its bodies').check();
  await page.getByRole('button', { name: 'Shopify' }).click();
  await page.getByRole('button', { name: 'Create the channel' }).click();
  await expect(page.getByText('Signing secret — shown once')).toBeVisible();
  await editor(page, 'Body of the event').fill(`{"resource_id": "${name}", "text": "it's a \\"quote\\" — $HOME \`x\`"}`);
  const command = async () => (await promisify(execFile)('bash', ['-c', (await page.getByLabel('curl command').textContent()) ?? ''])).stdout;
  expect(JSON.parse(await command())).toHaveProperty('event_id');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await expect(page.getByRole('link', { name: 'Its deliveries' })).toBeVisible();

  await page.getByRole('button', { name: 'GitHub' }).click();
  await page.getByLabel('Secret of the sender').fill('my-own-secret');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText('Saved.')).toBeVisible();
  expect(await secretOf(page, 'Signing secret')).toBe('my-own-secret');
  expect(JSON.parse(await command())).toHaveProperty('event_id');
  await page.getByLabel('Signing secret of the channel').fill('a wrong one');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await expect(page.getByRole('alert')).toContainText('the token or signature is missing or wrong');

  await page.getByLabel('The sender signs its bodies').uncheck();
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByLabel('Ingest token of the channel')).toBeVisible();
  expect(JSON.parse(await command())).toHaveProperty('event_id');
  expect((await api('GET', `/events/channels/${page.url().split('/').at(-1)}`)).signature).toBeUndefined();
});

test('a channel is disabled, its credentials rotated, and it is deleted', async ({ page, api, allowErrors }) => {
  allowErrors(/40\d|412|ERR_FAILED|fetch/);
  const name = `channel-${unique()} <b>\u202Ex`;
  const channel = await api('POST', '/events/channels', { name, source: 'x', signature: { header: 'x-sig' } });
  await open(page, '#/events/channels');
  const enabled = page.getByRole('switch', { name: `Enable ${name}` });
  await enabled.click();
  await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click();
  await expect(enabled).not.toBeChecked();
  await page.getByRole('link', { name }).click();
  await page.getByRole('button', { name: 'Rotate the secret' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click();
  expect(await secretOf(page, 'Signing secret')).toMatch(/^whsec_/);
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await expect(page.getByRole('alert')).toContainText('The channel is disabled');
  await page.getByRole('button', { name: 'Rotate the token' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click();
  await expect(page.getByText('Ingest token — shown once')).toBeVisible();

  await page.route('**/ingest/**', (route) => route.abort());
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await expect(page.getByText('The browser got no answer from')).toBeVisible();

  await page.getByLabel('Default action').fill('mine');
  await api('PUT', `/events/channels/${channel.id}`, { source: 'theirs' });
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('button', { name: 'Load the new version' }).click();
  await expect(page.getByLabel('Source', { exact: true })).toHaveValue('theirs');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText('Saved.')).toBeVisible();
  expect(await api('GET', `/events/channels/${channel.id}`)).toMatchObject({ source: 'theirs', default_action: 'mine' });
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await expect(page.getByRole('link', { name: 'New channel' })).toBeVisible();
  await expect(page.getByRole('link', { name })).toHaveCount(0);
});

test('who may only read is offered nothing else', async ({ browser, api, ops, origin }) => {
  const name = `reader-${unique()}`;
  const { id } = await subscribe(api, name, 'http://127.0.0.1:4999/', { filter: { action: ['never'] } });
  const page = await browser.newPage();
  const token = await ops('token', '--user-id', 'rita', '--roles', 'reader');
  await signInWith(page, origin, token, `#/events/subscriptions/${id}`);
  await expect(page.getByText('Changes need the permission workflow:admin.')).toBeVisible();
  for (const button of ['Save', 'Delete', 'Rotate the secret']) await expect(page.getByRole('button', { name: button })).toHaveCount(0);
  await open(page, '#/events/subscriptions');
  await expect(page.getByRole('switch', { name: `Enable ${name}` })).toBeDisabled();
  await expect(page.getByRole('link', { name: 'New subscription' })).toHaveCount(0);
  await open(page, '#/events/channels');
  await expect(page.getByRole('link', { name: 'New channel' })).toHaveCount(0);
  await page.close();
});

test('every view is accessible, and fits a narrow page', async ({ page, api, origin }) => {
  const name = `axe-${unique()}`;
  const receiver = await receive(500);
  const { id } = await subscribe(api, name, receiver.url, { description: HOSTILE });
  const { id: channel, send } = await channelOf(api, origin, name);
  const event = await send({ action: HOSTILE.slice(0, 150), resource_id: name });
  await expect.poll(() => receiver.requests.length).toBeGreaterThan(0);
  const delivery = String(receiver.requests[0]?.headers['x-service-delivery-id']);
  for (const view of [
    '#/events', '#/events/subscriptions', '#/events/channels', '#/events/subscriptions/new', `#/events/subscriptions/${id}`,
    '#/events/channels/new', `#/events/channels/${channel}`, `#/events/deliveries?event_id=${event}&delivery=${delivery}`,
  ]) {
    for (const width of [1280, 360]) {
      await page.setViewportSize({ width, height: 800 });
      await open(page, view);
      await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
      await expect(page.getByText('Loading…')).toHaveCount(0);
      expect(await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth), view).toBe(0);
      const { violations } = await new AxeBuilder({ page }).withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']).analyze();
      // The text of an editor has the focus, and scrolls with it.
      const found = violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${view} ${id}: ${html.slice(0, 400)}`));
      expect(found.filter((violation) => !violation.includes('cm-scroller'))).toEqual([]);
    }
  }
  receiver.close();
});

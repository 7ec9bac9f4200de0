/** The parts of docs/tour.md, each done in the console alone. docs/console.md says where. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import type { Page } from '@playwright/test';

import { expect, open, signIn, test, unique } from './console';
import { programEnvironment, programs, Runner } from './runner';

const docs = (name: string) => fileURLToPath(new URL(`../../../docs/tour/${name}`, import.meta.url));
const editor = (page: Page, name: string) => page.locator('.cm-content').and(page.getByRole('textbox', { name, exact: true }));
const screen = (page: Page, name: string) => page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name }).click();

/** Makes a subscription for the events of a source, and returns its id. */
async function connect(page: Page, source: string, role: string, target: () => Promise<void>): Promise<string> {
  await open(page, '#/events/subscriptions/new');
  await page.getByLabel('Name', { exact: true }).fill(source);
  await page.getByLabel('Role').selectOption(role);
  await page.getByLabel('Categories', { exact: true }).fill('external,');
  await editor(page, 'Condition (JSONLogic)').fill(JSON.stringify({ '==': [{ var: 'source' }, `external:${source}`] }));
  await target();
  await page.getByRole('button', { name: 'Create the subscription' }).click();
  await expect(page.getByRole('heading', { level: 1, name: source })).toBeVisible();
  return page.url().split('/').at(-1) ?? '';
}

async function createChannel(page: Page, source: string): Promise<void> {
  await open(page, '#/events/channels/new');
  await page.getByLabel('Name').fill(source);
  await page.getByLabel('Source', { exact: true }).fill(source);
  await page.getByRole('button', { name: 'Create the channel' }).click();
  await expect(page.getByText('Ingest token — shown once')).toBeVisible();
}

/** Sends an event through the channel that is open, and leads to its delivery. */
async function send(page: Page, body: unknown): Promise<void> {
  await editor(page, 'Body of the event').fill(JSON.stringify(body));
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await page.getByRole('link', { name: 'Its deliveries' }).click();
}

/** From the delivery of an event to the run that it started. */
async function openRun(page: Page): Promise<void> {
  const row = page.getByRole('table', { name: 'Deliveries' }).getByRole('row').nth(1);
  await row.getByRole('link', { name: /^Delivery of/ }).click();
  await page.getByRole('dialog', { name: 'Delivery' }).getByRole('link', { name: /run/i }).first().click();
}

test('a prompt template: versions, and an error at its place', async ({ page, allowErrors }) => {
  allowErrors(/400/);
  await screen(page, 'Prompts');
  await page.getByRole('button', { name: 'New prompt template' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill(`Greeting ${unique()}`);
  await dialog.getByRole('textbox', { name: 'Content' }).fill('Hello {{name}}!');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await editor(page, 'Test data').fill('{"name": "Ada"}');
  await editor(page, 'Content').fill('Welcome, {{name}}!');
  await expect(page.getByRole('textbox', { name: 'Rendered text' })).toContainText('Welcome, Ada!');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await expect(page.getByText('Saved as version 2.')).toBeVisible();
  await editor(page, 'Content').fill('Welcome, {{name}!');
  await expect(page.getByText(/line 1, column 16/).first()).toBeVisible();
  await editor(page, 'Content').fill('Welcome, {{name}}!');
  await page.getByRole('link', { name: 'Versions' }).click();
  await expect(page.getByRole('region', { name: 'Difference of the content' }).locator('del')).toContainText('Hello');
});

test('a data store: files, faults, a query, versions, a dashboard and a download', async ({ page, allowErrors }) => {
  test.slow();
  allowErrors(/4\d\d/);
  const name = `Sales ${unique()}`;
  await screen(page, 'Data');
  await page.getByRole('button', { name: 'Create data store' }).click();
  await page.getByRole('dialog').getByLabel('Name').fill(name);
  await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
  await page.getByRole('link', { name: 'Import', exact: true }).click();
  const submit = page.getByRole('button', { name: 'Import', exact: true });
  await page.getByLabel('Choose a file').setInputFiles(docs('orders.csv'));
  await page.getByRole('group', { name: 'Column 1' }).getByLabel('Primary key').check();
  await submit.click();
  await expect(page.getByText('Imported 200 rows into orders.')).toBeVisible();
  await page.getByLabel('Choose a file').setInputFiles(docs('mistake.csv'));
  await page.getByLabel('Into the table').selectOption('orders');
  await submit.click();
  await expect(page.getByRole('alert').getByRole('cell', { name: 'twelve', exact: true })).toBeVisible();
  const one = (rows: unknown) => ({ name: 'orders.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(rows)) });
  await page.getByLabel('Choose a file').setInputFiles(one([{ id: 7, customer: 'Ada' }]));
  await submit.click();
  await expect(page.getByRole('alert')).toContainText('is already in the table');
  await page.getByLabel('Choose a file').setInputFiles(one([{ id: 1, customer: 'Ada' }]));
  await page.getByLabel('Replace').check();
  await submit.click();
  await expect(page.getByText('Imported 1 row into orders.')).toBeVisible();

  await page.getByRole('link', { name: 'Versions', exact: true }).click();
  const versions = page.getByRole('table').last().locator('tbody tr');
  await versions.nth(1).getByRole('link', { name: /^Query the version/ }).click();
  const statement = editor(page, 'SQL statement');
  const ask = async (sql: string) => {
    await statement.fill(sql);
    await page.keyboard.press('Control+Enter');
  };
  await ask('SELECT count(*) AS orders FROM orders');
  await expect(page.getByRole('cell', { name: '200' })).toBeVisible();
  await page.getByRole('link', { name: 'Versions', exact: true }).click();
  await versions.nth(1).getByRole('button', { name: /^Roll back/ }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Roll back' }).click();
  await expect(versions.nth(0)).toContainText('Rolled back to');

  await page.getByRole('link', { name: 'Query', exact: true }).click();
  await ask('DELETE FROM orders');
  await expect(page.getByRole('alert').filter({ hasText: 'Only SELECT statements are allowed' })).toBeVisible();
  await statement.fill('SELECT city, count(*) AS orders, sum(amount) AS total FROM orders WHERE amount > {{least}} GROUP BY 1 ORDER BY 3 DESC');
  await page.getByLabel('Type of least').selectOption('number');
  await page.getByLabel('Value of least').fill('100');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await expect(page.getByRole('table', { name: 'Rows of the answer' }).getByRole('row').nth(1)).toContainText(/Lisbon.*45.*27651\.37/);
  await ask('SELECT city, count(*) AS orders FROM orders GROUP BY city ORDER BY city');
  await expect(page.getByRole('cell', { name: 'Accra' })).toBeVisible();
  await page.getByRole('button', { name: 'Chart', exact: true }).click();
  await page.getByRole('button', { name: 'Save as a dashboard' }).click();
  await page.getByRole('dialog').getByLabel('Name').fill('Cities');
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await expect(page.getByRole('img', { name: 'Chart of the dashboard Cities' }).locator('canvas')).toBeVisible();
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'DuckDB', exact: true }).click();
  const file = await readFile(await (await download).path());
  expect(file.subarray(8, 12).toString()).toBe('DUCK');
});

test('a workflow run: it waits, is asked, signalled and ends', async ({ page }) => {
  const source = `approvals-${unique()}`;
  await connect(page, source, 'executor', async () => {
    await page.getByRole('radio', { name: 'Workflow' }).check();
    await page.getByLabel('Workflow type').fill('Approval');
  });
  await createChannel(page, source);
  await send(page, { action: 'wanted', payload: { title: 'Buy a horse' } });
  await openRun(page);
  await expect(page.getByText('● live')).toBeVisible();
  await page.getByRole('link', { name: 'Query' }).click();
  await page.getByRole('button', { name: '__stack' }).click();
  await expect(page.getByText('"signal Approve"')).toBeVisible();
  await page.getByRole('button', { name: 'Send a signal' }).click();
  const dialog = page.getByRole('dialog', { name: 'Send a signal' });
  await editor(page, 'Body').fill('{"message":"A brown one."}');
  await dialog.getByRole('button', { name: 'Send' }).click();
  await expect(page.locator('main').getByText('completed', { exact: true })).toBeVisible();
  await page.getByRole('link', { name: 'Input and result' }).click();
  await expect(page.getByText('"A brown one."')).toBeVisible();
});

test('an event, from outside to a receiver, which fails at first', async ({ page }) => {
  let status = 503;
  const server = createServer((_, response) => response.writeHead(status).end()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const source = `github-${unique()}`;
  await connect(page, source, 'reader', async () => {
    await page.getByLabel('URL').fill(`http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/merged`);
  });
  await open(page, '#/events/channels/new');
  await page.getByLabel('Name').fill(source);
  await page.getByLabel('Source', { exact: true }).fill(source);
  await page.getByLabel('The sender signs its bodies').check();
  await page.getByRole('button', { name: 'GitHub' }).click();
  await page.getByRole('button', { name: 'Create the channel' }).click();
  await expect(page.getByText('Signing secret — shown once')).toBeVisible();
  await send(page, { action: 'closed', pull_request: { number: 7, merged: true }, repository: { full_name: 'acme/horses' } });
  const row = page.getByRole('table', { name: 'Deliveries' }).getByRole('row').nth(1);
  await expect(row).toContainText('retrying');
  status = 200;
  // The first pause is five seconds.
  await expect(row).toContainText('succeeded', { timeout: 30_000 });
  await row.getByRole('link', { name: /^Delivery of/ }).click();
  const dialog = page.getByRole('dialog', { name: 'Delivery' });
  await expect(dialog.getByText('answered 503')).toBeVisible();
  await expect(dialog.getByText('answered 200')).toBeVisible();
  server.close();
});

test('an event starts a process, whose definition stands in the subscription', async ({ page }) => {
  const source = `shop-${unique()}`;
  const definition = {
    document: { dsl: '1.0.0', namespace: 'shop', name: 'order', version: '1.0.0' },
    do: [
      { size: { switch: [{ large: { when: '${ .order.total > 1000 }', then: 'review' } }, { other: { then: 'accept' } }] } },
      { review: { set: { order: '${ .order.id }', decision: 'review' }, then: 'end' } },
      { accept: { set: { order: '${ .order.id }', decision: 'accepted' } } },
    ],
  };
  await connect(page, source, 'executor', async () => {
    await page.getByRole('radio', { name: 'Process' }).check();
    await page.getByRole('radio', { name: 'A definition in this subscription' }).check();
    await editor(page, 'Definition').fill(JSON.stringify(definition));
    await editor(page, 'Data').fill('{"order": "$event.details.payload"}');
  });
  await createChannel(page, source);
  await send(page, { action: 'order_placed', id: 'A-17', total: 1250 });
  await openRun(page);
  await expect(page.locator('main').getByText('completed', { exact: true }).first()).toBeVisible();
  await page.getByRole('link', { name: 'Input and result' }).click();
  await expect(page.getByLabel('Result', { exact: true })).toContainText('"review"');
});

test('an event starts an agent, which is read as a conversation', async ({ browser }) => {
  const model = spawn(`${programs}/millrace`, ['ops', 'model', '--port', '0'], { env: programEnvironment(), stdio: ['ignore', 'pipe', 'inherit'] });
  const [said] = (await once(model.stdout, 'data')) as [Buffer];
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(said.toString())?.[0] ?? '';
  const runner = await Runner.start({ MILLRACE_MODEL_PROVIDER: 'openai', MILLRACE_MODEL: 'stand-in', MILLRACE_MODEL_BASE_URL: `${url}/v1` });
  const page = await browser.newPage();
  try {
    await signIn(page, runner.origin);
    const source = `mail-${unique()}`;
    await connect(page, source, 'executor', async () => {
      await page.getByLabel('A condition in words').check();
      await page.getByLabel('Instruction').fill('The customer complains.');
      await page.getByRole('radio', { name: 'Agent' }).check();
      await editor(page, 'Data').fill('{"text": "$event.details.payload.text"}');
    });
    await createChannel(page, source);
    await send(page, { text: 'My parcel is late.' });
    const row = page.getByRole('table', { name: 'Deliveries' }).getByRole('row').nth(1);
    await expect(row).toContainText('succeeded');
    await row.getByRole('link', { name: /^Delivery of/ }).click();
    await expect(page.getByRole('dialog', { name: 'Delivery' })).toContainText('A stand-in agrees with every condition.');
    await page.keyboard.press('Escape');
    await openRun(page);
    await page.getByRole('link', { name: 'Conversation', exact: true }).click();
    await expect(page.getByText('The stand-in was told: Published.')).toBeVisible();
  } finally {
    await page.close();
    await runner.remove();
    model.kill();
  }
});

test('the audit trail, and usage by day', async ({ page }) => {
  const source = `documents-${unique()}`;
  const data = { pipeline: source, page_count: '${ .document.pages }', property_count: 12, verdict: 'needs_review' };
  const event = { source: 'tour', type: 'content.document_processed', subject: '${ .document.id }', data };
  const definition = { document: { dsl: '1.0.0', namespace: 'tour', name: source, version: '1.0.0' }, do: [{ tell: { emit: { event: { with: event } } } }] };
  const subscription = await connect(page, source, 'executor', async () => {
    await page.getByRole('radio', { name: 'Process' }).check();
    await page.getByRole('radio', { name: 'A definition in this subscription' }).check();
    await editor(page, 'Definition').fill(JSON.stringify(definition));
    await editor(page, 'Data').fill('{"document": "$event.details.payload"}');
  });
  await createChannel(page, source);
  for (const pages of [3, 5, 11]) {
    await editor(page, 'Body of the event').fill(JSON.stringify({ action: 'arrived', id: `invoice-${pages}`, pages }));
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await expect(page.getByRole('link', { name: 'Its deliveries' })).toBeVisible();
  }
  await screen(page, 'Audit');
  await expect(page.getByRole('row').filter({ hasText: subscription })).toBeVisible();
  await page.getByRole('link', { name: 'Usage' }).click();
  const own = page.getByRole('region', { name: 'Build your own' });
  const fill = async (label: string, text: string) => {
    await own.getByLabel(label).fill(text);
    await own.getByLabel(label).blur();
  };
  await own.getByLabel('Dimension 1', { exact: true }).selectOption({ label: 'a detail' });
  await fill('Dimension 1: path in the details', 'pipeline');
  await fill('Actions', 'document_processed');
  await own.getByRole('button', { name: 'Add a detail' }).click();
  await fill('Detail 1: path', 'pipeline');
  await fill('Detail 1: values, separated by commas', source);
  const row = own.getByRole('table', { name: 'Numbers of your own question' }).getByRole('row').last();
  await expect(row).toContainText(source, { timeout: 30_000 });
  // Three documents of 19 pages.
  await expect(row).toContainText('19', { timeout: 30_000 });
});

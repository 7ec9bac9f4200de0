import type { Page } from '@playwright/test';

import { expect, open, test } from './console';

const unique = () => Math.random().toString(36).slice(2, 10);

type Api = (method: string, path: string, body?: unknown) => Promise<{ rows: { metrics: Record<string, number> }[] }>;

/** Starts runs whose events carry meters, and waits until these count. */
async function processDocuments(ops: (...args: string[]) => unknown, api: Api, pipeline: string, pages: number[]) {
  for (const count of pages) {
    const details = JSON.stringify({ pipeline, page_count: count, property_count: 2, verdict: 'needs_review' });
    ops('run', 'start', 'ProcessDocument', `document_id=${pipeline}-${count}`, `details:=${details}`);
  }
  const filter = { details: [{ field: 'pipeline', values: [pipeline] }] };
  const count = { filter, metrics: [{ id: 'events', operation: 'count' }] };
  await expect.poll(async () => (await api('POST', '/audit-trail/aggregate', count)).rows[0]?.metrics['events']).toBe(pages.length);
}

/** Signs in as a caller with these permissions; the page reads them from the token, and answers are faked. */
async function signInWith(page: Page, permissions: string[]) {
  const claims = { sub: 'limited', account_id: 'acme', project_id: 'demo', roles: [], permissions };
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.locator('#token').fill(`${part({ alg: 'none' })}.${part(claims)}.x`);
  await page.getByRole('button', { name: /with this token/ }).click();
}

const numbers = (page: Page, heading: string) => page.getByRole('region', { name: heading }).getByText('Numbers').first();

test('a change is in the trail and leads to its resource, and usage counts an event', { tag: '@smoke' }, async ({ page, api, ops }) => {
  const { id } = await api('POST', '/prompts', { name: unique(), role: 'user', content_type: 'text', content: 'x' });
  await processDocuments(ops, api, unique(), [3]);
  await open(page, `#/audit?resourceId=${id}`);
  const row = page.getByRole('row').filter({ hasText: id });
  await expect(row).toContainText('create');
  await expect(row).toContainText('201 done');
  await row.getByRole('button', { name: /^Record/ }).click();
  await expect(page.getByRole('dialog')).toContainText('"audit"');
  await page.getByRole('button', { name: 'Close' }).click();
  await row.getByRole('link', { name: id }).click();
  expect(page.url()).toContain(`#/prompts/${id}`);

  await open(page, '#/audit/usage?range=7');
  await expect(page.getByText(/\d+ events in all\./)).toBeVisible();
  await numbers(page, 'Most frequent actions').click();
  await expect(page.getByRole('table', { name: 'Numbers of: Events by action' })).toContainText('document_processed');
});

test('every filter is in the address and in the request', async ({ page }) => {
  await open(page, '#/audit');
  await page.getByText('Filters', { exact: true }).click();
  await page.getByRole('checkbox', { name: 'bulk update' }).check();
  await page.getByRole('checkbox', { name: 'delete', exact: true }).check();
  await page.getByRole('checkbox', { name: 'data store' }).check();
  await page.getByRole('textbox', { name: 'Another of: Resource types' }).fill('something_new');
  await page.getByRole('button', { name: 'Add' }).click();
  await page.getByLabel('Resource id').fill('r 1');
  await page.getByLabel('User id').fill('dev');
  await page.getByLabel('API key, run or service id').fill('key&1');
  await page.getByLabel('From').fill('2026-11-01T10:00:00');
  const sent = page.waitForRequest((request) => request.url().includes('to=2026'));
  await page.getByLabel('To', { exact: true }).fill('2026-11-02T10:00:00');
  await page.getByLabel('To', { exact: true }).blur();
  const query = new URL((await sent).url()).searchParams;
  expect(query.getAll('actions')).toEqual(['bulk_update', 'delete']);
  expect(query.getAll('resourceTypes')).toEqual(['data_store', 'something_new']);
  expect([query.get('resourceId'), query.get('principalUserId'), query.get('principalId')]).toEqual(['r 1', 'dev', 'key&1']);
  expect(query.get('from')).toMatch(/^2026-1[01]-\d\dT/);
  await expect(page.getByRole('heading', { name: 'No record matches' })).toBeVisible();

  const address = page.url();
  await open(page, '#/audit/usage');
  await open(page, address.slice(address.indexOf('#')));
  await expect(page.getByRole('checkbox', { name: 'something new' })).toBeChecked();
  await expect(page.getByLabel('From')).toHaveValue(/^2026-11-01T10:00(:00)?$/);
  await page.getByRole('button', { name: 'Clear the filters' }).click();
  await expect(page.getByRole('checkbox', { name: 'bulk update' })).not.toBeChecked();
  expect(page.url()).toMatch(/#\/audit$/);
});

test('the trail is read in pages that do not move', async ({ page, api }) => {
  const { id } = await api('POST', '/prompts', { name: unique(), role: 'user', content_type: 'text', content: 'x' });
  for (let update = 0; update < 54; update += 1) await api('PUT', `/prompts/${id}`, {});
  await page.waitForTimeout(1_500);
  await open(page, `#/audit?resourceId=${id}`);
  await expect(page.getByText('1 to 50, the newest first')).toBeVisible();
  await page.getByRole('link', { name: 'Older' }).click();
  await expect(page.getByText('51 to 55, the newest first')).toBeVisible();
  await api('PUT', `/prompts/${id}`, {});
  await page.waitForTimeout(1_500);
  const address = page.url();
  await open(page, '#/audit/usage');
  await open(page, address.slice(address.indexOf('#')));
  await expect(page.getByText('51 to 55, the newest first')).toBeVisible();
  await expect(page.getByRole('link', { name: 'Older' })).toBeHidden();
  await page.getByRole('link', { name: 'Newer' }).click();
  await expect(page.getByText('1 to 50, the newest first')).toBeVisible();
  expect(page.url()).not.toContain('until');
});

test('a refusal is in the trail, and a refused filter is said in words of the API', async ({ page, api }) => {
  const { id } = await api('POST', '/prompts', { name: unique(), role: 'user', content_type: 'handlebars', content: 'x' });
  await api('PUT', `/prompts/${id}`, { content: '{{name}' }).catch(() => {});
  await open(page, `#/audit?resourceId=${id}`);
  await expect(page.getByText('400 refused')).toBeVisible();
  await open(page, '#/audit?actions=burn');
  await expect(page.getByRole('alert')).toContainText('burn');
});

test('hostile records are shown as text', async ({ page }) => {
  const record = {
    id: 'a-1', event_type: 'audit', action: 'update', resource_type: '<img src=x onerror=alert(1)>', resource_id: '../../x?y#z', timestamp: '2026-11-01T00:00:00Z',
    request_id: '"><script>alert(1)</script>', status: 500, success: false, principal_type: null, roles: Array.from({ length: 100 }, (_, role) => `role-${role}`),
  };
  const events = [record, ...Array.from({ length: 49 }, (_, index) => ({ ...record, id: `b-${index}`, resource_type: 'prompt' }))];
  await page.route('**/api/v1/audit-trail?**', (route) => route.fulfill({ json: { events, hasNext: false, limit: 50, offset: 0 } }));
  await open(page, '#/audit');
  await expect(page.getByText('<img src=x onerror=alert(1)>')).toBeVisible();
  const link = page.getByRole('link', { name: '../../x?y#z' }).first();
  await expect(link).toHaveAttribute('href', '#/prompts/..%2F..%2Fx%3Fy%23z');
});

test('a run of a record is found', async ({ page, ops }) => {
  ops('run', 'start', 'ProcessDocument', `document_id=${unique()}`, 'details:={"pipeline":"p"}');
  await open(page, '#/audit?resourceTypes=workflow&actions=create');
  await page.getByRole('button', { name: /^Open the run/ }).first().click();
  await expect.poll(() => page.url()).toMatch(/#\/runs\/[^/]+\/[^/]+$/);
});

test('meters are added up and averaged, empty days included', async ({ page, api, ops }) => {
  await processDocuments(ops, api, unique(), [2, 4]);
  await open(page, '#/audit/usage?range=7&meter=processing%2Fpages');
  await numbers(page, 'Meters').click();
  const table = page.getByRole('table', { name: /^Numbers of: Sum of processing/ });
  await expect(table.getByRole('row')).toHaveCount(8);
  await expect(table.getByRole('row').nth(1)).toContainText('0');
  await page.getByRole('region', { name: 'Meters' }).getByRole('combobox', { name: 'Meter' }).selectOption({ label: 'review / issues' });
  await expect.poll(() => page.url()).toContain('meter=review%2Fissues');
  await page.getByRole('region', { name: 'Meters' }).getByRole('combobox', { name: 'Meter' }).selectOption({ label: 'Another…' });
  await page.getByLabel('Category of the meter').fill('own/one');
  await page.getByLabel('Category of the meter').blur();
  await expect.poll(() => page.url()).toContain('own%252Fone');
});

test('range and resolution are in the address, and what the API refuses is not asked for', async ({ page }) => {
  await open(page, '#/audit/usage');
  await page.getByLabel('Time').selectOption({ label: 'Last 90 days' });
  await page.getByLabel('By', { exact: true }).selectOption('week');
  expect(page.url()).toContain('range=90');
  expect(page.url()).toContain('resolution=week');
  await page.getByLabel('Time').selectOption({ label: 'Own range' });
  await page.getByLabel('First day').fill('2026-01-01');
  await page.getByLabel('Last day').fill('2026-02-28');
  await expect(page.getByText('No event in this time.').first()).toBeVisible();
  await page.getByLabel('First day').fill('2026-05-01');
  await expect(page.getByRole('alert')).toHaveText('The first day is after the last one.');
  await page.getByLabel('First day').fill('2020-05-01');
  await expect(page.getByRole('alert')).toHaveText('A range has at most 366 days.');
  await open(page, '#/audit/usage?range=90&resolution=hour');
  await expect(page.getByRole('alert')).toContainText('By hour, a range has at most 41 days.');
});

test('a question of the own is answered with chart, table and request', async ({ page, api, ops }) => {
  const pipeline = `own-${unique()}`;
  await processDocuments(ops, api, pipeline, [3, 5]);
  await open(page, '#/audit/usage?range=7');
  const own = page.getByRole('region', { name: 'Build your own' });
  await own.getByLabel('Dimension 1', { exact: true }).selectOption({ label: 'a detail' });
  await own.getByLabel('Dimension 1: path in the details').fill('pipeline');
  await own.getByLabel('Dimension 1: path in the details').blur();
  await own.getByLabel('Actions').fill('document_processed');
  await own.getByLabel('Actions').blur();
  await own.getByRole('button', { name: 'Add a detail' }).click();
  await own.getByLabel('Detail 1: path').fill('pipeline');
  await own.getByLabel('Detail 1: path').blur();
  await own.getByLabel('Detail 1: values, separated by commas').fill(`${pipeline}, other`);
  await own.getByLabel('Detail 1: values, separated by commas').blur();
  const table = own.getByRole('table', { name: 'Numbers of your own question' });
  await expect(table.getByRole('row')).toHaveCount(2);
  await expect(table.getByRole('row').last()).toContainText(pipeline);
  await expect(table.getByRole('row').last()).toContainText('8');
  await own.getByRole('button', { name: 'Add a dimension' }).click();
  await expect(table.getByRole('row').last()).toContainText(/2026-|20\d\d-/);
  await own.getByText('Request as JSON').click();
  await expect(own.locator('pre')).toContainText('"dimension": "details.pipeline"');

  await own.getByRole('button', { name: 'Add a number' }).click();
  await own.getByLabel('Number 3', { exact: true }).selectOption({ label: 'number of different values' });
  await own.getByLabel('Number 3: field').fill('nonsense');
  await own.getByLabel('Number 3: field').blur();
  await expect(own.getByRole('alert')).toContainText('nonsense');
  await own.getByRole('button', { name: 'Take away number 3' }).click();
  await expect(own.getByRole('alert')).toBeHidden();
  expect(page.url()).toContain('own=');
});

test('an address with nonsense is no error', async ({ page }) => {
  await open(page, '#/audit/usage?range=x&resolution=y&meter=%25&own=%7B%22measures%22%3A3%2C%22dimensions%22%3A%5B7%5D%7D');
  await expect(page.getByRole('region', { name: 'Build your own' }).getByRole('table')).toBeVisible();
});

test('a caller with audit:read alone sees usage and no trail', async ({ page }) => {
  const answer = { rows: [], from: '2026-11-01T00:00:00Z', to: '2026-11-02T00:00:00Z', truncated: false };
  await page.route('**/api/v1/audit-trail/**', (route) => route.fulfill({ json: answer }));
  await signInWith(page, ['audit:read']);
  await open(page, '#/audit');
  await expect(page.getByRole('heading', { name: 'Events by category' })).toBeVisible();
  await expect(page.getByRole('link', { name: 'Trail' })).toHaveCount(0);
  await expect(page.getByLabel('Project')).toHaveCount(0);
  await expect(page.getByText('No event matches.')).toBeVisible();
});

test('an administrator of the account chooses a project', async ({ page }) => {
  const asked: string[] = [];
  await page.route('**/api/v1/audit-trail**', (route) => {
    asked.push(route.request().url());
    return route.fulfill({ json: { events: [], hasNext: false, limit: 50, offset: 0 } });
  });
  await signInWith(page, ['account:admin']);
  await open(page, '#/audit');
  await page.getByText('Filters', { exact: true }).click();
  await page.getByLabel('Project id').fill('other');
  await page.getByLabel('Project id').press('Enter');
  await expect.poll(() => asked.at(-1)).toContain('projectId=other');
});

/** What holds for every screen: accessibility, both colour schemes, a narrow window, large data. */

import AxeBuilder from '@axe-core/playwright';

import { expect, open, signIn, test, unique, type Api } from './console';

interface Filled {
  views: [string, string][];
}

let filled: Promise<Filled> | undefined;

/** Makes something to show on each screen, once for each worker. */
function fill(api: Api, ops: (...args: string[]) => Promise<string>): Promise<Filled> {
  filled ??= (async () => {
    const id = `whole-${unique()}`;
    await ops('run', 'start', 'Approval', '--id', id, 'title=Buy a horse');
    await ops('run', 'start', 'ProcessDocument', 'document_id=invoice-1', 'details:={"pipeline":"invoices","page_count":11}');
    const { runs } = await api('POST', '/workflows/runs', { query: `WorkflowId = '${id}'` });
    const prompt = await api('POST', '/prompts', { name: 'Greeting', role: 'user', content_type: 'handlebars', content: 'Hello {{name}}!', test_data: { name: 'Ada' } });
    const store = await api('POST', '/data', { name: `Shop ${unique()}` });
    await api('POST', `/data/${store.id}/tables`, {
      tables: [
        { name: 'customers', columns: [{ name: 'id', type: 'BIGINT', primary_key: true }, { name: 'city', type: 'STRING' }] },
        { name: 'orders', columns: [{ name: 'id', type: 'BIGINT', primary_key: true }, { name: 'customer_id', type: 'BIGINT' }] },
      ],
    });
    await api('PUT', `/data/${store.id}/schema`, { relationships: [{ from: 'orders.customer_id', to: 'customers.id', type: 'many-to-one' }] });
    await api('POST', `/data/${store.id}/import`, { tables: { customers: { source: 'inline', data: [{ id: 1, city: 'Lisbon' }] } } });
    const subscription = await api('POST', '/events/subscriptions', {
      name: 'Merged',
      run_as_role: 'reader',
      filter: { event_category: ['external'] },
      target: { type: 'workflow', endpoint: 'Approval' },
    });
    const channel = await api('POST', '/events/channels', { name: 'GitHub', source: 'github' });
    return {
      views: [
        ['Runs', '#/runs'],
        [id, `#/runs/${id}/${runs[0].run_id}`],
        ['Events', '#/events'],
        ['Events', '#/events/subscriptions'],
        ['Merged', `#/events/subscriptions/${subscription.id}`],
        ['GitHub', `#/events/channels/${channel.id}`],
        ['Data', '#/data'],
        [store.name, `#/data/${store.id}/query`],
        [store.name, `#/data/${store.id}/schema`],
        [store.name, `#/data/${store.id}/import`],
        [store.name, `#/data/${store.id}/versions`],
        ['Prompts', '#/prompts'],
        ['Greeting', `#/prompts/${prompt.id}`],
        ['Audit', '#/audit'],
        ['Audit', '#/audit/usage'],
      ],
    };
  })();
  return filled;
}

for (const colorScheme of ['light', 'dark'] as const) {
  test(`axe finds no violation in the ${colorScheme} colours`, async ({ page, api, ops }) => {
    test.slow();
    const { views } = await fill(api, ops);
    await page.emulateMedia({ colorScheme });
    const found: string[] = [];
    for (const [title, address] of views) {
      await open(page, address);
      await expect(page.getByRole('heading', { level: 1, name: title })).toBeVisible();
      await page.waitForLoadState('networkidle').catch(() => undefined);
      const { violations } = await new AxeBuilder({ page }).withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']).analyze();
      for (const { id, nodes } of violations) found.push(`${address}: ${id}: ${nodes.map((node) => node.html.slice(0, 160)).slice(0, 3).join(' | ')}`);
    }
    expect(found).toEqual([]);
  });
}

test('no screen is wider than a window of 360 pixels', async ({ page, api, ops }) => {
  const { views } = await fill(api, ops);
  await page.setViewportSize({ width: 360, height: 740 });
  const wide: string[] = [];
  for (const [title, address] of views) {
    await open(page, address);
    await expect(page.getByRole('heading', { level: 1, name: title })).toBeVisible();
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    if (width > 360) wide.push(`${address}: ${width}`);
  }
  expect(wide).toEqual([]);
});

test('the console comes back after the service was killed', async ({ browser }) => {
  const { Runner } = await import('./runner');
  const runner = await Runner.start();
  const page = await browser.newPage();
  try {
    await signIn(page, runner.origin);
    await expect(page.getByText('No run yet')).toBeVisible();
    await runner.kill();
    await expect(page.getByText('The service cannot be reached')).toBeVisible();
    await runner.up();
    await expect(page.getByText('The service cannot be reached')).toHaveCount(0);
    await runner.ops('run', 'start', 'Approval', '--id', 'after', 'title=Back');
    await expect(page.getByRole('link', { name: 'after' })).toBeVisible();
  } finally {
    await page.close();
    await runner.remove();
  }
});

test('2,000 tables leave the document small', async ({ page, api }) => {
  test.slow();
  const store = await api('POST', '/data', { name: `Large ${unique()}` });
  for (let from = 0; from < 2_000; from += 500) {
    const tables = Array.from({ length: 500 }, (_, index) => ({ name: `t${from + index}`, columns: [{ name: 'id', type: 'BIGINT' }] }));
    await api('POST', `/data/${store.id}/tables`, { tables });
  }
  await open(page, `#/data/${store.id}/schema`);
  await expect(page.getByRole('heading', { level: 1, name: store.name })).toBeVisible();
  await expect(page.getByText('t0', { exact: true }).first()).toBeVisible();
  // What is in the document stays small, whatever the schema has.
  expect(await page.evaluate(() => document.querySelectorAll('*').length)).toBeLessThan(20_000);
});

test('10 MB of JSON are a tree that opens on demand', async ({ page, api, ops }) => {
  const id = `large-${unique()}`;
  await ops('run', 'start', 'Approval', '--id', id, 'title=<b>Large</b>');
  const { runs } = await api('POST', '/workflows/runs', { query: `WorkflowId = '${id}'` });
  const path = `${id}/${runs[0].run_id}`;
  const run = await api('GET', `/workflows/runs/${path}`);
  const entries = Array.from({ length: 60_000 }, (_, index) => ({ id: index, name: `<b>${index}</b>`, text: 'x'.repeat(120) }));
  const body = JSON.stringify({ ...run, status: 'COMPLETED', result: { entries, text: 'y'.repeat(1_000_000) } });
  expect(body.length).toBeGreaterThan(10_000_000);
  await page.route(`**/workflows/runs/${path}*`, (route) => route.fulfill({ body, contentType: 'application/json' }));
  await open(page, `#/runs/${path}?tab=payloads`);
  const result = page.getByLabel('Result', { exact: true });
  await expect(result.getByText('[60000]')).toBeVisible();
  await result.getByRole('button', { name: 'Show more of 60,000' }).click();
  await expect(result.getByText('1099', { exact: true })).toBeVisible();
  await expect(result.getByText('Show all 1,000,000 characters')).toBeVisible();
  expect(await page.evaluate(() => document.querySelectorAll('*').length)).toBeLessThan(20_000);
});

test('of 100,000 runs only those in sight are in the document', async ({ page }) => {
  const at = Date.parse('2026-11-01T00:00:00Z');
  const run = (index: number) => ({
    workflow_id: `w-${index}`, run_id: `r-${String(index).padStart(6, '0')}`, type: 'Steps', status: 'COMPLETED', initiated_by: 'user:dev',
    started_at: new Date(at - index).toISOString(), closed_at: new Date(at).toISOString(), execution_duration: 1, visibility: 'public', memo: {},
  });
  await page.route('**/api/v1/workflows/runs', (route) => {
    const { next_page_token: token } = route.request().postDataJSON() as { next_page_token?: string };
    const from = Number(token ?? 0);
    const runs = Array.from({ length: from === 0 ? 50 : 1_000 }, (_, index) => run(from + index)).filter((_, index) => from + index < 100_000);
    const next = from + runs.length;
    return route.fulfill({ json: { runs, has_more: next < 100_000, ...(next < 100_000 && { next_page_token: String(next) }) } });
  });
  await open(page, '#/runs?type=Steps');
  const table = page.getByRole('table', { name: 'Runs' });
  for (let pages = 0; pages < 100; pages += 1) {
    const count = await table.getAttribute('aria-rowcount');
    await page.getByRole('button', { name: 'Show more' }).click();
    await expect(table).not.toHaveAttribute('aria-rowcount', count ?? '');
  }
  await expect(page.getByText('100,000 runs')).toBeVisible();
  await table.evaluate((element) => (element.scrollTop = element.scrollHeight));
  await expect(table.getByRole('link', { name: 'w-99999' })).toBeVisible();
  expect(await table.getByRole('row').count()).toBeLessThan(80);
});

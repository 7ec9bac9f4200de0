import { expect, open, test, unique, type Api } from './console';

async function storeWith(api: Api, rows: Record<string, unknown>[], columns: Record<string, unknown>[]): Promise<string> {
  const { id } = await api('POST', '/data', { name: `Store ${unique()}` });
  await api('POST', `/data/${id}/tables`, { tables: [{ name: 'orders', columns }] });
  for (let from = 0; from < rows.length; from += 5_000) {
    await api('POST', `/data/${id}/import`, { tables: { orders: { source: 'inline', data: rows.slice(from, from + 5_000) } } });
  }
  return id;
}

const COLUMNS = [
  { name: 'id', type: 'BIGINT', primary_key: true },
  { name: 'city', type: 'STRING' },
  { name: 'amount', type: 'DECIMAL(10,2)' },
];
const ROWS = Array.from({ length: 20 }, (_, id) => ({ id, city: ['Lisbon', 'Kyoto', 'Quito'][id % 3], amount: id * 1.5 }));

test('a store is made, filled, asked, drawn and saved as a dashboard', { tag: '@smoke' }, async ({ page, api }) => {
  const name = `Sales ${unique()}`;
  await open(page, '#/data');
  await page.getByRole('button', { name: 'Create data store' }).click();
  await page.getByRole('dialog').getByLabel('Name').fill(name);
  await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
  await expect(page.getByRole('heading', { level: 1, name })).toBeVisible();
  const [, id] = /data\/([^/?]+)/.exec(page.url()) ?? [];
  await api('POST', `/data/${id}/tables`, { tables: [{ name: 'orders', columns: COLUMNS }] });
  await page.getByRole('link', { name: 'Import' }).click();
  await page.locator('input[type=file]').setInputFiles({ name: 'orders.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(ROWS)) });
  await page.getByRole('button', { name: 'Import', exact: true }).click();
  await expect(page.getByText('20 rows are in orders.')).toBeVisible();
  await page.getByRole('link', { name: 'Query', exact: true }).click();
  await page.getByRole('textbox', { name: 'SQL statement' }).fill('SELECT city, sum(amount)::DOUBLE AS total FROM orders GROUP BY city ORDER BY city');
  await page.keyboard.press('Control+Enter');
  await expect(page.getByRole('cell', { name: 'Kyoto' })).toBeVisible();
  await page.getByRole('button', { name: 'Chart' }).click();
  await expect(page.getByRole('img', { name: 'Chart of total by city' }).locator('canvas')).toBeVisible();
  await page.getByRole('button', { name: 'Save as a dashboard' }).click();
  await page.getByRole('dialog').getByLabel('Name').fill('Cities');
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await expect(page.getByRole('img', { name: 'Chart of the dashboard Cities' }).locator('canvas')).toBeVisible();
});

test('an error of a statement is marked, and a statement that changes data is refused', async ({ page, api, allowErrors }) => {
  allowErrors(/400/);
  const id = await storeWith(api, ROWS, COLUMNS);
  await open(page, `#/data/${id}/query`);
  const statement = page.getByRole('textbox', { name: 'SQL statement' });
  await statement.fill('SELECT town FROM orders');
  await expect(page.locator('.cm-lintRange-error').first()).toBeVisible();
  await statement.fill('DELETE FROM orders');
  await page.getByRole('button', { name: 'Run' }).click();
  await expect(page.getByText('Only SELECT statements are allowed').first()).toBeVisible();
});

test('a faulty file is refused whole, with its rows', async ({ page, api, allowErrors }) => {
  allowErrors(/4\d\d/);
  const id = await storeWith(api, [], COLUMNS);
  await open(page, `#/data/${id}/import`);
  const file = [{ id: 1, city: 'Lisbon', amount: 3 }, { id: 2, city: 'Kyoto', amount: 'twelve' }];
  await page.locator('input[type=file]').setInputFiles({ name: 'mistake.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(file)) });
  await page.getByRole('button', { name: 'Import', exact: true }).click();
  await expect(page.getByRole('alert').getByRole('cell', { name: 'twelve', exact: true })).toBeVisible();
  await page.locator('input[type=file]').setInputFiles({ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('x') });
  await expect(page.getByText('The name must end in')).toBeVisible();
});

test('a CSV file is uploaded past the API, and imported as it is', async ({ page, api }) => {
  const id = await storeWith(api, [], [{ name: 'id', type: 'STRING' }, { name: 'note', type: 'STRING' }]);
  await open(page, `#/data/${id}/import`);
  const lines = Array.from({ length: 150_000 }, (_, index) => `00${index},"a, ""quoted"" note of some length"`);
  await page.locator('input[type=file]').setInputFiles({ name: 'large.csv', mimeType: 'text/csv', buffer: Buffer.from(`id,note\n${lines.join('\n')}\n`) });
  await page.getByRole('button', { name: 'Import', exact: true }).click();
  await expect(page.getByText('150,000 rows are in orders.')).toBeVisible({ timeout: 50_000 });
  const answer = await api('POST', `/data/${id}/query`, { sql: "SELECT note FROM orders WHERE id = '007'" });
  expect(answer.rows).toEqual([['a, "quoted" note of some length']]);
});

test('two versions are compared, and the earlier one is restored', async ({ page, api }) => {
  const id = await storeWith(api, ROWS, COLUMNS);
  await api('POST', `/data/${id}/import`, { mode: 'replace', tables: { orders: { source: 'inline', data: ROWS.slice(0, 1) } } });
  await open(page, `#/data/${id}/versions`);
  const rows = page.locator('tbody tr');
  await rows.nth(1).getByRole('radio', { name: /from/ }).check();
  await rows.nth(0).getByRole('radio', { name: /to/ }).check();
  const difference = page.getByRole('region', { name: 'Difference of the versions' });
  await expect(difference.getByRole('row', { name: 'orders 20 1 -19' })).toBeVisible();
  await rows.nth(1).getByRole('button', { name: 'Roll back' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Roll back' }).click();
  await expect(page.getByText(/^Rolled back to/)).toBeVisible();
  await page.getByRole('button', { name: 'Make a snapshot' }).click();
  await page.getByRole('dialog').getByLabel('Name').fill('good');
  await page.getByRole('dialog').getByRole('button', { name: 'Make it' }).click();
  await expect(page.getByText('good', { exact: true })).toBeVisible();
});

test('a specification loads no address and runs no script', async ({ page, api, allowErrors }) => {
  allowErrors(/nothing from another address|Content Security Policy/);
  const id = await storeWith(api, ROWS, COLUMNS);
  const asked: string[] = [];
  page.on('request', (request) => asked.push(request.url()));
  const dashboard = await api('POST', `/data/${id}/dashboards`, {
    name: '<img src=x onerror=alert(1)>',
    query: 'SELECT city, count(*) AS orders FROM orders GROUP BY city',
    spec: {
      mark: { type: 'image', width: 20, height: 20 },
      encoding: {
        x: { field: 'city', type: 'nominal' },
        y: { field: 'orders', type: 'quantitative' },
        url: { value: 'https://evil.example/pixel.png' },
        href: { value: 'javascript:window.hit=1' },
        tooltip: { value: '<img src=x onerror="window.hit=1">' },
      },
    },
  });
  await open(page, `#/data/${id}/dashboards/${dashboard.id}`);
  await expect(page.getByRole('heading', { name: /onerror/ })).toBeVisible();
  await page.waitForLoadState('networkidle');
  expect(asked.filter((url) => url.includes('evil.example'))).toEqual([]);
  expect(await page.evaluate(() => 'hit' in window)).toBe(false);
});

import type { Page } from '@playwright/test';

import { expect, open, test, unique, type Api } from './console';

type Definition = Record<string, unknown>;

const COLUMNS = [
  { name: 'id', type: 'BIGINT', primary_key: true },
  { name: 'city', type: 'STRING' },
  { name: 'amount', type: 'DECIMAL(10,2)' },
];
const ROWS = Array.from({ length: 20 }, (_, id) => ({ id, city: ['Lisbon', 'Kyoto', 'Quito'][id % 3], amount: id * 1.5 }));

/** A store with a table `orders`. */
async function storeWith(api: Api, rows: Definition[] = ROWS, columns: Definition[] = COLUMNS): Promise<string> {
  const { id } = await api('POST', '/data', { name: `Store ${unique()}` });
  await api('POST', `/data/${id}/tables`, { tables: [{ name: 'orders', columns }] });
  if (rows.length > 0) await fill(api, id, 'orders', rows);
  return id;
}

const fill = (api: Api, store: string, table: string, data: Definition[], mode = 'append') =>
  api('POST', `/data/${store}/import`, { mode, tables: { [table]: { source: 'inline', data } } });

/** A text field stands in the place of the editor until its code is loaded. */
const statement = (page: Page) => page.locator('.cm-content').and(page.getByRole('textbox', { name: 'SQL statement' }));

async function ask(page: Page, sql: string): Promise<void> {
  await statement(page).fill(sql);
  await page.keyboard.press('Control+Enter');
}

function choose(page: Page, name: string, text: string): Promise<void> {
  return page.getByLabel('Choose a file').setInputFiles({ name, mimeType: 'text/plain', buffer: Buffer.from(text) });
}

const importButton = (page: Page) => page.getByRole('button', { name: 'Import', exact: true });

test('a store is made, filled, asked, drawn and saved as a dashboard', { tag: '@smoke' }, async ({ page }) => {
  const name = `Sales ${unique()}`;
  await open(page, '#/data');
  await page.getByRole('button', { name: 'Create data store' }).click();
  await page.getByRole('dialog').getByLabel('Name').fill(name);
  await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
  await expect(page.getByRole('heading', { level: 1, name })).toBeVisible();
  await expect(page.getByRole('heading', { name: 'No table yet' })).toBeVisible();
  await page.getByRole('link', { name: 'Import', exact: true }).click();
  await choose(page, 'orders.json', JSON.stringify(ROWS));
  await expect(page.getByLabel('Name of the new table')).toHaveValue('orders');
  await importButton(page).click();
  await expect(page.getByText('Imported 20 rows into orders.')).toBeVisible();
  await page.getByRole('link', { name: 'Query', exact: true }).click();
  await ask(page, 'SELECT city, sum(amount)::DOUBLE AS total FROM orders GROUP BY city ORDER BY city');
  await expect(page.getByRole('cell', { name: 'Kyoto' })).toBeVisible();
  await page.getByRole('button', { name: 'Chart', exact: true }).click();
  await expect(page.getByRole('img', { name: 'Chart of total by city' }).locator('canvas')).toBeVisible();
  await page.getByRole('button', { name: 'Save as a dashboard' }).click();
  await page.getByRole('dialog').getByLabel('Name').fill('Cities');
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await expect(page.getByRole('img', { name: 'Chart of the dashboard Cities' }).locator('canvas')).toBeVisible();
});

test('a store is found by its name, and archived after its name is typed', async ({ page, api }) => {
  const name = `<b>${unique()}</b>`;
  await api('POST', '/data', { name, description: 'x'.repeat(10_000) });
  await open(page, '#/data');
  await page.getByRole('searchbox', { name: 'Name' }).fill(name);
  await expect(page.getByRole('status').filter({ hasText: '1 data store' })).toBeVisible();
  await page.getByRole('button', { name: `Archive ${name}` }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Archive' }).click();
  await expect(dialog.getByRole('alert')).toContainText('Type the name');
  await dialog.getByLabel('Name of the data store').fill(name);
  await dialog.getByRole('button', { name: 'Archive' }).click();
  await expect(page.getByText('No data store has this name')).toBeVisible();
});

test('a name that is taken is refused, and the form keeps its text', async ({ page, api, allowErrors }) => {
  allowErrors(/409/);
  const name = `Taken ${unique()}`;
  await api('POST', '/data', { name });
  await open(page, '#/data');
  await page.getByRole('button', { name: 'Create data store' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill(name);
  await dialog.getByLabel('Description').fill('kept');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await expect(dialog.getByRole('alert')).toContainText('exists already');
  await expect(dialog.getByLabel('Description')).toHaveValue('kept');
});

test('an error of a statement is marked, and a statement that changes data is refused', async ({ page, api, allowErrors }) => {
  allowErrors(/400/);
  const id = await storeWith(api);
  await open(page, `#/data/${id}/query`);
  await statement(page).fill('SELECT id,\n  town FROM orders');
  await expect(page.locator('.cm-lintRange-error')).toHaveText('town');
  await statement(page).fill("SELECT '日本',\to.town FROM orders AS o");
  await expect(page.locator('.cm-lintRange-error')).toHaveText('o.town');
  await ask(page, 'DELETE FROM orders');
  await expect(page.getByRole('alert').filter({ hasText: 'Only SELECT statements are allowed' })).toBeVisible();
});

test('values of every type are shown as they are', async ({ page, api }) => {
  const id = await storeWith(api, [{ id: 1 }], [{ name: 'id', type: 'INTEGER' }]);
  await open(page, `#/data/${id}/query`);
  await ask(page, `SELECT 9007199254740993 AS big, 1.10::DECIMAL(5,2) AS money, NULL AS n, '' AS e, 'NULL' AS t, '{"a":{"b":1}}'::JSON AS j, '<img src=x>' AS markup, 1 AS twice, 2 AS twice`);
  const row = page.getByRole('table', { name: 'Rows of the answer' }).getByRole('row').nth(1);
  await expect(row.getByRole('cell')).toHaveText(['9007199254740993', '1.10', 'NULL', "''", 'NULL', '{"a":{"b":1}}', '<img src=x>', '1', '2']);
  await expect(row.locator('em')).toHaveCount(1);
  await expect(page.getByRole('columnheader', { name: /money/ })).toContainText('DECIMAL(5,2)');
  await row.getByRole('button').click();
  await expect(page.getByRole('dialog', { name: 'j' })).toContainText('b: 1');
  await page.keyboard.press('Escape');
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download CSV' }).click();
  const chunks: Buffer[] = [];
  for await (const chunk of await (await download).createReadStream()) chunks.push(chunk as Buffer);
  expect(Buffer.concat(chunks).toString()).toBe('big,money,n,e,t,j,markup,twice,twice\r\n9007199254740993,1.10,,"",NULL,"{""a"":{""b"":1}}",<img src=x>,1,2\r\n');
});

test('parameters take values of their type, and stand in the address', async ({ page, api }) => {
  const id = await storeWith(api);
  await open(page, `#/data/${id}/query`);
  await statement(page).fill("SELECT '{{no}}' AS text, city FROM orders -- {{neither}}\nWHERE id > {{least}} AND city IN ({{cities}}) LIMIT 1");
  await expect(page.getByLabel(/^Value of/)).toHaveCount(2);
  await page.getByLabel('Type of least').selectOption('number');
  await page.getByRole('button', { name: 'Run' }).click();
  await expect(page.getByText('Give a value to: least.')).toBeVisible();
  await page.getByLabel('Value of least').fill('9007199254740993');
  await expect(page.getByText('Choose text to send every digit.')).toBeVisible();
  await page.getByLabel('Value of least').fill('3');
  await page.getByLabel('Type of cities').selectOption('list');
  await page.getByLabel('Value of cities').fill('Kyoto\nQuito');
  await page.getByRole('button', { name: 'Run' }).click();
  await expect(page.getByRole('cell', { name: 'Kyoto' })).toBeVisible();
  const address = page.url();
  expect(decodeURIComponent(address)).toContain('"cities":["Kyoto","Quito"]');
  await page.reload();
  await page.getByRole('navigation', { name: 'Screens' }).waitFor();
  await expect(page.getByLabel('Value of cities')).toHaveValue('Kyoto\nQuito');
  await page.getByLabel('Recent').selectOption({ index: 1 });
  await expect(statement(page)).toContainText('city IN');
});

test('a query that runs is cancelled', async ({ page, api }) => {
  const id = await storeWith(api);
  await page.route('**/query', () => undefined);
  await open(page, `#/data/${id}/query`);
  await ask(page, 'SELECT 1');
  await page.getByRole('button', { name: 'Cancel' }).click();
  await expect(page.getByRole('button', { name: 'Run' })).toBeEnabled();
  await expect(page.getByRole('alert')).toHaveCount(0);
});

test('ten thousand rows scroll, and an answer says that it is cut', async ({ page, api }) => {
  const id = await storeWith(api);
  await open(page, `#/data/${id}/query`);
  await page.getByLabel('Limit').fill('10000');
  await ask(page, 'SELECT range AS n, range * 2 AS double, hash(range)::VARCHAR AS text FROM range(20000)');
  await expect(page.getByText('The statement has more rows than the limit;')).toBeVisible();
  const grid = page.getByRole('table', { name: 'Rows of the answer' });
  expect(await grid.getByRole('row').count()).toBeLessThan(60);
  await grid.evaluate((element) => (element.scrollTop = element.scrollHeight));
  await expect(grid.getByRole('cell', { name: '9999', exact: true })).toBeVisible();
});

test('tables are created, altered, related and dropped', async ({ page, api }) => {
  const { id } = await api('POST', '/data', { name: `Store ${unique()}` });
  await open(page, `#/data/${id}/schema`);
  await page.getByRole('button', { name: 'Create tables' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Table', { exact: true }).fill('customers');
  await dialog.getByRole('button', { name: 'Add column' }).click();
  const second = dialog.getByRole('group', { name: 'Column 2' });
  await second.getByLabel('Column', { exact: true }).fill('balance');
  await second.getByLabel('Type', { exact: true }).selectOption('DECIMAL');
  await second.getByLabel('Digits').fill('12');
  await second.getByLabel('Of these behind the point').fill('2');
  await dialog.getByRole('button', { name: 'Create', exact: true }).click();
  const detail = page.getByRole('region', { name: 'Table customers' });
  await expect(detail.getByRole('row', { name: /^balance DECIMAL\(12,2\) yes/ })).toBeVisible();

  await detail.getByRole('button', { name: 'Alter' }).click();
  const balance = dialog.getByRole('group', { name: 'Column balance' });
  await balance.getByLabel('Column', { exact: true }).fill('saldo');
  await balance.getByLabel('Not null').check();
  await dialog.getByRole('button', { name: 'Add column' }).click();
  await dialog.getByRole('group', { name: 'New column 1' }).getByLabel('Column', { exact: true }).fill('parent_id');
  await dialog.getByRole('group', { name: 'New column 1' }).getByLabel('Type', { exact: true }).selectOption('BIGINT');
  await dialog.getByRole('button', { name: 'Alter', exact: true }).click();
  await expect(detail.getByRole('row', { name: /^saldo DECIMAL\(12,2\) no/ })).toBeVisible();

  await page.getByRole('button', { name: 'Relationships' }).click();
  await page.getByLabel('From column').fill('customers.parent_id');
  await page.getByLabel('To column').fill('customers.id');
  await page.getByRole('button', { name: 'Add relationship' }).click();
  await expect(page.getByLabel('Kind of customers.parent_id to customers.id')).toHaveValue('many-to-one');
  await page.getByRole('button', { name: 'Remove customers.parent_id to customers.id' }).click();
  await expect(page.getByText('None yet. A relationship')).toBeVisible();
  await page.getByRole('button', { name: 'History' }).click();
  await expect(page.getByRole('region', { name: 'History of the schema' })).toContainText('Created table customers');

  await detail.getByRole('button', { name: 'Drop', exact: true }).click();
  await dialog.getByRole('button', { name: 'Drop' }).click();
  await expect(page.getByRole('heading', { name: 'No table yet' })).toBeVisible();
});

test('a schema of 2,000 tables stays usable', async ({ page, api }) => {
  test.setTimeout(120_000);
  const { id } = await api('POST', '/data', { name: `Store ${unique()}` });
  const tables = Array.from({ length: 2_000 }, (_, index) => ({ name: `table_${index}`, columns: Array.from({ length: 10 }, (_, column) => ({ name: `c${column}`, type: 'INTEGER' })) }));
  await api('POST', `/data/${id}/tables`, { tables });
  const relationships = Array.from({ length: 1_500 }, (_, index) => ({ from: `table_${index + 1}.c1`, to: `table_${Math.floor(index / 3)}.c0`, type: 'many-to-one' }));
  await api('PUT', `/data/${id}/schema`, { relationships });
  await open(page, `#/data/${id}/schema`);
  await expect(page.getByText('2,000 of 2,000 tables')).toBeVisible();
  const picture = page.getByRole('region', { name: 'Picture of the tables' });
  expect(await picture.locator('a').count()).toBeLessThan(150);
  await picture.evaluate((element) => element.scrollTo(3_000, 4_000));
  expect(await picture.locator('a').count()).toBeLessThan(150);
  await page.getByRole('searchbox', { name: 'Search' }).fill('table_1999');
  await expect(page.getByText('1 of 2,000 tables')).toBeVisible();
  await page.getByRole('navigation', { name: 'Tables' }).getByRole('link').click();
  await expect(page.getByRole('region', { name: 'Table table_1999' })).toBeVisible();
});

test('JSON keeps its digits, and CSV its texts', async ({ page, api }) => {
  const id = await storeWith(api, [], [{ name: 'id', type: 'BIGINT' }, { name: 'code', type: 'STRING' }]);
  await open(page, `#/data/${id}/import?table=orders`);
  await choose(page, 'orders.ndjson', '{"id": 9007199254740993, "code": "a"}\n{"id": 2, "code": ""}\n');
  await importButton(page).click();
  await expect(page.getByText('Imported 2 rows into orders.')).toBeVisible();
  await choose(page, 'orders.csv', 'id,code\n3,007\n4,\n5,""\n');
  await importButton(page).click();
  await expect(page.getByText('Imported 3 rows into orders.')).toBeVisible();
  const { rows } = await api('POST', `/data/${id}/query`, { sql: 'SELECT id, code FROM orders ORDER BY id' });
  expect(rows).toEqual([[2, ''], [3, '007'], [4, null], [5, ''], ['9007199254740993', 'a']]);
});

test('columns of a new table are proposed by the head of a file', async ({ page, api }) => {
  const { id } = await api('POST', '/data', { name: `Store ${unique()}` });
  await open(page, `#/data/${id}/import`);
  await choose(page, 'my people.csv', 'zip,name,born,amount,seen\n007,"a ""q"", b",2020-01-02,1.50,2026-01-01T00:00:00Z\n010,,2021-02-03,2,2026-01-01\n');
  await expect(page.getByLabel('Name of the new table')).toHaveValue('my_people');
  for (const [place, name, type] of [[1, 'zip', 'STRING'], [2, 'name', 'STRING'], [3, 'born', 'DATE'], [4, 'amount', 'DECIMAL'], [5, 'seen', 'TIMESTAMP']] as const) {
    const column = page.getByRole('group', { name: `Column ${place}` });
    await expect(column.getByLabel('Column', { exact: true })).toHaveValue(name);
    await expect(column.getByLabel('Type', { exact: true })).toHaveValue(type);
  }
  await importButton(page).click();
  await expect(page.getByText('Imported 2 rows into my_people.')).toBeVisible();
});

test('a faulty file is refused whole, with its rows', async ({ page, api, allowErrors }) => {
  allowErrors(/4\d\d/);
  const id = await storeWith(api, []);
  await open(page, `#/data/${id}/import`);
  await choose(page, 'orders.json', JSON.stringify([{ id: 1, city: 'Lisbon', amount: 3 }, { id: 2, city: 'Kyoto', amount: 'twelve' }]));
  await importButton(page).click();
  await expect(page.getByRole('alert').getByRole('cell', { name: 'twelve', exact: true })).toBeVisible();
  await choose(page, 'orders.csv', 'id,city,amount\n1,Lisbon,dozen\n');
  await importButton(page).click();
  await expect(page.getByRole('alert').getByRole('cell', { name: 'dozen', exact: true })).toBeVisible();
  await choose(page, 'notes.txt', 'x');
  await expect(page.getByText('The ending of the name does not tell the format.')).toBeVisible();
  await page.getByLabel('Source').selectOption('s3');
  await page.getByLabel('Address').fill('s3://elsewhere/orders.csv');
  await importButton(page).click();
  await expect(page.getByRole('alert')).toContainText('S3');
});

test('a large CSV file is uploaded past the API, and can be cancelled', async ({ page, api }) => {
  const id = await storeWith(api, [], [{ name: 'id', type: 'STRING' }, { name: 'note', type: 'STRING' }]);
  await open(page, `#/data/${id}/import?table=orders`);
  const lines = Array.from({ length: 150_000 }, (_, index) => `00${index},"a, ""quoted"" note of some length"`);
  await choose(page, 'large.csv', `id,note\n${lines.join('\n')}\n`);
  await importButton(page).click();
  await expect(page.getByText('Imported 150,000 rows into orders.')).toBeVisible();
  const answer = await api('POST', `/data/${id}/query`, { sql: "SELECT note FROM orders WHERE id = '007'" });
  expect(answer.rows).toEqual([['a, "quoted" note of some length']]);
  await page.route('**/uploads', () => undefined);
  await importButton(page).click();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await expect(page.getByText('Cancelled.')).toBeVisible();
  await expect(importButton(page)).toBeEnabled();
});

test('two versions are compared, and the earlier one is restored', async ({ page, api }) => {
  const id = await storeWith(api);
  await api('POST', `/data/${id}/tables`, { tables: [{ name: 'later', columns: COLUMNS }] });
  await api('PUT', `/data/${id}/tables/orders`, { add_columns: [{ name: 'note', type: 'STRING' }] });
  await fill(api, id, 'orders', [{ id: 0, city: 'Porto', amount: 0 }, { id: 99, city: 'Quito', amount: 1 }], 'replace');
  await open(page, `#/data/${id}/versions`);
  const list = page.getByRole('table').last().locator('tbody tr');
  await list.nth(3).getByRole('radio', { name: /from/ }).check();
  await list.nth(0).getByRole('radio', { name: /to/ }).check();
  const difference = page.getByRole('region', { name: 'Difference of the versions' });
  await expect(difference.getByRole('row', { name: 'orders 20 2 -18 note STRING is new' })).toBeVisible();
  await expect(difference.getByRole('row', { name: /^later new 0 0/ })).toBeVisible();
  await difference.getByRole('button', { name: 'Compare rows of orders' }).click();
  await expect(difference.getByText('1 added, 19 removed, 1 changed, by id.')).toBeVisible();
  await list.nth(3).getByRole('button', { name: /^Roll back/ }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Roll back' }).click();
  await expect(list.nth(0)).toContainText('Rolled back to');
  await page.getByRole('button', { name: 'Make a snapshot' }).click();
  await page.getByRole('dialog').getByLabel('Name').fill('good');
  await page.getByRole('dialog').getByRole('button', { name: 'Make it' }).click();
  await page.getByLabel('Snapshots alone').check();
  await expect(list).toHaveCount(1);
  await expect(list).toContainText('★ good');
});

test('an earlier version is queried', async ({ page, api }) => {
  const id = await storeWith(api);
  await fill(api, id, 'orders', [{ id: 1 }], 'replace');
  await open(page, `#/data/${id}/versions`);
  await page.getByRole('link', { name: /^Query the version/ }).first().click();
  await ask(page, 'SELECT count(*) AS rows FROM orders');
  await expect(page.getByRole('cell', { name: '20' })).toBeVisible();
  await expect(page.getByText('of an earlier version')).toBeVisible();
  // The statement stays for the next visit; the answer is not that of the current version.
  await page.getByRole('link', { name: 'Schema', exact: true }).click();
  await page.getByRole('link', { name: 'Query', exact: true }).click();
  await expect(statement(page)).toContainText('SELECT count(*)');
  await expect(page.getByRole('combobox', { name: /^Version/ })).toHaveValue('');
  await expect(page.getByRole('table', { name: 'Rows of the answer' })).toHaveCount(0);
});

test('a dashboard is changed, kept from overwriting, promoted and archived', async ({ page, api, allowErrors }) => {
  allowErrors(/412|400/);
  const id = await storeWith(api);
  const spec = { mark: 'bar', encoding: { x: { field: 'city', type: 'nominal' }, y: { field: 'total', type: 'quantitative' } } };
  const content = { query: 'SELECT city, sum(amount) AS total FROM orders WHERE id > {{least}} GROUP BY city', spec, queryParameters: { least: 3 } };
  const dashboard = await api('POST', `/data/${id}/dashboards`, { name: 'Totals', ...content });
  await open(page, `#/data/${id}/dashboards/${dashboard.id}`);
  await expect(page.getByRole('img', { name: 'Chart of the dashboard Totals' }).locator('canvas')).toBeVisible();
  await page.getByLabel('Value of least').fill('5');
  await page.getByLabel('Message').fill('Fewer');
  await page.getByRole('button', { name: 'Save' }).click();
  const versions = page.getByRole('region', { name: 'Versions of the dashboard' });
  await expect(versions.getByRole('row', { name: /Fewer/ })).toContainText('current');
  await expect(page.getByLabel('Value of least')).toHaveValue('5');

  await api('PUT', `/data/${id}/dashboards/${dashboard.id}`, { description: 'By another one' });
  await page.getByLabel('Name', { exact: true }).fill('Mine');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByRole('button', { name: /Load the dashboard as it is now/ })).toBeVisible();
  await expect(page.getByLabel('Name', { exact: true })).toHaveValue('Mine');
  await page.getByRole('button', { name: /Load the dashboard as it is now/ }).click();
  await expect(page.getByLabel('Description')).toHaveValue('By another one');

  await page.getByRole('button', { name: 'Make a snapshot' }).click();
  await page.getByRole('dialog').getByLabel('Name').fill('kept');
  await page.getByRole('dialog').getByRole('button', { name: 'Make it' }).click();
  await expect(versions).toContainText('★ kept');
  await versions.getByRole('button', { name: 'Promote version 1' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Promote' }).click();
  await expect(page.getByLabel('Value of least')).toHaveValue('3');
  await page.getByLabel('Each change makes a version').uncheck();
  await expect.poll(async () => (await api('GET', `/data/${id}/dashboards/${dashboard.id}`)).versioning_enabled).toBe(false);

  await page.getByRole('button', { name: 'Archive' }).last().click();
  await page.getByRole('dialog').getByRole('button', { name: 'Archive' }).click();
  await expect(page.getByRole('heading', { name: 'No dashboard yet' })).toBeVisible();
  await page.getByLabel('Status').selectOption('archived');
  await expect(page.getByRole('link', { name: 'Totals' })).toBeVisible();
});

test('a chart tells the values under the pointer, and its parameters have fields', async ({ page, api }) => {
  const id = await storeWith(api);
  const spec = {
    params: [{ name: 'least', value: 0, bind: { input: 'range', min: 0, max: 100, name: 'At least' } }],
    transform: [{ filter: 'datum.orders >= least' }],
    mark: 'bar',
    encoding: { x: { field: 'city', type: 'nominal' }, y: { field: 'orders', type: 'quantitative' } },
  };
  const query = "SELECT '<b>Lisbon</b>' AS city, count(*) AS orders FROM orders";
  const dashboard = await api('POST', `/data/${id}/dashboards`, { name: 'One bar', query, spec });
  await open(page, `#/data/${id}/dashboards/${dashboard.id}`);
  const chart = page.getByRole('img', { name: 'Chart of the dashboard One bar' });
  const canvas = chart.locator('canvas');
  await expect(canvas).toBeVisible();
  const { width, height } = (await canvas.boundingBox()) ?? { width: 0, height: 0 };
  await canvas.hover({ position: { x: width / 2, y: height / 2 } });
  await expect(page.locator('.tip')).toHaveText(/<b>Lisbon<\/b>.*20/s);
  await page.mouse.move(0, 0);
  await expect(page.locator('.tip')).toHaveCount(0);
  const before = await canvas.screenshot();
  await page.getByLabel('At least').fill('50');
  await expect.poll(async () => (await canvas.screenshot()).equals(before)).toBe(false);
  await canvas.hover({ position: { x: width / 2, y: height / 2 } });
  await expect(page.locator('.tip')).toHaveCount(0);
});

test('the page answers while a chart is drawn', async ({ page, api }) => {
  const id = await storeWith(api);
  // Far more marks than a second is enough for.
  const spec = { transform: [{ calculate: 'sin(datum.n) + cos(datum.n) * log(1 + datum.n)', as: 'y' }], mark: 'text', encoding: { x: { field: 'n', type: 'quantitative' }, y: { field: 'y', type: 'quantitative' }, text: { field: 'n', type: 'quantitative' } } };
  const dashboard = await api('POST', `/data/${id}/dashboards`, { name: 'Many', query: 'SELECT range AS n FROM range(10000)', queryLimit: 10_000, spec });
  let drawn = false;
  await page.exposeFunction('drawn', () => (drawn = true));
  await page.evaluate(() => {
    new MutationObserver(() => document.querySelector('.chart canvas') && (globalThis as unknown as { drawn: () => void }).drawn()).observe(document.body, { childList: true, subtree: true });
  });
  await open(page, `#/data/${id}/dashboards/${dashboard.id}`);
  const worker = page.workers()[0] ?? (await page.waitForEvent('worker'));
  expect(worker.url()).toContain('/console/assets/worker-');
  await page.getByLabel('Description').fill('typed meanwhile');
  await expect(page.getByLabel('Description')).toHaveValue('typed meanwhile');
  expect(drawn).toBe(false);
  await expect(page.locator('.chart canvas')).toBeVisible();
});

test('a chart that hangs is stopped, and keeps no other from being drawn', async ({ page, api }) => {
  const id = await storeWith(api);
  const encoding = { x: { field: 'city', type: 'nominal' }, y: { field: 'orders', type: 'quantitative' } };
  const query = 'SELECT city, count(*) AS orders FROM orders GROUP BY city';
  const make = (name: string, transform: object[]) => api('POST', `/data/${id}/dashboards`, { name, query, spec: { mark: 'bar', transform, encoding } });
  // The pattern tries every way to divide the text, for longer than anyone waits.
  const hanging = await make('Hangs', [{ filter: `test(/^(a+)+$/, '${'a'.repeat(60)}b')` }]);
  const fine = await make('Fine', []);
  await page.clock.install();
  await open(page, `#/data/${id}/dashboards/${hanging.id}`);
  await expect(page.getByRole('img', { name: 'Chart of the dashboard Hangs' })).toBeVisible();
  await expect.poll(() => page.workers().length).toBe(1);
  await page.clock.fastForward(20_000);
  await expect(page.getByRole('alert')).toContainText('took more than 20 seconds and was stopped');
  await expect.poll(() => page.workers().length).toBe(0);

  await open(page, `#/data/${id}/dashboards/${fine.id}`);
  await expect(page.getByRole('img', { name: 'Chart of the dashboard Fine' }).locator('canvas')).toBeVisible();
  await open(page, `#/data/${id}/dashboards/${hanging.id}`);
  await expect(page.getByRole('img', { name: 'Chart of the dashboard Hangs' })).toBeVisible();
  await expect.poll(() => page.workers().length).toBe(1);
  await page.getByRole('link', { name: 'Schema', exact: true }).click();
  await expect.poll(() => page.workers().length).toBe(0);
});

test('a chart that hangs by a timer of its own is stopped', async ({ page, api }) => {
  const id = await storeWith(api);
  const spec = { params: [{ name: 'n', value: 0, on: [{ events: 'timer{50}', update: `test(/^(a+)+$/, '${'a'.repeat(60)}b')` }] }], mark: 'bar', encoding: { y: { field: 'orders', type: 'quantitative' } } };
  const { id: dashboard } = await api('POST', `/data/${id}/dashboards`, { name: 'Ticks', query: 'SELECT count(*) AS orders FROM orders', spec });
  await page.clock.install();
  await open(page, `#/data/${id}/dashboards/${dashboard}`);
  await expect(page.getByRole('img', { name: 'Chart of the dashboard Ticks' }).locator('canvas')).toBeVisible();
  await page.waitForTimeout(300);
  await page.clock.fastForward(10_000);
  await page.clock.fastForward(20_000);
  await expect(page.getByRole('alert')).toContainText('took more than 20 seconds and was stopped');
  await expect.poll(() => page.workers().length).toBe(0);
});

test('a chart that fails after its first drawing says why', async ({ page, api }) => {
  const id = await storeWith(api);
  const spec = { params: [{ name: 'height', value: 300, bind: { input: 'range', min: 100, max: 5_000 } }], mark: 'bar', encoding: { y: { field: 'orders', type: 'quantitative' } } };
  const { id: dashboard } = await api('POST', `/data/${id}/dashboards`, { name: 'Grows', query: 'SELECT count(*) AS orders FROM orders', spec });
  await open(page, `#/data/${id}/dashboards/${dashboard}`);
  await page.getByRole('slider', { name: 'height' }).fill('900');
  await expect(page.locator('.chart canvas')).toHaveCSS('height', '900px');
  await page.getByRole('slider', { name: 'height' }).fill('4500');
  await expect(page.getByRole('alert')).toContainText('more than 4000 pixels');
});

test('a parameter shows no more than the beginning of a long text', async ({ page, api }) => {
  const id = await storeWith(api);
  const long = 'a'.repeat(9_000);
  const spec = { params: [{ name: 'text', expr: `replace('${long}', /a/g, '${long}')`, bind: { input: 'text' } }], mark: 'bar', encoding: { y: { field: 'orders', type: 'quantitative' } } };
  const { id: dashboard } = await api('POST', `/data/${id}/dashboards`, { name: 'Long', query: 'SELECT count(*) AS orders FROM orders', spec });
  await open(page, `#/data/${id}/dashboards/${dashboard}`);
  await expect(page.getByLabel('text', { exact: true })).toHaveValue(/^a{1000}$/);
});

const ENDLESS: [string, Definition][] = [
  ['The chart has more than 10000 bins', { encoding: { x: { field: 'amount', type: 'ordinal', bin: { step: 1e-7 } } } }],
  ['The chart has more than 10000 bins', { encoding: { x: { field: 'amount', type: 'quantitative', bin: { steps: [1e-7, 50] } } } }],
  ['sequence() in an expression of the chart makes more than 10000', { transform: [{ calculate: 'length(sequence(0, 1e10))', as: 'made' }] }],
  ['sequence() in an expression of the chart makes more than 10000', { transform: [{ calculate: 'length((\\u0073equence)(0, 1e10))', as: 'made' }] }],
  ['utcSequence() in an expression of the chart makes more than 10000', { transform: [{ calculate: "length(utcSequence('milliseconds', 0, 1e10))", as: 'made' }] }],
  ['pad() in an expression of the chart makes more than 10000', { transform: [{ calculate: "length(pad('a', 1e9))", as: 'made' }] }],
  ['format() in an expression of the chart makes more than 10000', { transform: [{ calculate: "length(format(1, '0' + '1000000000' + 'd'))", as: 'made' }] }],
];

test('what makes values or texts without limit is refused', async ({ page, api }) => {
  const id = await storeWith(api);
  for (const [refused, part] of ENDLESS) {
    const encoding = { x: { field: 'amount', type: 'quantitative' } };
    const { id: dashboard } = await api('POST', `/data/${id}/dashboards`, { name: unique(), query: 'SELECT amount FROM orders', spec: { mark: 'bar', encoding, ...part } });
    await open(page, `#/data/${id}/dashboards/${dashboard}`);
    await expect(page.getByRole('alert')).toContainText(refused);
  }
});

test('bins have the width that the chart names', async ({ page, api }) => {
  const id = await storeWith(api);
  const query = 'SELECT 10000 AS n UNION ALL SELECT 990000';
  for (const bin of [{ step: 50_000 }, { steps: [1, 50_000] }]) {
    const encoding = { y: { field: 'n', type: 'ordinal', bin }, x: { value: 0 }, x2: { value: 'width' }, tooltip: { field: 'n', bin } };
    const name = `Wide ${unique()}`;
    const { id: dashboard } = await api('POST', `/data/${id}/dashboards`, { name, query, spec: { mark: 'rect', encoding } });
    await open(page, `#/data/${id}/dashboards/${dashboard}`);
    const canvas = page.getByRole('img', { name: `Chart of the dashboard ${name}` }).locator('canvas');
    await expect(canvas).toBeVisible();
    const { width, height } = (await canvas.boundingBox()) ?? { width: 0, height: 0 };
    await canvas.hover({ position: { x: width / 2, y: height / 4 } });
    await expect(page.locator('.tip')).toContainText('0 – 50000');
  }
});

test('a long tooltip is cut, and a click sets the field of its parameter', async ({ page, api }) => {
  const id = await storeWith(api);
  const spec = {
    params: [{ name: 'chosen', value: 500, bind: { input: 'range', name: 'Chosen' } }, { name: 'click', select: { type: 'point', on: 'click', fields: ['orders'] }, bind: { orders: { input: 'number', name: 'Clicked' } } }],
    mark: 'bar',
    encoding: { x: { field: 'city', type: 'nominal' }, y: { field: 'orders', type: 'quantitative' }, tooltip: { field: 'orders', type: 'quantitative', format: '03000d' } },
  };
  const dashboard = await api('POST', `/data/${id}/dashboards`, { name: 'Long', query: "SELECT 'Lisbon' AS city, count(*) AS orders FROM orders", spec });
  await open(page, `#/data/${id}/dashboards/${dashboard.id}`);
  const canvas = page.getByRole('img', { name: 'Chart of the dashboard Long' }).locator('canvas');
  await expect(canvas).toBeVisible();
  await expect(page.getByLabel('Chosen')).toHaveValue('500');
  const { width, height } = (await canvas.boundingBox()) ?? { width: 0, height: 0 };
  const position = { x: width / 2, y: height / 2 };
  await canvas.hover({ position });
  await expect(page.locator('.tip')).toHaveText(/^[\s\S]{900,1000}$/);
  await canvas.click({ position });
  await expect(page.getByLabel('Clicked')).toHaveValue('20');
});

const HOSTILE: [string, Definition][] = [
  ['an image of another address', { mark: { type: 'image', width: 20, height: 20, url: 'https://evil.example/a.png' }, encoding: { url: { value: 'https://evil.example/b.png' } } }],
  ['a link and a tooltip with markup', { mark: 'bar', encoding: { href: { value: 'javascript:window.hit=1' }, tooltip: { value: '<img src=x onerror="window.hit=1">' } } }],
  ['a look-up in another address', { mark: 'bar', transform: [{ lookup: 'city', from: { key: 'city', fields: ['x'], data: { url: 'https://evil.example/c.json' } } }] }],
  ['data that it makes up without end', { mark: 'bar', transform: [{ calculate: 'length(sequence(0, 1e10))', as: 'made' }] }],
  ['code in an expression', { mark: 'bar', transform: [{ calculate: "constructor.constructor('window.hit=1')()", as: 'made' }] }],
  ['settings of the part that draws', { mark: 'bar', usermeta: { embedOptions: { patch: 'https://evil.example/d.json', actions: true, loader: {} } } }],
  ['a picture without end', { mark: 'bar', width: 1e7, height: 1e7 }],
  ['an escaped name of a function that takes without limit', { mark: 'bar', transform: [{ calculate: 'length(\\u0073equence(0, 1e10))', as: 'made' }] }],
  ['a cursor of an address', { mark: { type: 'bar', cursor: 'url(/cursor-of-a-chart), auto' } }],
  ['a height that a parameter sets', { mark: 'bar', params: [{ name: 'height', value: 1e7 }] }],
  ['options that are no list', { mark: 'bar', params: [{ name: 'p', value: 1, bind: { input: 'text', options: { length: 4e8 } } }] }],
  ['an input elsewhere in the page', { mark: 'bar', params: [{ name: 'p', value: 1, bind: { input: 'range', element: 'main' } }] }],
];

for (const [title, part] of HOSTILE) {
  test(`a chart with ${title} does no harm`, async ({ page, api }) => {
    const id = await storeWith(api);
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    const { encoding, ...rest } = part;
    const spec = { ...rest, encoding: { x: { field: 'city', type: 'nominal' }, y: { field: 'orders', type: 'quantitative' }, ...(encoding as object) } };
    const query = 'SELECT city, count(*) AS orders FROM orders GROUP BY city';
    const dashboard = await api('POST', `/data/${id}/dashboards`, { name: '<img src=x onerror=alert(1)>', query, spec });
    await open(page, `#/data/${id}/dashboards/${dashboard.id}`);
    await expect(page.getByRole('heading', { name: /onerror/ })).toBeVisible();
    await expect(page.locator('.chart canvas').or(page.getByRole('alert'))).toBeVisible();
    await page.waitForLoadState('networkidle');
    if (await page.locator('.chart canvas').isVisible()) await page.locator('.chart canvas').hover();
    expect(asked.filter((url) => /evil\.example|cursor-of-a-chart/.test(url))).toEqual([]);
    for (const canvas of await page.locator('.chart canvas').all()) expect((await canvas.boundingBox())?.height).toBeLessThanOrEqual(4_000);
    expect(await page.evaluate(() => 'hit' in window)).toBe(false);
    await expect(page.locator('main input[type=range]:not(.chart *)')).toHaveCount(0);
    // The page still works.
    await page.getByRole('link', { name: 'Schema', exact: true }).click();
    await expect(page.getByRole('region', { name: 'Picture of the tables' })).toBeVisible();
  });
}

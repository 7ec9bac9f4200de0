import { expect, open, test, unique } from './console';

test('a template is written, rendered as it is typed, saved and forked', { tag: '@smoke' }, async ({ page, api }) => {
  const name = `Greeting ${unique()}`;
  await open(page, '#/prompts');
  await page.getByRole('link', { name: 'New template' }).click();
  await page.getByLabel('Name').fill(name);
  await page.getByRole('textbox', { name: 'Content', exact: true }).fill('Hello {{name}}!');
  await page.getByRole('textbox', { name: 'Test data' }).fill('{"name":"Ada"}');
  await expect(page.getByLabel('Rendered text')).toHaveText('Hello Ada!');
  await page.getByRole('button', { name: 'Create' }).click();
  await expect(page.getByRole('heading', { level: 1, name })).toBeVisible();
  await page.getByRole('textbox', { name: 'Content', exact: true }).fill('Welcome, {{name}}!');
  await page.getByRole('button', { name: 'Save as a new version' }).click();
  await expect(page.getByText('version 2')).toBeVisible();
  await page.getByRole('link', { name: 'Versions' }).click();
  await expect(page.getByRole('cell', { name: '2 (latest)' })).toBeVisible();
  await page.getByRole('button', { name: 'Fork' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Fork' }).click();
  await expect(page.getByText('version 1')).toBeVisible();
  const [fork] = await api('GET', `/prompts?name=${encodeURIComponent(name)}&limit=1`);
  expect(fork.name).toContain(name);
});

test('an error of a template is marked at its place, and nothing is lost', async ({ page, allowErrors }) => {
  allowErrors(/400/);
  await open(page, '#/prompts/new');
  await page.getByLabel('Name').fill('Wrong');
  await page.getByRole('textbox', { name: 'Content', exact: true }).fill('Welcome, {{name}!');
  await expect(page.getByRole('alert')).toContainText('line 1, column 16');
  await expect(page.locator('.cm-lintRange-error')).toBeVisible();
  await page.getByRole('button', { name: 'Create' }).click();
  await expect(page.getByRole('textbox', { name: 'Content', exact: true })).toHaveText('Welcome, {{name}!');
});

test('two authors do not overwrite each other', async ({ page, api, allowErrors }) => {
  allowErrors(/412/);
  const { id } = await api('POST', '/prompts', { name: `Shared ${unique()}`, role: 'user', content_type: 'text', content: 'one' });
  await open(page, `#/prompts/${id}`);
  const content = page.getByRole('textbox', { name: 'Content', exact: true });
  await expect(content).toHaveText('one');
  await content.fill('mine');
  await api('PUT', `/prompts/${id}`, { content: 'theirs' });
  await page.getByRole('button', { name: 'Save as a new version' }).click();
  await expect(page.getByText('Another author has saved')).toBeVisible();
  await expect(content).toHaveText('mine');
  await page.getByRole('button', { name: 'Take the stored version' }).click();
  await expect(content).toHaveText('theirs');
});

test('a facet narrows the list, and a template with markup in its name is deleted', async ({ page, api }) => {
  const tag = `tag-${unique()}`;
  const name = `<img src=x onerror=alert(1)> ${unique()}`;
  await api('POST', '/prompts', { name, role: 'user', content_type: 'text', content: 'x', tags: [tag] });
  await open(page, '#/prompts?name=img');
  await expect(page.getByRole('link', { name })).toBeVisible();
  await open(page, `#/prompts?tags=${tag}`);
  await expect(page.locator('tbody tr')).toHaveCount(1);
  await page.getByRole('link', { name }).click();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Prompts' })).toBeVisible();
  await open(page, `#/prompts?tags=${tag}`);
  await expect(page.getByText('No template passes the filters')).toBeVisible();
});

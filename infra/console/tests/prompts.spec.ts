import type { Page } from '@playwright/test';

import { expect, open, test } from './console';

/** Names of their own, so that the tests can run at the same time and again. */
const unique = () => Math.random().toString(36).slice(2, 10);

interface Template {
  id: string;
  version: number;
}

const template = (name: string) => ({
  name,
  role: 'user',
  content_type: 'handlebars',
  content: 'Hello {{name}}!',
  test_data: { name: 'Ada' },
  tags: [`tag-${name}`],
});

/** Answers renderings like a template with one variable, and refuses `{{name}!` like the service. */
async function fakeRendering(page: Page, delay: (content: string) => number = () => 0) {
  const asked: string[] = [];
  await page.route('**/api/v1/prompts/render', async (route) => {
    const { content, data } = route.request().postDataJSON();
    asked.push(content);
    await new Promise((resolve) => setTimeout(resolve, delay(content)));
    const message = 'The content is not a valid Handlebars template at line 2, column 8: expected identifier.';
    const refused = { status: 400, error: 'invalid_request', message, request_id: 'render-1' };
    if (content.includes('}!') && !content.includes('}}!')) await route.fulfill({ status: 400, json: refused }).catch(() => {});
    else await route.fulfill({ json: { text: content.replaceAll('{{name}}', String(data?.name ?? '')) } }).catch(() => {});
  });
  return asked;
}

/** Signs in as a caller with these permissions; the page reads them from the token, and answers are faked. */
async function signInWith(page: Page, permissions: string[]) {
  const claims = { sub: 'limited', account_id: 'acme', project_id: 'demo', roles: [], permissions };
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.locator('#token').fill(`${part({ alg: 'none' })}.${part(claims)}.x`);
  await page.getByRole('button', { name: /with this token/ }).click();
}

const content = (page: Page) => page.getByRole('textbox', { name: 'Content', exact: true });
const testData = (page: Page) => page.getByRole('textbox', { name: 'Test data' });
const rendered = (page: Page) => page.getByRole('textbox', { name: 'Rendered text' });
const save = (page: Page) => page.getByRole('button', { name: 'Save', exact: true });

test('a template is made, rendered as it is typed, saved and found', { tag: '@smoke' }, async ({ page }) => {
  await fakeRendering(page);
  const name = `Welcome ${unique()}`;
  await open(page, '#/prompts');
  await page.getByRole('button', { name: 'New prompt template' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill(name);
  await dialog.getByRole('textbox', { name: 'Content' }).fill('Hello {{name}}!');
  await dialog.getByRole('button', { name: 'Create' }).click();

  await expect(page.getByRole('heading', { level: 1, name })).toBeVisible();
  await testData(page).fill('{"name": "Ada"}');
  await expect(rendered(page)).toContainText('Hello Ada!');
  await content(page).fill('Welcome, {{name}}!');
  await expect(rendered(page)).toContainText('Welcome, Ada!');
  await expect(page.getByText('Unsaved: content, test data.')).toBeVisible();
  await save(page).click();
  await expect(page.getByText('Saved as version 2.')).toBeVisible();

  await page.getByRole('navigation', { name: 'Path' }).getByRole('link', { name: 'Prompts' }).click();
  await page.getByLabel('Name has').fill(name);
  await expect(page.getByRole('row').filter({ hasText: name })).toContainText('2');
  await expect.poll(() => page.url()).toContain('name=Welcome');
});

test('facets count and filter by click, and the address keeps the filters', async ({ page, api }) => {
  const mark = unique();
  await api('POST', '/prompts', { ...template(`One ${mark}`), role: 'user', tags: [`first-${mark}`] });
  await api('POST', '/prompts', { ...template(`Two ${mark}`), role: 'system', tags: [`second-${mark}`, `a,b ${mark}`] });
  await open(page, `#/prompts?name=${mark}`);
  await expect(page.getByText('2 templates, the oldest first.')).toBeVisible();

  await page.getByRole('button', { name: 'system 1' }).click();
  await expect(page.getByRole('link', { name: `Two ${mark}` })).toBeVisible();
  await expect(page.getByRole('link', { name: `One ${mark}` })).toBeHidden();
  // The other value stays within reach.
  await page.getByRole('button', { name: 'user 1' }).click();
  await expect(page.getByRole('link', { name: `One ${mark}` })).toBeVisible();
  await page.getByRole('button', { name: 'user 1' }).click();

  await page.getByRole('button', { name: `first-${mark} 1` }).click();
  await page.getByRole('button', { name: `second-${mark} 1` }).click();
  await expect(page.getByText('2 templates, the oldest first.')).toBeVisible();
  // The API splits a tag at its comma.
  await expect(page.getByText(`a,b ${mark}`).first()).toBeVisible();
  await expect(page.getByRole('button', { name: `a,b ${mark}` })).toHaveCount(0);
  await open(page, '#/audit/usage');
  await page.goBack();
  await expect(page.getByRole('button', { name: `first-${mark} 1` })).toHaveAttribute('aria-pressed', 'true');
});

test('a search without a result says what to do', async ({ page }) => {
  await open(page, `#/prompts?name=${unique()}`);
  await expect(page.getByRole('heading', { name: 'No prompt template matches' })).toBeVisible();
  await page.getByRole('button', { name: 'Clear the filters' }).click();
  await expect(page.getByLabel('Name has')).toHaveValue('');
});

test('a long list is read page by page', async ({ page }) => {
  const asked: string[] = [];
  await page.route('**/api/v1/prompts?**', async (route) => {
    const token = new URL(route.request().url()).searchParams.get('next_page_token') ?? '0';
    asked.push(token);
    const entries = Array.from({ length: 100 }, (_, index) => ({
      id: `p-${token}-${index}`, name: `<img src=x onerror=alert(1)> ${token}-${index}`, role: 'user', status: 'draft', version: 1,
      tags: Array.from({ length: 50 }, (_, tag) => `t${tag}`), interactions: [], created_at: '2026-11-01T00:00:00Z', updated_at: '2026-11-01T00:00:00Z',
    }));
    await route.fulfill({ json: entries, headers: Number(token) < 2 ? { 'x-next-page-token': String(Number(token) + 1) } : {} });
  });
  await open(page, '#/prompts?name=x');
  await expect(page.getByRole('link', { name: '0-99' })).toBeVisible();
  await page.getByRole('button', { name: 'Show more' }).click();
  await expect(page.getByRole('link', { name: '1-99' })).toBeVisible();
  await page.getByRole('button', { name: 'Show more' }).click();
  await expect(page.getByRole('link', { name: '2-99' })).toBeVisible();
  await expect(page.getByRole('button', { name: 'Show more' })).toBeHidden();
  expect(new Set(asked)).toEqual(new Set(['0', '1', '2']));
});

test('a refused creation keeps the input and marks the place', async ({ page }) => {
  await open(page, '#/prompts');
  await page.getByRole('button', { name: 'New prompt template' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('Wrong');
  await dialog.getByRole('textbox', { name: 'Content' }).fill('Welcome, {{name}!');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await expect(dialog.getByText(/not a valid Handlebars template at line 1, column 16/)).toBeVisible();
  await expect(dialog.locator('.cm-lintRange-error')).toHaveText('}');
  await expect(dialog.getByRole('textbox', { name: 'Content' })).toContainText('Welcome, {{name}!');
});

test('an error of the rendering is a mark at its line and column', async ({ page, api }) => {
  await fakeRendering(page);
  const { id }: Template = await api('POST', '/prompts', template(unique()));
  await open(page, `#/prompts/${id}`);
  await expect(rendered(page)).toContainText('Hello Ada!');
  await content(page).fill('Hello\n😀 {{name}!');
  await expect(page.getByText('Not rendered; this is the last text that was')).toBeVisible();
  await expect(page.locator('.cm-lintRange-error')).toHaveText('e');
  await expect(rendered(page)).toContainText('Hello Ada!');
  await content(page).fill('Hello\n{{name}}!');
  await expect(page.locator('.cm-lintRange-error')).toHaveCount(0);
});

test('the last rendering wins, and typing is not rendered letter by letter', async ({ page, api }) => {
  const asked = await fakeRendering(page, (text) => (text.startsWith('slow') ? 1_500 : 0));
  const { id }: Template = await api('POST', '/prompts', template(unique()));
  await open(page, `#/prompts/${id}`);
  await expect(rendered(page)).toContainText('Hello Ada!');
  await content(page).fill('slow {{name}}');
  await expect.poll(() => asked.at(-1)).toBe('slow {{name}}');
  await content(page).fill('quick ');
  await content(page).pressSequentially('words here', { delay: 20 });
  await expect(rendered(page)).toContainText('quick words here');
  await page.waitForTimeout(1_700);
  await expect(rendered(page)).toContainText('quick words here');
  expect(asked.filter((text) => text.startsWith('quick')).length).toBeLessThan(4);
});

test('test data that is not JSON waits, and is not saved', async ({ page, api }) => {
  await fakeRendering(page);
  const { id }: Template = await api('POST', '/prompts', template(unique()));
  await open(page, `#/prompts/${id}`);
  await testData(page).fill('{"name": }');
  await expect(page.getByText(/Waits for the test data/)).toBeVisible();
  await expect(save(page)).toBeDisabled();
  await testData(page).fill('[1]');
  await expect(page.getByText('Waits for the test data: It must be an object.')).toBeVisible();
  await testData(page).fill('');
  await save(page).click();
  await expect(page.getByText('Saved as version 2.')).toBeVisible();
  expect((await api('GET', `/prompts/${id}`)).test_data).toBeUndefined();
});

test('a refused save keeps the input', async ({ page, api }) => {
  await fakeRendering(page);
  const { id }: Template = await api('POST', '/prompts', template(unique()));
  await open(page, `#/prompts/${id}`);
  await page.getByText('Input schema: a JSON Schema').click();
  await page.getByRole('textbox', { name: 'Input schema' }).fill('{"required": ["age"]}');
  await save(page).click();
  await expect(page.getByText(/'test_data' does not satisfy 'inputSchema'/)).toBeVisible();
  await expect(page.getByRole('textbox', { name: 'Input schema' })).toContainText('age');
  await expect(page.getByText('Unsaved: input schema.')).toBeVisible();
});

test('only changed fields are saved, with the version that the input began with', async ({ page, api }) => {
  await fakeRendering(page);
  const { id }: Template = await api('POST', '/prompts', template(unique()));
  await open(page, `#/prompts/${id}`);
  await page.getByLabel('Description').fill('First mail.');
  await page.getByLabel('Tags').fill('two');
  await page.getByLabel('Tags').press('Enter');
  const sent = page.waitForRequest((request) => request.method() === 'PUT');
  await page.keyboard.press('Control+s');
  const request = await sent;
  expect(Object.keys(request.postDataJSON()).sort()).toEqual(['description', 'tags']);
  expect(request.headers()['if-match']).toBe('"1"');
  await expect(page.getByText('Saved as version 2.')).toBeVisible();
  await expect(page.getByText('version 2', { exact: true })).toBeVisible();
});

test.describe('another author', () => {
  test('saves meanwhile: both are compared, and the own input is saved over it', async ({ page, api }) => {
    await fakeRendering(page);
    const { id }: Template = await api('POST', '/prompts', template(unique()));
    await open(page, `#/prompts/${id}`);
    await content(page).fill('Mine {{name}}');
    await api('PUT', `/prompts/${id}`, { content: 'Theirs {{name}}', description: 'Of the other author' });
    await save(page).click();
    const conflict = page.getByRole('region', { name: 'Another version' });
    await expect(conflict.getByText('saved version 2')).toBeVisible();
    await expect(content(page)).toContainText('Mine {{name}}');
    await conflict.getByRole('button', { name: 'Compare' }).click();
    await expect(conflict.locator('del')).toHaveText('Theirs');
    await expect(conflict.locator('ins')).toHaveText('Mine');
    await conflict.getByRole('button', { name: /Overwrite/ }).click();
    await expect(page.getByText('Saved as version 3.')).toBeVisible();
    const saved = await api('GET', `/prompts/${id}`);
    expect(saved.content).toBe('Mine {{name}}');
    expect(saved.description).toBe('Of the other author');
  });

  test('saves meanwhile: the own input is given up', async ({ page, api }) => {
    await fakeRendering(page);
    const { id }: Template = await api('POST', '/prompts', template(unique()));
    await open(page, `#/prompts/${id}`);
    await content(page).fill('Mine {{name}}');
    await api('PUT', `/prompts/${id}`, { content: 'Theirs {{name}}' });
    const conflict = page.getByRole('region', { name: 'Another version' });
    // The view notices it by itself.
    await conflict.getByRole('button', { name: /Reload/ }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Give it up' }).click();
    await expect(content(page)).toContainText('Theirs {{name}}');
    await expect(conflict).toBeHidden();
    await expect(save(page)).toBeDisabled();
  });

  test('saves while there is no input: the view follows', async ({ page, api }) => {
    await fakeRendering(page);
    const { id }: Template = await api('POST', '/prompts', template(unique()));
    await open(page, `#/prompts/${id}`);
    await expect(content(page)).toContainText('Hello');
    await api('PUT', `/prompts/${id}`, { content: 'Newer {{name}}' });
    await expect(content(page)).toContainText('Newer {{name}}');
    await page.getByRole('button', { name: 'Publish' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Publish' }).click();
    await expect(page.getByText('published', { exact: true })).toBeVisible();
  });
});

test.describe('unsaved input', () => {
  test('stays when the user does not leave', async ({ page, api }) => {
    await fakeRendering(page);
    const { id }: Template = await api('POST', '/prompts', template(unique()));
    await open(page, '#/prompts');
    await open(page, `#/prompts/${id}`);
    await content(page).fill('Mine');
    // Other views of the template are no leave.
    const views = page.getByRole('navigation', { name: 'Views of the template' });
    await views.getByRole('link', { name: 'Forks' }).click();
    await views.getByRole('link', { name: 'Editor' }).click();
    await expect(content(page)).toContainText('Mine');

    for (const leave of [
      () => page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name: 'Data' }).click(),
      () => page.keyboard.press('Alt+Digit3'),
    ]) {
      await leave();
      await page.getByRole('dialog').getByRole('button', { name: 'Back' }).click();
      expect(page.url()).toContain(id);
      await expect(content(page)).toContainText('Mine');
    }
    page.once('dialog', (dialog) => void dialog.dismiss());
    await page.close({ runBeforeUnload: true });
    expect(page.isClosed()).toBe(false);
    await expect(content(page)).toContainText('Mine');
  });

  test('is lost when the user says so', async ({ page, api }) => {
    await fakeRendering(page);
    const { id }: Template = await api('POST', '/prompts', template(unique()));
    await open(page, `#/prompts/${id}`);
    await content(page).fill('Mine');
    await page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name: 'Data' }).click();
    await page.getByRole('button', { name: 'Leave and lose the input' }).click();
    await expect.poll(() => page.url()).toMatch(/#\/data$/);
    await open(page, `#/prompts/${id}`);
    await expect(content(page)).toContainText('Hello');
    await expect(save(page)).toBeDisabled();
  });

  test('is there again after a new sign-in', async ({ page, api }) => {
    await fakeRendering(page);
    const { id }: Template = await api('POST', '/prompts', template(unique()));
    const read = page.waitForRequest((request) => request.url().endsWith(`/prompts/${id}`));
    await open(page, `#/prompts/${id}`);
    const token = (await (await read).headerValue('authorization'))?.replace('Bearer ', '') ?? '';
    await content(page).fill('Mine');
    await expect(save(page)).toBeEnabled();
    await page.route(`**/api/v1/prompts/${id}`, (route) =>
      route.fulfill({ status: 401, json: { status: 401, error: 'unauthenticated', message: 'The token has expired.', request_id: 'r' } }),
    );
    await page.route('**/console/token', (route) => route.fulfill({ status: 403, json: { message: 'No token.' } }));
    await save(page).click();
    await expect(page.getByRole('navigation', { name: 'Screens' })).toBeHidden();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await fakeRendering(page);
    await page.locator('#token').fill(token);
    await page.getByRole('button', { name: /with this token/ }).click();
    await expect(content(page)).toContainText('Mine');
    await expect(save(page)).toBeEnabled();
  });
});

test('versions and forks are compared side by side, word by word', async ({ page, api }) => {
  await fakeRendering(page);
  const long = Array.from({ length: 300 }, (_, line) => `Line ${line}`).join('\n');
  const { id }: Template = await api('POST', '/prompts', { ...template(unique()), content: `${long}\nThe old <b>end</b>` });
  await open(page, `#/prompts/${id}?tab=versions`);
  await api('PUT', `/prompts/${id}`, { content: `${long}\nThe new <b>end</b>`, name: 'Renamed' });
  await expect(page.getByRole('cell', { name: '2 current' })).toBeVisible();
  await page.getByRole('button', { name: 'Compare version 1' }).click();
  const difference = page.getByRole('region', { name: 'Difference of the content' });
  await expect(difference.locator('del')).toHaveText('old');
  await expect(difference.locator('ins')).toHaveText('new');
  await expect(difference.getByRole('button', { name: 'Show 297 equal lines' })).toBeVisible();
  await difference.getByRole('button', { name: 'Show 297 equal lines' }).click();
  await expect(difference.getByText('Line 0', { exact: true }).first()).toBeVisible();
  await expect(page.getByRole('row').filter({ hasText: 'name' }).filter({ hasText: 'Renamed' }).first()).toBeVisible();
  expect(page.url()).toContain('left=1');

  const fork: Template = await api('POST', `/prompts/${id}/fork`, {});
  await api('PUT', `/prompts/${fork.id}`, { content: 'Of the fork' });
  await open(page, `#/prompts/${fork.id}?tab=versions&left=prompt:${id}`);
  await expect(page.getByRole('region', { name: 'Difference of the content' })).toContainText('Of the fork');
});

test('an earlier version is read whole, and written again as a new one', async ({ page, api }) => {
  await fakeRendering(page);
  const { id }: Template = await api('POST', '/prompts', { ...template(unique()), name: 'Before', content: 'First {{name}}' });
  await api('PUT', `/prompts/${id}`, { content: 'Second {{name}}', name: 'After', tags: [] });
  await open(page, `#/prompts/${id}?tab=versions`);
  await expect(page.getByRole('row').filter({ hasText: 'Before' }).filter({ hasText: 'After' })).toBeVisible();
  const difference = page.getByRole('region', { name: 'Difference of the content' });
  await expect(difference.locator('del')).toHaveText('First');

  await page.getByRole('button', { name: 'Write version 1 again' }).click();
  await expect(content(page)).toContainText('First {{name}}');
  await save(page).click();
  await expect(page.getByText('Saved as version 3.')).toBeVisible();
  const saved = await api('GET', `/prompts/${id}`);
  const first = await api('GET', `/prompts/${id}/versions/1`);
  for (const field of ['name', 'content', 'tags', 'test_data']) expect(saved[field]).toEqual(first[field]);

  // A version that never was, from an address.
  await open(page, `#/prompts/${id}?tab=versions&left=9`);
  await expect(page.getByRole('alert')).toContainText("prompt version '9'");
});

test('a template is forked, and the tree of forks leads to each', async ({ page, api }) => {
  await fakeRendering(page);
  const name = `Root ${unique()}`;
  const { id }: Template = await api('POST', '/prompts', template(name));
  await open(page, `#/prompts/${id}`);
  await page.getByRole('button', { name: 'Fork', exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Fork', exact: true }).click();
  await expect(page.getByRole('heading', { level: 1, name: `${name} (fork)` })).toBeVisible();
  const fork = /#\/prompts\/([^?]+)/.exec(page.url())?.[1] ?? '';
  await api('POST', `/prompts/${fork}/fork`, {});

  await open(page, `#/prompts/${id}?tab=forks`);
  await page.getByRole('button', { name: `Forks of ${name} (fork)` }).click();
  await page.getByRole('link', { name: `${name} (fork) (fork)` }).click();
  await page.getByRole('navigation', { name: 'Views of the template' }).getByRole('link', { name: 'Forks' }).click();
  await expect(page.getByText('No template was forked from this one.')).toBeVisible();
  await page.getByRole('link', { name, exact: true }).click();
  await expect(page.getByRole('heading', { level: 1, name, exact: true })).toBeVisible();
});

test('a template is deleted after a question', async ({ page, api }) => {
  await fakeRendering(page);
  const name = unique();
  const { id }: Template = await api('POST', '/prompts', template(name));
  await open(page, `#/prompts/${id}`);
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Back' }).click();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Prompts' })).toBeVisible();
  await open(page, `#/prompts/${id}`);
  await expect(page.getByRole('alert')).toContainText(id);
});

test('interactions that use a template are listed, also before it is deleted', async ({ page, api }) => {
  await fakeRendering(page);
  const { id }: Template = await api('POST', '/prompts', template(unique()));
  await open(page, `#/prompts/${id}?tab=interactions`);
  await expect(page.getByRole('heading', { name: 'No interaction uses this template' })).toBeVisible();
  await page.route(`**/api/v1/prompts/${id}/interactions`, (route) =>
    route.fulfill({ json: { prompt: id, interactions: [{ id: 'mail', name: 'Order <i>mail</i>', versions: [{ versions: 3 }, { versions: 4 }] }] } }),
  );
  const row = page.getByRole('row').filter({ hasText: 'Order <i>mail</i>' });
  await expect(row).toContainText('3, 4');
  await page.getByRole('button', { name: 'Delete' }).click();
  await expect(page.getByRole('dialog')).toContainText('An interaction uses it: Order <i>mail</i>.');
});

test('a template at the limit of its size does not freeze the page', async ({ page, api }) => {
  await fakeRendering(page);
  const line = '<script>alert(1)</script> {{name}} '.repeat(30);
  const text = Array.from({ length: 60 }, (_, number) => `${number} ${line}`).join('\n');
  const { id }: Template = await api('POST', '/prompts', { ...template(`<b>${unique()}</b>`), content: text });
  await open(page, `#/prompts/${id}`);
  await expect(rendered(page)).toContainText('<script>alert(1)</script> Ada');
  await api('PUT', `/prompts/${id}`, { content: [...text].reverse().join('').replaceAll('{', '(').replaceAll('}', ')') });
  await open(page, `#/prompts/${id}?tab=versions&left=1&right=2`);
  await expect(page.getByRole('region', { name: 'Difference of the content' })).toBeVisible();
});

test('a reader is offered nothing that changes a template', async ({ page, api }) => {
  await fakeRendering(page);
  const { id }: Template = await api('POST', '/prompts', template(unique()));
  const prompt = await api('GET', `/prompts/${id}`);
  await page.route(`**/api/v1/prompts/${id}`, (route) => route.fulfill({ json: prompt }));
  await page.route('**/api/v1/prompts?**', (route) => route.fulfill({ json: [] }));
  await page.route('**/api/v1/prompts/facets', (route) => route.fulfill({ json: { total: 0 } }));
  await signInWith(page, ['interaction:read']);
  await open(page, '#/prompts');
  await expect(page.getByRole('heading', { name: 'There is no prompt template yet' })).toBeVisible();
  await expect(page.getByText('interaction:write')).toBeVisible();
  await expect(page.getByRole('button', { name: 'New prompt template' })).toHaveCount(0);
  await open(page, `#/prompts/${id}`);
  await expect(rendered(page)).toContainText('Hello Ada!');
  for (const name of ['Save', 'Fork', 'Delete']) await expect(page.getByRole('button', { name, exact: true })).toHaveCount(0);
  // Other test data may be tried out.
  await testData(page).fill('{"name": "Bob"}');
  await expect(rendered(page)).toContainText('Hello Bob!');
});

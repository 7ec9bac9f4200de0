import { expect, open, signInWith, test, unique } from './console';

test('a change is in the trail, and usage is drawn', { tag: '@smoke' }, async ({ page, api, ops }) => {
  const { id } = await api('POST', '/prompts', { name: `Audited ${unique()}`, role: 'user', content_type: 'text', content: 'x' });
  await open(page, `#/audit?resourceId=${id}`);
  await expect(page.getByRole('link', { name: id })).toBeVisible();
  await page.getByRole('button', { name: 'create', exact: true }).last().click();
  await expect(page.getByRole('dialog').getByText('"prompt"')).toBeVisible();
  await page.keyboard.press('Escape');
  await ops('run', 'start', 'ProcessDocument', 'document_id=invoice-1', 'details:={"pipeline":"invoices","page_count":11}');
  await page.getByRole('link', { name: 'Usage' }).click();
  await expect(page.getByRole('img', { name: 'Events by event category' }).locator('canvas')).toBeVisible();
  await page.getByText('Numbers and request').first().click();
  await expect(page.getByRole('table', { name: 'Events by event category: numbers' })).toBeVisible();
});

test('a caller who may only aggregate sees usage alone', async ({ browser, origin, runner }) => {
  const page = await browser.newPage();
  await signInWith(page, origin, await runner.token('--roles', 'developer'), '#/audit');
  await expect(page.getByRole('heading', { level: 1, name: 'Usage' })).toBeVisible();
  await expect(page.getByRole('link', { name: 'Trail' })).toHaveCount(0);
  await page.close();
});

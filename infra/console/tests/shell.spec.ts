import { expect, open, signInWith, test, watch } from './console';

test('the first page leads to the console, which signs in with one click and again after a reload', { tag: '@smoke' }, async ({
  page,
  origin,
}) => {
  await page.goto(`${origin}/`);
  await expect(page).toHaveURL(/\/console/);
  await expect(page.getByRole('heading', { level: 1, name: 'Runs' })).toBeVisible();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await expect(page.getByRole('button', { name: 'Sign in as the developer' })).toBeVisible();
  await page.reload();
  await expect(page.getByRole('button', { name: 'Sign in as the developer' })).toBeVisible();
});

test('no token is stored where another page or the disk has it', async ({ page }) => {
  const stored = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]));
  expect(stored).not.toContain('eyJ');
});

test('an address with a slash at its end shows the same page', async ({ browser, origin, developer }) => {
  const page = await browser.newPage();
  const errors = watch(page);
  page.on('response', (response) => {
    if (!response.ok()) errors.push(`${response.status()} ${response.url()}`);
  });
  await signInWith(page, `${origin}`, developer, '/#/prompts');
  await expect(page.getByRole('heading', { level: 1, name: 'Prompts' })).toBeVisible();
  expect(errors).toEqual([]);
  await page.close();
});

test('a text that is no token is refused with a sentence', async ({ browser, origin }) => {
  const page = await browser.newPage();
  await signInWith(page, origin, 'sesame');
  await expect(page.getByRole('alert')).toContainText('not an access token');
  await page.close();
});

test('a token that the service refuses ends the session with a sentence', async ({ browser, origin, developer }) => {
  const page = await browser.newPage();
  const [header, payload] = developer.split('.');
  await signInWith(page, origin, `${header}.${payload}.AAAA`);
  await expect(page.getByRole('status')).toContainText('does not accept the token');
  await page.close();
});

test('what a role may not do is not offered, and its address is explained', async ({ browser, origin, runner }) => {
  const page = await browser.newPage();
  await signInWith(page, origin, await runner.token('--roles', 'reader'));
  const screens = page.getByRole('navigation', { name: 'Screens' });
  await expect(screens.getByRole('link')).toHaveText(['Events', 'Data', 'Prompts']);
  await open(page, '#/audit');
  await expect(page.getByRole('main')).toContainText('project:admin');
  await page.close();
});

test('the keyboard alone reaches every screen', async ({ page }) => {
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await expect(page.locator('#main')).toBeFocused();
  for (const [digit, title] of ['Runs', 'Events', 'Data', 'Prompts', 'Audit'].entries()) {
    await page.keyboard.press(`Alt+Digit${digit + 1}`);
    await expect(page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name: title })).toHaveAttribute('aria-current', 'page');
  }
});

test('the policy lets no text run as code', async ({ page, origin, allowErrors }) => {
  allowErrors(/Content Security Policy/);
  const policy = (await page.request.get(`${origin}/console`)).headers()['content-security-policy'];
  expect(policy).toContain("script-src 'self';");
  expect(policy).not.toContain('unsafe');
  const ran = await page.evaluate(async () => {
    const marks = window as unknown as { hit?: boolean };
    const script = document.createElement('script');
    script.textContent = 'window.hit = true';
    document.body.append(script);
    const image = document.createElement('div');
    image.innerHTML = '<img src="x:" onerror="window.hit = true">';
    document.body.append(image);
    await new Promise((resolve) => setTimeout(resolve, 200));
    let evaluated = true;
    try {
      new Function('return 1')();
    } catch {
      evaluated = false;
    }
    return marks.hit === true || evaluated;
  });
  expect(ran).toBe(false);
});

test('a screen that is left does not read the address of the next one as its own', async ({ page, api }) => {
  const { id } = await api('POST', '/prompts', { name: 'Addressed', role: 'user', content_type: 'text', content: 'x' });
  await expect(page.getByRole('heading', { level: 1, name: 'Runs' })).toBeVisible();
  for (let turn = 0; turn < 3; turn += 1) {
    await open(page, `#/prompts/${id}`);
    await expect(page.getByRole('heading', { level: 1, name: 'Addressed' })).toBeVisible();
    await open(page, '#/runs');
    await expect(page.getByRole('heading', { level: 1, name: 'Runs' })).toBeVisible();
  }
});

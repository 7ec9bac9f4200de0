import { expect, open, test, unique } from './console';

test('a run is found, followed, signalled and seen to end', { tag: '@smoke' }, async ({ page, ops }) => {
  const id = `horse-${unique()}`;
  await ops('run', 'start', 'Approval', '--id', id, 'title=Buy a horse');
  const link = page.getByRole('link', { name: id });
  await expect(link).toBeVisible();
  await link.click();
  await expect(page.getByRole('heading', { level: 1, name: id })).toBeVisible();
  await expect(page.getByText('running', { exact: true }).first()).toBeVisible();
  await page.getByRole('link', { name: 'Updates' }).click();
  await expect(page.getByText('waiting for an approval')).toBeVisible();
  await page.getByRole('link', { name: 'Query' }).click();
  await expect(page.getByText('signal Approve')).toBeVisible();
  await page.getByRole('button', { name: 'Signal' }).click();
  await expect(page.getByLabel('Signal', { exact: true })).toHaveValue('Approve');
  await page.getByRole('textbox', { name: 'Message of the signal' }).fill('A brown one.');
  await page.getByRole('button', { name: 'Send' }).click();
  await expect(page.getByText('completed', { exact: true }).first()).toBeVisible();
  await page.getByRole('link', { name: 'Input and result' }).click();
  await expect(page.getByText('"A brown one."')).toBeVisible();
  await page.getByRole('link', { name: 'Timeline' }).click();
  await expect(page.getByRole('button', { name: /signal Approve/ })).toBeVisible();
  await page.getByRole('link', { name: 'History' }).click();
  await expect(page.getByRole('cell', { name: 'workflow execution completed' })).toBeVisible();
});

test('filters are in the address, and an error of a condition is shown at its column', async ({ page, ops, allowErrors }) => {
  allowErrors(/400/);
  const id = `filtered-${unique()}`;
  await ops('run', 'start', 'Approval', '--id', id, 'title=One');
  await open(page, `#/runs?query=${encodeURIComponent(`WorkflowId = '${id}'`)}`);
  await expect(page.getByRole('table').getByRole('link')).toHaveText([id]);
  await page.getByRole('button', { name: 'failed' }).click();
  await expect(page).toHaveURL(/status=FAILED/);
  await expect(page.getByText('No run passes the filters')).toBeVisible();
  await page.getByRole('link', { name: 'Clear' }).click();
  await page.getByRole('textbox', { name: 'Condition' }).fill("WorkflowId ~ 'x'");
  await page.getByRole('button', { name: 'Apply' }).click();
  await expect(page.getByRole('alert')).toContainText('column 12');
  await expect(page.locator('.cm-lintRange-error')).toBeVisible();
});

test('a condition is completed by its fields, operators and statuses', async ({ page }) => {
  const condition = page.getByRole('textbox', { name: 'Condition' });
  await condition.pressSequentially('Exec');
  await page.getByRole('option', { name: 'ExecutionStatus' }).click();
  await condition.pressSequentially(" = '");
  await expect(page.getByRole('option', { name: 'FAILED' })).toBeVisible();
});

test('a view is saved under a name, and removed', async ({ page }) => {
  const name = `Mine ${unique()}`;
  await open(page, '#/runs?status=CANCELED&type=Approval');
  await page.getByLabel('Name of the view').fill(name);
  await page.getByRole('button', { name: 'Save view' }).click();
  await open(page, '#/runs');
  await page.getByRole('link', { name }).click();
  await expect(page).toHaveURL(/status=CANCELED/);
  await page.getByRole('button', { name: `Remove the view ${name}` }).click();
  await expect(page.getByRole('link', { name })).toHaveCount(0);
});

test('a run is cancelled and another terminated, with a reason', async ({ page, ops, api }) => {
  for (const [action, status] of [['Cancel', 'canceled'], ['Terminate', 'terminated']] as const) {
    const id = `${action}-${unique()}`;
    await ops('run', 'start', 'Approval', '--id', id, 'title=Two');
    const { runs } = await api('POST', '/workflows/runs', { query: `WorkflowId = '${id}'` });
    await open(page, `#/runs/${id}/${runs[0].run_id}`);
    await page.getByRole('button', { name: action, exact: true }).click();
    await page.getByLabel('Reason').fill('not needed');
    await page.getByRole('button', { name: `${action} the run` }).click();
    await expect(page.getByText(status, { exact: true }).first()).toBeVisible();
  }
});

test('no message is missing or repeated after the service was killed', async ({ browser }) => {
  const { Runner } = await import('./runner');
  const { apiOf, signIn } = await import('./console');
  const runner = await Runner.start();
  const page = await browser.newPage();
  try {
    const api = apiOf(runner.origin, await runner.token());
    await runner.ops('run', 'start', 'Approval', '--id', 'long', 'title=Three');
    const { runs } = await api('POST', '/workflows/runs', { query: "WorkflowId = 'long'" });
    const run = runs[0].run_id;
    await signIn(page, runner.origin, `#/runs/long/${run}?tab=updates`);
    const publish = (message: string) => api('POST', `/workflows/runs/${run}/updates`, { message });
    for (let index = 0; index < 5; index += 1) await publish(`before ${index}`);
    await expect(page.getByText('before 4')).toBeVisible();
    await runner.kill();
    await expect(page.getByText('The service cannot be reached')).toBeVisible();
    await runner.up();
    for (let index = 0; index < 5; index += 1) await publish(`after ${index}`);
    await expect(page.getByText('after 4')).toBeVisible();
    await expect(page.getByText('The service cannot be reached')).toHaveCount(0);
    const texts = await page.getByRole('list', { name: 'Messages' }).getByRole('listitem').allInnerTexts();
    const marked = texts.map((text) => /(before|after) \d/.exec(text)?.[0]).filter(Boolean);
    expect(marked).toEqual([...Array(5).keys()].map((i) => `after ${4 - i}`).concat([...Array(5).keys()].map((i) => `before ${4 - i}`)));
  } finally {
    await page.close();
    await runner.remove();
  }
});

test('names and payloads with markup are shown as text', async ({ page, api, ops }) => {
  const id = `<img src=x onerror=alert(1)> ${unique()}`;
  const hostile = '<script>window.hit=1</script><b>bold</b>';
  await ops('run', 'start', 'Approval', '--id', id, `title=${hostile}`);
  const { runs } = await api('POST', '/workflows/runs', { type: 'Approval', page_size: 500 });
  const run = runs.find((one: { workflow_id: string }) => one.workflow_id === id);
  await open(page, `#/runs/${encodeURIComponent(id)}/${run.run_id}?tab=data`);
  await expect(page.getByRole('heading', { level: 1, name: id })).toBeVisible();
  await expect(page.getByText(hostile)).toBeVisible();
  expect(await page.evaluate(() => 'hit' in window)).toBe(false);
});

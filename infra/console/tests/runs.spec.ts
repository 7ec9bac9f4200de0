import { randomUUID } from 'node:crypto';

import type { Locator, Page } from '@playwright/test';

import { expect, open, test } from './console';

const name = (what: string) => `${what}-${randomUUID().slice(0, 8)}`;

type Ops = (...args: string[]) => Promise<string>;

/** Starts a run and returns its address. */
async function start(ops: Ops, type: string, id: string, ...rest: string[]): Promise<{ path: string; hash: string; runId: string }> {
  const input = type === 'Approval' && rest.length === 0 ? ['title=A horse'] : rest;
  const said = await ops('run', 'start', type, '--id', id, ...input);
  const runId = /Started run (\S+)/.exec(said)?.[1] ?? '';
  expect(runId).not.toBe('');
  const path = `${encodeURIComponent(id)}/${runId}`;
  return { path: `/workflows/runs/${path}`, hash: `#/runs/${path}`, runId };
}

test('a run is found, watched, signalled and seen to end', { tag: '@smoke' }, async ({ page, ops }) => {
  const id = name('horse');
  await start(ops, 'Approval', id, 'title=Buy a horse');
  await open(page, '#/runs');
  await page.getByRole('table', { name: 'Runs' }).getByRole('link', { name: id }).click();

  await expect(page.getByRole('heading', { level: 1, name: id })).toBeVisible();
  await expect(page.getByText('● live')).toBeVisible();
  const timeline = page.getByRole('list', { name: 'Timeline' });
  await expect(timeline.getByRole('listitem')).toHaveCount(1);
  await expect(timeline).toContainText('running');

  await page.getByRole('button', { name: 'Send a signal' }).click();
  const dialog = page.getByRole('dialog', { name: 'Send a signal' });
  await expect(dialog.getByLabel('Signal', { exact: true })).toHaveValue('Approve');
  await write(page, 'Body', '{"message":"A brown one."}');
  await dialog.getByRole('button', { name: 'Send' }).click();

  await expect(page.getByText('was sent to the run')).toBeVisible();
  await expect(page.locator('main').getByText('completed', { exact: true })).toBeVisible();
  await expect(timeline.getByRole('listitem')).toHaveCount(2);
  await page.getByRole('link', { name: 'Input and result' }).click();
  await expect(page.getByText('"A brown one."')).toBeVisible();
  await expect(page.getByRole('button', { name: 'Terminate' })).toHaveCount(0);
});

test('the list shows new runs on top, and keeps the place and the focus of the reader', async ({ page, ops }) => {
  const id = name('list');
  await start(ops, 'Approval', id);
  await open(page, `#/runs?search_term=Approval`);
  const table = page.getByRole('table', { name: 'Runs' });
  const link = table.getByRole('link', { name: id, exact: true });
  await link.focus();
  await start(ops, 'Approval', `${id}-later`);
  const rows = table.getByRole('row');
  await expect(rows.nth(1)).toContainText(`${id}-later`, { timeout: 5_000 });
  await expect(link).toBeFocused();
});

test('filters are in the address, and a filter without a match says so', async ({ page, ops }) => {
  const id = name('filter');
  await start(ops, 'Steps', id, 'steps:=1');
  await open(page, '#/runs');
  await page.getByLabel('Workflow type').fill('Steps');
  await page.getByLabel('Workflow type').press('Enter');
  await page.getByRole('button', { name: 'completed', exact: true }).click();
  await page.getByLabel('Started', { exact: true }).selectOption({ label: 'In the last hour' });
  await expect(page).toHaveURL(/type=Steps/);
  await expect(page).toHaveURL(/status=COMPLETED/);
  await expect(page.getByRole('link', { name: id })).toBeVisible();

  await page.getByRole('button', { name: 'More filters' }).click();
  await page.getByLabel('Document id').fill('none-of-them');
  await page.getByLabel('Document id').press('Enter');
  await expect(page.getByRole('heading', { name: 'No run matches' })).toBeVisible();
  await page.getByRole('button', { name: 'Clear all' }).click();
  await expect(page.getByRole('link', { name: id })).toBeVisible();
  await expect(page).not.toHaveURL(/type=/);
});

test('a query is completed and applied, and a mistake is marked where it is', async ({ page, ops }) => {
  const id = name('query');
  await start(ops, 'Steps', id, 'steps:=1');
  await open(page, '#/runs');
  await page.getByRole('button', { name: 'Query', exact: true }).click();
  await focus(page, 'Query');
  await page.keyboard.type('Workf');
  await expect(page.getByRole('option', { name: /WorkflowType/ })).toBeVisible();
  await page.keyboard.press('Escape');
  await page.keyboard.type('lowId = nothing');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Apply' }).click();
  await expect(page.getByText(/at column 14: WorkflowId is a text/)).toBeVisible();
  await expect(page.locator('mark')).toHaveText('nothing');

  await write(page, 'Query', `WorkflowId = '${id}'`);
  await page.getByRole('button', { name: 'Apply' }).click();
  await expect(page.getByRole('link', { name: id })).toBeVisible();
  await expect(page.getByText('1 run', { exact: true })).toBeVisible();
});

test('a view is saved, opened and deleted', async ({ page }) => {
  const view = name('<b>view');
  await open(page, '#/runs?status=FAILED');
  await page.getByRole('button', { name: 'Save this view' }).click();
  await page.getByLabel('Name of the view').fill(view);
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  const views = page.getByRole('navigation', { name: 'Saved views' });
  await views.getByRole('link', { name: 'All runs' }).click();
  await expect(page).not.toHaveURL(/FAILED/);
  await views.getByRole('link', { name: view }).click();
  await expect(page).toHaveURL(/status=FAILED/);
  await views.getByRole('button', { name: `Delete the view ${view}` }).click();
  await expect(views.getByRole('link', { name: view })).toHaveCount(0);
});

test('the jump opens a run by either id, and says when there is none', async ({ page, ops }) => {
  const id = name("jump o'hara");
  const { runId } = await start(ops, 'Steps', id, 'steps:=1');
  for (const text of [id, runId]) {
    await open(page, '#/runs');
    await page.getByLabel('Run id or workflow id').fill(text);
    await page.getByRole('button', { name: 'Open', exact: true }).click();
    await expect(page.getByRole('heading', { level: 1, name: id })).toBeVisible();
  }
  await open(page, '#/runs');
  await page.getByLabel('Run id or workflow id').fill('no-such-run');
  await page.getByRole('button', { name: 'Open', exact: true }).click();
  await expect(page.getByText("the workflow id 'no-such-run'")).toBeVisible();
});

test('many runs are appended page by page', async ({ page }) => {
  const run = (number: number) => ({
    status: 'COMPLETED',
    started_at: new Date(1_700_000_000_000 - number * 1_000).toISOString(),
    execution_duration: 1,
    run_id: `r-${number}`,
    workflow_id: `w-${number}`,
    type: 'Many',
    initiated_by: 'user:ops',
    service_workflow_type: 'Many',
    visibility: 'project',
  });
  await page.route('**/api/v1/workflows/runs', async (route) => {
    const body = route.request().postDataJSON() as { page_size: number; next_page_token?: string };
    const from = Number(body.next_page_token ?? 0);
    const to = Math.min(3_000, from + body.page_size);
    const runs = Array.from({ length: to - from }, (_, index) => run(from + index));
    await route.fulfill({ json: { runs, has_more: to < 3_000, ...(to < 3_000 && { next_page_token: String(to) }) } });
  });
  await open(page, '#/runs?type=Many');
  await expect(page.getByText('50 runs so far')).toBeVisible();
  for (let pages = 0; pages < 15; pages += 1) {
    await page.getByRole('button', { name: 'Show more' }).click();
    await expect(page.getByText(`${Math.min(3_000, 50 + (pages + 1) * 200).toLocaleString('en')} runs`)).toBeVisible();
  }
  await expect(page.getByRole('button', { name: 'Show more' })).toHaveCount(0);
  expect(await page.getByRole('row').count()).toBeLessThan(80);
});

test('a page without a match is not the end', async ({ page }) => {
  let asked = 0;
  await page.route('**/api/v1/workflows/runs', async (route) => {
    const token = (route.request().postDataJSON() as { next_page_token?: string }).next_page_token;
    if (token !== undefined) asked += 1;
    await route.fulfill({ json: { runs: [], has_more: true, next_page_token: `${token ?? ''}x` } });
  });
  await open(page, '#/runs?type=Rare');
  await expect(page.getByRole('heading', { name: 'No match so far' })).toBeVisible();
  expect(asked).toBe(5);
});

test('the first run is explained, and a refusal is shown in the words of the API', async ({ page }) => {
  await page.route('**/api/v1/workflows/runs', (route) => route.fulfill({ json: { runs: [], has_more: false } }));
  await open(page, '#/runs?');
  await expect(page.getByText('ops run start')).toBeVisible();
  await expect(page.getByRole('link', { name: 'Open the subscriptions' })).toHaveAttribute('href', '#/events');
  await open(page, '#/runs/nope/nope');
  await expect(page.getByText("The workflow run 'nope' does not exist.")).toBeVisible();
});

test('attempts, failures and what is pending are shown', async ({ page, ops }) => {
  const { hash } = await start(ops, 'Steps', name('steps'), 'steps:=2', 'pause_ms:=400', 'failures:=2');
  await open(page, hash);
  const pending = page.getByRole('region', { name: 'Pending activities' });
  await expect(pending).toContainText('Attempt 1 fails.', { timeout: 10_000 });
  const timeline = page.getByRole('list', { name: 'Timeline' });
  await expect(timeline.getByText('3 attempts').first()).toBeVisible({ timeout: 15_000 });
  await expect(page.locator('main').getByText('completed', { exact: true }).first()).toBeVisible({ timeout: 20_000 });
  await expect(pending).toHaveCount(0);
  await timeline.getByRole('button').first().click();
  await expect(timeline).toContainText('Failure of the attempt before: Sample of step');
  await expect(timeline).toContainText('pause_ms');
  await timeline.getByRole('button', { name: 'Show this time alone' }).click();
  await page.getByRole('button', { name: 'Whole run' }).click();
});

test('the history is filtered by type, and each event opens', async ({ page, ops }) => {
  const { hash } = await start(ops, 'Steps', name('history'), 'steps:=3');
  await open(page, `${hash}?tab=history`);
  const history = page.getByRole('list', { name: 'History' });
  await expect(history.getByRole('listitem')).toHaveCount(11);
  await page.getByLabel('Event type').selectOption('ACTIVITY_TASK_SCHEDULED');
  await expect(page).toHaveURL(/event=ACTIVITY_TASK_SCHEDULED/);
  await expect(history.getByRole('listitem')).toHaveCount(3);
  await history.getByRole('button').first().click();
  await expect(history).toContainText('EVENT_TYPE_ACTIVITY_TASK_SCHEDULED');
});

test('a long history is read in parts and scrolls', async ({ page, ops, api }) => {
  const { hash, path } = await start(ops, 'Steps', name('long'), 'steps:=30');
  await expect.poll(async () => (await api('GET', path)).status, { timeout: 15_000 }).toBe('COMPLETED');
  const whole = await api('GET', `${path}?include_history=true`);
  const TIMES = 60;
  // The events of the run, again and again, as those of 1,800 activities in parts of 1,000 events.
  const events = Array.from({ length: TIMES }, (_, round) =>
    whole.history.events.slice(1, -1).map((event: Event) => shifted(event, round * (whole.history.events.length - 2))),
  ).flat();
  await page.route(`**/api/v1${path}?*`, async (route) => {
    const after = Number(new URL(route.request().url()).searchParams.get('history_after') ?? 0);
    const rest = events.filter((event) => event.event_id > after);
    const part = rest.slice(0, 1_000);
    const more = rest.length > part.length ? { next_after: part.at(-1)?.event_id } : {};
    await route.fulfill({ json: { ...whole, history: { type: 'events', events: part, ...more } } });
  });
  await open(page, hash);
  await expect(page.getByText('1,800 of 1,800')).toBeVisible();
  const timeline = page.getByRole('list', { name: 'Timeline' });
  expect(await timeline.getByRole('listitem').count()).toBeLessThan(60);
  await timeline.evaluate((list) => list.scrollTo({ top: list.scrollHeight }));
  await expect(timeline.locator('[aria-posinset="1800"]')).toBeVisible();
});

interface Event {
  event_id: number;
  activity?: { scheduledEventId: string };
}

function shifted(event: Event, by: number): Event {
  const activity = event.activity && { ...event.activity, scheduledEventId: String(Number(event.activity.scheduledEventId) + by) };
  return { ...event, event_id: event.event_id + by, ...(activity && { activity }) };
}

test('update messages arrive at once, each one time and in order', async ({ page, ops, api }) => {
  const { hash, runId } = await start(ops, 'Approval', name('updates'));
  await open(page, `${hash}?tab=updates`);
  const log = page.getByRole('log', { name: 'Update messages' });
  await expect(page.getByText('Live: new messages appear by themselves.')).toBeVisible();
  await expect(log).toContainText('waiting for an approval');
  for (let number = 1; number <= 20; number += 1) {
    await api('POST', `/workflows/runs/${runId}/updates`, { type: 'PROGRESS', message: `message ${number} <b>`, details: { completed: number, total: 20 } });
  }
  await expect(log.getByText('message 20 <b>')).toBeVisible({ timeout: 1_000 });
  const texts = await log.getByText(/^message \d+ <b>$/).allTextContents();
  expect(texts).toEqual(Array.from({ length: 20 }, (_, index) => `message ${20 - index} <b>`));
  await expect(log.getByText('20 of 20')).toBeVisible();
});

test('a developer posts an update, also after the end', async ({ page, ops }) => {
  const { hash } = await start(ops, 'Steps', name('post'), 'steps:=1');
  await open(page, `${hash}?tab=updates`);
  await expect(page.getByText('The run has ended.')).toBeVisible();
  await page.getByText('Post an update').click();
  await page.getByLabel('Update text').fill('Checked by hand');
  await write(page, 'Details', '{"ok": tru');
  await expect(page.getByText(/A value is missing here/)).toBeVisible();
  await expect(page.getByRole('button', { name: 'Post', exact: true })).toBeDisabled();
  await write(page, 'Details', '{"ok": true}');
  await page.getByRole('button', { name: 'Post', exact: true }).click();
  await expect(page.getByRole('log')).toContainText('Checked by hand');
});

test('a broken stream is taken up again, without a message missing or doubled', async ({ page, ops, api }) => {
  const { hash, path, runId } = await start(ops, 'Approval', name('broken'));
  let broken = 0;
  await page.route('**/stream?*', async (route) => {
    // The first two connections end after a message each.
    if (broken >= 2) return route.continue();
    broken += 1;
    const last = Number(route.request().headers()['last-event-id'] ?? 0);
    const listed = await api('GET', `${path}/updates`);
    const frames = listed.messages.slice(last, last + 1).map((message: unknown, index: number) => `id: ${last + index + 1}\ndata: ${JSON.stringify(message)}\n\n`);
    await route.fulfill({ status: 200, contentType: 'text/event-stream', body: `: open\n\n${frames.join('')}` });
  });
  for (const text of ['one', 'two', 'three']) await api('POST', `/workflows/runs/${runId}/updates`, { message: text });
  await open(page, `${hash}?tab=updates`);
  const log = page.getByRole('log', { name: 'Update messages' });
  await expect(log.getByRole('listitem')).toHaveCount(4);
  await expect(page.getByText('Live: new messages appear by themselves.')).toBeVisible();
  expect(broken).toBe(2);
  await api('POST', `/workflows/runs/${runId}/updates`, { message: 'four' });
  await expect(log.getByRole('listitem').first()).toContainText('four');
  await expect(log.getByRole('listitem')).toHaveCount(5);
});

test('a run is cancelled with a reason', async ({ page, ops }) => {
  const { hash } = await start(ops, 'Approval', name('cancel'));
  await open(page, hash);
  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Cancel the run?' });
  await dialog.getByLabel('Reason').fill('Sold out');
  await dialog.getByRole('button', { name: 'Cancel the run' }).click();
  await expect(page.locator('main').getByText('canceled', { exact: true }).first()).toBeVisible();
  await page.getByRole('link', { name: 'History' }).click();
  await expect(page.getByRole('list', { name: 'History' })).toContainText('Sold out');
});

test('a run is terminated, and a second time is refused in the words of the API', async ({ page, ops, api }) => {
  const { hash, path } = await start(ops, 'Approval', name('terminate'));
  await open(page, hash);
  await page.getByRole('button', { name: 'Terminate' }).click();
  const dialog = page.getByRole('dialog', { name: 'Terminate the run?' });
  await dialog.getByLabel('Reason').fill('Stuck');
  await api('POST', `${path}/actions/terminate`, {});
  await dialog.getByRole('button', { name: 'Terminate the run' }).click();
  await expect(dialog.getByRole('alert')).toContainText(/run/);
  await expect(dialog.getByLabel('Reason')).toHaveValue('Stuck');
  await dialog.getByRole('button', { name: 'Back' }).click();
  await expect(page.getByText(/^Error: Terminated/)).toBeVisible();
});

test('a signal that is refused keeps what was written', async ({ page, ops }) => {
  const { hash } = await start(ops, 'Approval', name('signal'));
  await open(page, hash);
  await page.getByRole('button', { name: 'Send a signal' }).click();
  const dialog = page.getByRole('dialog', { name: 'Send a signal' });
  await expect(dialog.getByText('The run waits for Approve.')).toBeVisible();
  await write(page, 'Body', '{"text":"no message"}');
  await dialog.getByRole('button', { name: 'Send' }).click();
  await expect(dialog.getByRole('alert')).toContainText('message');
  await expect(dialog.getByRole('textbox', { name: 'Body' })).toContainText('no message');
  await write(page, 'Body', '[1]');
  await expect(dialog.getByText('This must be an object')).toBeVisible();
  await expect(dialog.getByRole('button', { name: 'Send' })).toBeDisabled();
});

test('a run is queried by its address and by name', async ({ page, ops }) => {
  const { hash } = await start(ops, 'Approval', name('ask'), 'title=<script>alert(1)</script>');
  await open(page, `${hash}?tab=query&name=__state`);
  await expect(page.getByText('"<script>alert(1)</script>"')).toBeVisible();
  await page.getByRole('button', { name: '__stack' }).click();
  await expect(page.getByText('"signal Approve"')).toBeVisible();
  await page.getByLabel('Name of the query').fill('Nonsense');
  await page.getByRole('button', { name: 'Ask' }).click();
  await expect(page.locator('main').getByRole('alert')).toContainText('Nonsense');
});

test('a conversation reads as a chat', async ({ page, ops }) => {
  const { hash, path } = await start(ops, 'AgentConversation', name('talk'), '--role', 'executor', '--input', '{"interactive":true,"data":{"text":"hello"}}');
  const user = { role: 'user', text: '<i>hello</i>' };
  const call = { role: 'assistant', text: 'I look.', tool_calls: [{ id: 'c', name: 'query_data_store', arguments: { sql: 'SELECT 1' } }] };
  const messages: unknown[] = [user, call, { role: 'tool', results: [{ tool_call_id: 'c', text: 'one row', is_error: false }] }];
  await page.route(`**${path}/query/Conversation`, (route) => route.fulfill({ json: { agent: 'a', messages } }));
  await page.route(`**${path}/query/__state`, (route) => route.fulfill({ json: { waits_for: 'UserInput' } }));
  // Without a model the run fails at once.
  await page.route(new RegExp(`${path}(\\?.*)?$`), async (route) => {
    const detail = await (await route.fetch()).json();
    await route.fulfill({ status: 200, json: { ...detail, status: 'RUNNING', closed_at: undefined, error: null, type: 'AgentConversation' } });
  });
  await page.route(`**${path}/signal/UserInput`, async (route) => {
    messages.push({ role: 'user', text: (route.request().postDataJSON() as { message: string }).message });
    await route.fulfill({ json: { status: 'success', message: 'Sent.' } });
  });
  await page.route(`**${path}/stream?*`, (route) => {
    const frame = (id: number, type: string, message: string, details: unknown) =>
      `id: ${id}\ndata: ${JSON.stringify({ timestamp: id, workflow_run_id: 'r', type, message, details })}\n\n`;
    const body = frame(1, 'PROGRESS', 'Turn 2: the model is asked.', { turn: 2 }) + frame(2, 'PARTIAL_TEXT', 'It gro', { turn: 2, attempt: 1, part: 1 }) + frame(3, 'PARTIAL_TEXT', 'ws', { turn: 2, attempt: 1, part: 2 });
    return route.request().headers()['last-event-id'] === undefined ? route.fulfill({ status: 200, contentType: 'text/event-stream', body }) : undefined;
  });
  await open(page, hash);
  const chat = page.getByRole('log', { name: 'Conversation' });
  await expect(chat).toContainText('<i>hello</i>');
  await expect(chat).toContainText('I look.');
  await chat.getByText('query_data_store').click();
  await expect(chat).toContainText('SELECT 1');
  await expect(chat).toContainText('one row');
  await expect(chat).toContainText('It grows');
  await expect(page.getByText('The agent waits for your answer.')).toBeVisible();
  await page.getByLabel('Your message').fill('Go on.');
  await page.getByLabel('Your message').press('Enter');
  await expect(chat.getByText('Go on.')).toHaveCount(1);
  await expect(chat.getByText('not read yet')).toHaveCount(0);
  await expect(page.getByLabel('Your message')).toHaveValue('');
});

test('hostile and large data is shown as text and in pieces', async ({ page, ops }) => {
  const id = name('<img src=x onerror=alert(1)> "quoted" %2F ?x=1');
  const list = Array.from({ length: 15_000 }, (_, index) => index);
  const { hash } = await start(ops, 'Steps', id, '--input', JSON.stringify({ '<b>key</b>': '<script>alert(1)</script>', list, steps: 1 }));
  await open(page, '#/runs');
  await page.getByRole('link', { name: id }).click();
  await expect(page.getByRole('heading', { level: 1, name: id })).toBeVisible();
  await open(page, `${hash}?tab=payloads`);
  await expect(page.getByText('"<script>alert(1)</script>"')).toBeVisible();
  await expect(page.getByRole('button', { name: 'Show more of 15,000' })).toBeVisible();
});

test('the screen works at 360 pixels without scrolling sideways', async ({ page, ops }) => {
  await page.setViewportSize({ width: 360, height: 740 });
  const { hash } = await start(ops, 'Approval', name('narrow-with-a-name-that-is-rather-long-for-a-phone'));
  for (const address of ['#/runs', '#/runs?query=x', hash, `${hash}?tab=history`, `${hash}?tab=updates`, `${hash}?tab=query`]) {
    await open(page, address);
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
    await page.waitForTimeout(400);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
  }
});

/** The editor of a label, once it has taken the place of the text field. */
function editor(page: Page, label: string): Locator {
  return page.getByRole('textbox', { name: label, exact: true }).and(page.locator('[contenteditable]'));
}

/** Focuses an editor. One of a single line is a plain field until then. */
async function focus(page: Page, label: string): Promise<void> {
  await page.getByRole('textbox', { name: label, exact: true }).click();
  await expect(editor(page, label)).toBeFocused();
}

/** Replaces the text of an editor. */
async function write(page: Page, label: string, text: string): Promise<void> {
  await focus(page, label);
  await page.keyboard.press('ControlOrMeta+A');
  await page.keyboard.press('Delete');
  await page.keyboard.insertText(text);
}

import { createServer, type Server } from 'node:http';

import { expect, open, test, unique } from './console';

/** A receiver of webhooks that answers with this status. */
async function receiver(status: number): Promise<{ url: string; requests: { headers: Record<string, unknown>; body: string }[]; close: () => void }> {
  const requests: { headers: Record<string, unknown>; body: string }[] = [];
  const server: Server = createServer((request, response) => {
    let body = '';
    request.on('data', (part: Buffer) => (body += part));
    request.on('end', () => {
      requests.push({ headers: request.headers, body });
      response.writeHead(status, { 'content-type': 'text/plain' }).end('<b>no stock</b>');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { url: `http://127.0.0.1:${port}/hook`, requests, close: () => server.close() };
}

test('a channel and a subscription are made, an event is sent, and its delivery and signature are seen', { tag: '@smoke' }, async ({ page }) => {
  const got = await receiver(200);
  const name = `Orders ${unique()}`;
  await open(page, '#/events/channels/new');
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Source', { exact: true }).fill('shop');
  await page.getByRole('button', { name: 'Create' }).click();
  await expect(page.getByText('Ingest token — shown once')).toBeVisible();

  await open(page, '#/events/subscriptions/new');
  await page.getByLabel('Name').fill(name);
  await page.getByRole('textbox', { name: 'JSONLogic condition' }).fill('{">": [{"var": "details.payload.total"}, 1000]}');
  await page.getByLabel('URL').fill(got.url);
  await page.getByRole('textbox', { name: 'Sample event' }).fill('{"event_category":"external","action":"order_placed","resource_type":"x","resource_id":"1","source":"external:shop","details":{"payload":{"total":10}}}');
  await expect(page.getByText('The sample does not match.')).toBeVisible();
  await page.getByRole('textbox', { name: 'Sample event' }).fill('{"event_category":"external","action":"order_placed","resource_type":"x","resource_id":"1","source":"external:shop","details":{"payload":{"total":2000}}}');
  await expect(page.getByText('The sample matches.')).toBeVisible();
  await page.getByRole('button', { name: 'Create' }).click();
  await expect(page.getByText('Signing secret — shown once')).toBeVisible();
  const secret = await page.locator('.secret code').innerText();

  await open(page, '#/events/channels');
  await page.getByRole('link', { name }).click();
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await page.getByText('Accepted as').getByRole('link').click();
  await expect(page.getByText('succeeded', { exact: true }).last()).toBeVisible();
  await page.getByRole('button', { name: 'order_placed' }).click();
  const dialog = page.getByRole('dialog');
  await expect(dialog.getByText('200')).toBeVisible();
  await dialog.getByText('Check a signature').click();
  const [request] = got.requests;
  await dialog.getByLabel('Signing secret').fill(secret);
  await dialog.getByLabel('X-Service-Timestamp').fill(String(request?.headers['x-service-timestamp']));
  await dialog.getByLabel('X-Service-Signature').fill(String(request?.headers['x-service-signature']));
  await dialog.getByLabel('Body, as it was received').fill(request?.body ?? '');
  await dialog.getByRole('button', { name: 'Check' }).click();
  await expect(dialog.getByText('The signature fits.')).toBeVisible();
  await dialog.getByLabel('Body, as it was received').fill(`${request?.body} `);
  await dialog.getByRole('button', { name: 'Check' }).click();
  await expect(dialog.getByText('does not fit')).toBeVisible();
  got.close();
});

test('a delivery that fails shows the answer as text, and when the next attempt is', async ({ page, api, origin }) => {
  const got = await receiver(503);
  const source = `failing-${unique()}`;
  await api('POST', '/events/subscriptions', {
    name: '<img src=x onerror=alert(1)>',
    run_as_role: 'reader',
    filter: { event_category: ['external'], condition: { '==': [{ var: 'source' }, `external:${source}`] } },
    target: { type: 'webhook', url: got.url },
  });
  const channel = await api('POST', '/events/channels', { name: source, source });
  const sent = await fetch(`${origin}/ingest/webhooks/events/acme/demo/${channel.id}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${channel.ingest_token}` },
    body: '{}',
  });
  const { event_id } = (await sent.json()) as { event_id: string };
  await open(page, `#/events/deliveries?event_id=${event_id}`);
  await expect(page.getByText('next attempt')).toBeVisible();
  await page.getByRole('button', { name: 'received' }).click();
  await expect(page.getByRole('dialog').getByText('<b>no stock</b>')).toBeVisible();
  await expect(page.getByRole('dialog').getByText('503', { exact: true })).toBeVisible();
  got.close();
});

test('a refusal is shown in the words of the service, and the input stays', async ({ page, allowErrors }) => {
  allowErrors(/400/);
  await open(page, '#/events/subscriptions/new');
  await page.getByLabel('Name').fill('Refused');
  await page.getByLabel('URL').fill('http://127.0.0.1:22/');
  await page.getByRole('button', { name: 'Create' }).click();
  await expect(page.getByRole('alert').last()).toContainText('request');
  await expect(page.getByLabel('Name')).toHaveValue('Refused');
  await page.getByRole('textbox', { name: 'JSONLogic condition' }).fill('{"==": [');
  await expect(page.getByText('The condition is no JSON object')).toBeVisible();
  await expect(page.getByRole('button', { name: 'Create' })).toBeDisabled();
});

test('a subscription is changed, its secret rotated, and deleted', async ({ page, api }) => {
  const name = `Changed ${unique()}`;
  const { id } = await api('POST', '/events/subscriptions', {
    name,
    run_as_role: 'reader',
    filter: { event_category: ['*'] },
    target: { type: 'webhook', url: 'http://127.0.0.1:4999/', signing_mode: 'signed' },
  });
  await open(page, `#/events/subscriptions/${id}`);
  await expect(page.getByLabel('Name')).toHaveValue(name);
  await page.getByLabel('Actions').fill('create, update');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect.poll(async () => (await api('GET', `/events/subscriptions/${id}`)).filter.action).toEqual(['create', 'update']);
  await page.getByRole('button', { name: 'Rotate the secret' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click();
  await expect(page.getByText('Signing secret — shown once')).toBeVisible();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Subscriptions' })).toBeVisible();
});

/** Signs in at a real OpenID provider, whose tokens the runner takes by its settings, and signs out there. */

import { createServer, type Server } from 'node:http';

import { expect, test } from '@playwright/test';
import { Provider } from 'oidc-provider';

import { Runner } from './runner';

const AUDIENCE = 'https://millrace.example.com';

/** Starts a provider that knows the console as a public client. */
async function start(console: string): Promise<{ issuer: string; server: Server }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('The provider has no port.');
  const issuer = `http://127.0.0.1:${address.port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: 'console',
        token_endpoint_auth_method: 'none',
        application_type: 'native',
        grant_types: ['authorization_code', 'refresh_token'],
        redirect_uris: [console],
        post_logout_redirect_uris: [console],
      },
    ],
    clientBasedCORS: () => true,
    cookies: { keys: ['of this test alone'] },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    features: {
      devInteractions: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => AUDIENCE,
        getResourceServerInfo: () => ({ scope: '', audience: AUDIENCE, accessTokenFormat: 'jwt' }),
        useGrantedResource: () => true,
      },
    },
    ttl: { AccessToken: 60 },
  });
  server.on('request', provider.callback());
  return { issuer, server };
}

test('a user of a provider signs in, chooses a project, and signs out @smoke', async ({ browser }) => {
  const port = await Runner.freePort();
  const home = `http://127.0.0.1:${port}/console`;
  const { issuer, server } = await start(home);
  const identity = { issuer, audience: AUDIENCE, memberships: true, account: { value: 'acme' } };
  const runner = await Runner.start(
    {
      MILLRACE_IDENTITY: JSON.stringify(identity),
      MILLRACE_CONSOLE_CLIENT_ID: 'console',
      MILLRACE_CONSOLE_ISSUER: issuer,
      MILLRACE_CONSOLE_AUDIENCE: AUDIENCE,
    },
    port,
  );
  try {
    const page = await browser.newPage();
    const signIn = async () => {
      await page.getByRole('button', { name: /^Sign in at/ }).click();
      await page.locator('input[name=login]').fill('ada|1');
      await page.locator('input[name=password]').fill('any');
      await page.locator('button[type=submit]').click();
      await page.locator('button[type=submit]').click();
    };
    await page.goto(`${home}#/prompts`);
    // The runner gives no token of its own.
    await expect(page.getByRole('button', { name: 'Sign in as the developer' })).toHaveCount(0);
    await signIn();
    await expect(page.getByText('You are a member of no project yet')).toBeVisible();

    for (const project of ['demo', 'other']) {
      await runner.ops('member', 'add', 'ada|1', '--account', 'acme', '--project', project);
    }
    // What was read a moment ago counts for 30 seconds, in the process that read it.
    await runner.kill();
    await runner.up();
    await page.getByRole('button', { name: /^Sign in at/ }).click();
    // The provider knows the user, and asks a native client to confirm again.
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('button', { name: 'acme/other' }).click();
    await expect(page.getByText('ada|1')).toBeVisible();
    await expect(page.getByRole('combobox', { name: 'Project' })).toHaveValue('acme/other');

    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: /yes/i }).click();
    await expect(page).toHaveURL(new RegExp(`^${home}`));
    await expect(page.getByRole('button', { name: /^Sign in at/ })).toBeVisible();
    await page.close();
  } finally {
    await runner.remove();
    server.closeAllConnections();
    server.close();
  }
});

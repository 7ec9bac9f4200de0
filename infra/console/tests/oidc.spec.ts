/** Signs in at an OpenID provider, which the test plays: it checks what the console sends. */

import { createHash } from 'node:crypto';

import type { Page } from '@playwright/test';

import { expect, test } from './console';

interface Provider {
  /** What the console sent to the authorization endpoint. */
  asked: URLSearchParams | undefined;
  /** What the console sent for the code. */
  exchanged: URLSearchParams | undefined;
  /** What it sent for the next token. */
  refreshed: URLSearchParams | undefined;
  /** What it sent when the user signed out. */
  ended: URLSearchParams | undefined;
}

const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Plays a provider at the runner's own origin, which the policy of the page allows. */
async function provider(page: Page, origin: string, accessToken: string, state?: string): Promise<Provider> {
  const issuer = `${origin}/idp`;
  const seen: Provider = { asked: undefined, exchanged: undefined, refreshed: undefined, ended: undefined };
  const oidc = { issuer, client_id: 'console', scope: 'openid millrace', audience: 'https://api.example' };
  await page.route(`${origin}/console/config.json`, (route) => route.fulfill({ json: { ingest_url: 'ingest', developer_token: false, oidc } }));
  await page.route(`${issuer}/.well-known/openid-configuration`, (route) =>
    route.fulfill({
      json: {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        end_session_endpoint: `${issuer}/end`,
      },
    }),
  );
  await page.route(`${issuer}/end?*`, (route) => {
    seen.ended = new URL(route.request().url()).searchParams;
    return route.fulfill({ body: 'Signed out at the provider.' });
  });
  await page.route(`${issuer}/authorize?*`, (route) => {
    seen.asked = new URL(route.request().url()).searchParams;
    const back = `${seen.asked.get('redirect_uri')}?code=once&state=${state ?? seen.asked.get('state')}`;
    return route.fulfill({ status: 302, headers: { location: back } });
  });
  await page.route(`${issuer}/token`, (route) => {
    const sent = new URLSearchParams(route.request().postData() ?? '');
    if (sent.get('grant_type') === 'refresh_token') {
      seen.refreshed = sent;
      return route.fulfill({ json: { access_token: accessToken, token_type: 'Bearer', expires_in: 60 } });
    }
    seen.exchanged = sent;
    const now = Math.floor(Date.now() / 1_000);
    const claims = { iss: issuer, aud: 'console', sub: 'dev', nonce: seen.asked?.get('nonce'), iat: now, exp: now + 60 };
    const id_token = `${encoded({ alg: 'RS256' })}.${encoded(claims)}.c2lnbmVk`;
    return route.fulfill({ json: { access_token: accessToken, token_type: 'Bearer', expires_in: 60, refresh_token: 'r1', id_token } });
  });
  return seen;
}

test('the code is exchanged with its verifier, and the view that was asked for opens', async ({ browser, origin, developer }) => {
  const page = await browser.newPage();
  const seen = await provider(page, origin, developer);
  await page.goto(`${origin}/console#/prompts`);
  await page.getByRole('button', { name: /^Sign in at/ }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Prompts' })).toBeVisible();
  expect(page.url()).toBe(`${origin}/console#/prompts`);
  expect(seen.asked?.get('response_type')).toBe('code');
  expect(seen.asked?.get('scope')).toBe('openid millrace');
  expect(seen.asked?.get('audience')).toBe('https://api.example');
  expect(seen.asked?.get('code_challenge_method')).toBe('S256');
  const verifier = seen.exchanged?.get('code_verifier') ?? '';
  expect(createHash('sha256').update(verifier).digest('base64url')).toBe(seen.asked?.get('code_challenge'));
  expect(seen.exchanged?.get('client_secret')).toBeNull();
  const stored = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]));
  expect(stored).not.toContain('eyJ');
  expect(stored).not.toContain(verifier);
  await page.close();
});

test('an answer with another state is refused', async ({ browser, origin, developer }) => {
  const page = await browser.newPage();
  const seen = await provider(page, origin, developer, 'forged');
  await page.goto(`${origin}/console`);
  await page.getByRole('button', { name: /^Sign in at/ }).click();
  await expect(page.getByRole('status')).toContainText('state');
  expect(seen.exchanged).toBeUndefined();
  await page.close();
});

test('a refused token is refreshed once, and signing out ends the session at the provider too', async ({ browser, origin, developer }) => {
  const page = await browser.newPage();
  const seen = await provider(page, origin, developer);
  await page.goto(`${origin}/console#/prompts`);
  await page.getByRole('button', { name: /^Sign in at/ }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Prompts' })).toBeVisible();
  let refusals = 1;
  await page.route(`${origin}/api/v1/data*`, (route) =>
    refusals-- > 0 ? route.fulfill({ status: 401, json: { status: 401, error: 'unauthenticated', message: 'expired' } }) : route.continue(),
  );
  await page.getByRole('link', { name: 'Data' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Data' })).toBeVisible();
  await expect.poll(() => seen.refreshed?.get('refresh_token')).toBe('r1');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await expect(page.getByText('Signed out at the provider.')).toBeVisible();
  expect(seen.ended?.get('client_id')).toBe('console');
  expect(seen.ended?.get('post_logout_redirect_uri')).toBe(`${origin}/console`);
  expect(seen.ended?.get('id_token_hint')).toContain('.');
  await page.close();
});

test('a member of several projects chooses one, and every request names it', async ({ browser, origin, developer }) => {
  const page = await browser.newPage();
  await provider(page, origin, developer);
  const project = (project_id: string) => ({ account_id: 'acme', project_id, roles: ['developer'] });
  const named: (string | undefined)[] = [];
  await page.route(`${origin}/api/v1/me`, (route) => {
    const chosen = route.request().headers()['x-millrace-project']?.replace('acme/', '');
    const principal = { reference: 'user:auth0|ada', account_id: 'acme', project_id: chosen, roles: ['developer'], permissions: ['interaction:read'] };
    return route.fulfill({ json: { projects: [project('demo'), project('other')], ...(chosen === undefined ? {} : { principal }) } });
  });
  await page.route(`${origin}/api/v1/prompts*`, (route) => {
    named.push(route.request().headers()['x-millrace-project']);
    return route.fulfill({ json: [] });
  });
  await page.goto(`${origin}/console#/prompts`);
  await page.getByRole('button', { name: /^Sign in at/ }).click();
  await page.getByRole('button', { name: 'acme/other' }).click();
  await expect(page.getByText('auth0|ada')).toBeVisible();
  await expect(page.getByRole('heading', { level: 1, name: 'Prompts' })).toBeVisible();
  await page.getByRole('combobox', { name: 'Project' }).selectOption('acme/demo');
  await expect.poll(() => named.at(-1)).toBe('acme/demo');
  expect(named[0]).toBe('acme/other');
  await page.close();
});

test('a token without an account ends in a sentence, not in another sign-in', async ({ browser, origin }) => {
  const page = await browser.newPage();
  await provider(page, origin, `${encoded({ alg: 'RS256' })}.${encoded({ sub: 'dev' })}.c2lnbmVk`);
  await page.goto(`${origin}/console`);
  await page.getByRole('button', { name: /^Sign in at/ }).click();
  await expect(page.getByRole('status')).toContainText('another issuer');
  await expect(page.getByRole('button', { name: /^Sign in at/ })).toBeVisible();
  await page.close();
});

/** Signs in at an OpenID provider, which the test plays: it checks what the console sends. */

import { createHash } from 'node:crypto';

import type { Page } from '@playwright/test';

import { expect, test } from './console';

interface Provider {
  /** What the console sent to the authorization endpoint. */
  asked: URLSearchParams | undefined;
  /** What the console sent for the code. */
  exchanged: URLSearchParams | undefined;
}

const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Plays a provider at the runner's own origin, which the policy of the page allows. */
async function provider(page: Page, origin: string, accessToken: string, state?: string): Promise<Provider> {
  const issuer = `${origin}/idp`;
  const seen: Provider = { asked: undefined, exchanged: undefined };
  const oidc = { issuer, client_id: 'console', scope: 'openid millrace' };
  await page.route(`${origin}/console/config.json`, (route) => route.fulfill({ json: { ingest_url: 'ingest', developer_token: false, oidc } }));
  await page.route(`${issuer}/.well-known/openid-configuration`, (route) =>
    route.fulfill({ json: { issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token` } }),
  );
  await page.route(`${issuer}/authorize?*`, (route) => {
    seen.asked = new URL(route.request().url()).searchParams;
    const back = `${seen.asked.get('redirect_uri')}?code=once&state=${state ?? seen.asked.get('state')}`;
    return route.fulfill({ status: 302, headers: { location: back } });
  });
  await page.route(`${issuer}/token`, (route) => {
    seen.exchanged = new URLSearchParams(route.request().postData() ?? '');
    const now = Math.floor(Date.now() / 1_000);
    const claims = { iss: issuer, aud: 'console', sub: 'dev', nonce: seen.asked?.get('nonce'), iat: now, exp: now + 60 };
    const id_token = `${encoded({ alg: 'RS256' })}.${encoded(claims)}.c2lnbmVk`;
    return route.fulfill({ json: { access_token: accessToken, token_type: 'Bearer', expires_in: 60, id_token } });
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

test('a token without an account ends in a sentence, not in another sign-in', async ({ browser, origin }) => {
  const page = await browser.newPage();
  await provider(page, origin, `${encoded({ alg: 'RS256' })}.${encoded({ sub: 'dev' })}.c2lnbmVk`);
  await page.goto(`${origin}/console`);
  await page.getByRole('button', { name: /^Sign in at/ }).click();
  await expect(page.getByRole('status')).toContainText('account_id');
  await expect(page.getByRole('button', { name: /^Sign in at/ })).toBeVisible();
  await page.close();
});

/** What every test of the console begins with: a runner, a signed-in page, and the API beside it. */

import { expect, test as base, type Page } from '@playwright/test';

import { Runner } from './runner';

/** Calls the API with the developer's token, and returns the parsed body. The path is below `/api/v1`. */
export type Api = <T = any>(method: string, path: string, body?: unknown) => Promise<T>;

interface Fixtures {
  /**
   * Signed in as the developer; an error in the page fails the test, except those that `allowErrors` takes
   * out.
   */
  page: Page;
  api: Api;
  ops: Runner['ops'];
  origin: string;
  /** Errors of the page that the test expects, such as a refused request. */
  allowErrors: (pattern: RegExp) => void;
}

interface Shared {
  runner: Runner;
  developer: string;
}

export const test = base.extend<Fixtures, Shared>({
  runner: [
    async ({}, use) => {
      const runner = await Runner.start();
      await use(runner);
      await runner.remove();
    },
    { scope: 'worker', timeout: 90_000 },
  ],
  developer: [async ({ runner }, use) => use(await runner.token()), { scope: 'worker' }],
  origin: async ({ runner }, use) => use(runner.origin),
  ops: async ({ runner }, use) => use((...args) => runner.ops(...args)),
  api: async ({ runner, developer }, use) => use(apiOf(runner.origin, developer)),
  allowErrors: async ({}, use) => {
    const patterns: RegExp[] = [];
    const allow = Object.assign((pattern: RegExp) => void patterns.push(pattern), { patterns });
    await use(allow);
  },
  page: async ({ page, origin, allowErrors }, use) => {
    const errors = watch(page);
    await signIn(page, origin);
    await use(page);
    const { patterns } = allowErrors as unknown as { patterns: RegExp[] };
    expect(errors.filter((error) => !patterns.some((pattern) => pattern.test(error)))).toEqual([]);
  },
});

export { expect };

/** Collects what goes wrong in a page: exceptions, errors of its console and violations of its policy. */
export function watch(page: Page): string[] {
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(`exception: ${error.message}`));
  page.on('console', (message) => {
    // Chromium says so of each refused request, which tests cause on purpose.
    if (message.text().startsWith('Failed to load resource')) return;
    if (message.type() === 'error') errors.push(`console: ${message.text()} ${message.location().url}`);
  });
  return errors;
}

/** Opens the console and signs in with one click. */
export async function signIn(page: Page, origin: string, view = ''): Promise<void> {
  await page.goto(`${origin}/console${view}`);
  await page.getByRole('button', { name: 'Sign in as the developer' }).click();
  await expect(page.getByRole('navigation', { name: 'Screens' })).toBeVisible();
}

/** Signs in with this token. */
export async function signInWith(page: Page, origin: string, token: string, view = ''): Promise<void> {
  await page.goto(`${origin}/console${view}`);
  await page.getByLabel('Or paste an access token').fill(token);
  await page.getByRole('button', { name: 'Sign in with this token' }).click();
}

/** Opens a view, such as `#/data`. */
export async function open(page: Page, view: string): Promise<void> {
  await page.evaluate((hash) => (location.hash = hash), view);
}

export function apiOf(origin: string, token: string): Api {
  return async (method, path, body) => {
    const response = await fetch(`${origin}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };
}

/** A suffix that makes names of a test its own. */
export function unique(): string {
  return Math.random().toString(36).slice(2, 8);
}

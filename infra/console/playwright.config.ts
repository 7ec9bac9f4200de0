import { defineConfig } from '@playwright/test';

/** Its own download of a browser is not used: `CHROMIUM` names the program. */
const executablePath = process.env['CHROMIUM'];
if (executablePath === undefined) throw new Error('CHROMIUM is not set: use `make test-console`, which sets it.');

export default defineConfig({
  testDir: 'tests',
  outputDir: 'test-results',
  // Each worker has a runner of its own.
  workers: 2,
  fullyParallel: true,
  // Above what a slow machine needs; a test that waits for more waits for nothing.
  timeout: 180_000,
  expect: { timeout: 60_000 },
  reporter: [['list', { printSteps: false }]],
  use: {
    launchOptions: { executablePath, args: ['--no-sandbox'] },
    viewport: { width: 1280, height: 860 },
    locale: 'en-GB',
    trace: 'off',
    screenshot: 'only-on-failure',
  },
});

// Measures the console in a browser, against a runner that runs. `make bench ARGS=console` calls it.
//
// It prints a JSON object: times in milliseconds, lists of all measurements.
//
//   ORIGIN    of the runner, which serves the console
//   TOKEN     of its developer
//   RUN       `<workflow id>/<run id>` of a run that goes on; without one only the list of runs is measured
//   CHROMIUM  the browser
import { chromium } from '@playwright/test';

const { ORIGIN: origin, TOKEN: token, RUN: run, CHROMIUM: executablePath } = process.env;
const LOADS = 15;
const UPDATES = 100;
const ROWS = 10_000;
/** Runs that are read of a long list. */
const LISTED = 4_000;
/** Of a scroll, in milliseconds. */
const SCROLL_MS = 4_000;
const SIGN_IN = { name: 'Sign in as the developer' };

const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
try {
  const figures = { ...(await loads()), list_pages: await pages() };
  if (run !== undefined) {
    const store = await prepare();
    figures.updates = await updates();
    figures.grid = await grid(store);
    figures.chart = await chart(store);
    figures.json = await json();
  }
  console.log(JSON.stringify(figures));
} finally {
  await browser.close();
}

/** To the first row of the list in a browser without a cache: from its address, and from the click that signs in. */
async function loads() {
  const [list, list_signed_in] = [[], []];
  for (let load = 0; load < LOADS; load += 1) {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.addInitScript(() => {
      // Signs in as soon as it can be done, and notes when the first row is on the screen.
      const watch = new MutationObserver(() => {
        const button = [...document.querySelectorAll('button')].find((one) => one.textContent.includes('Sign in as the developer'));
        if (button && !globalThis.signed) {
          globalThis.signed = performance.now();
          button.click();
        }
        if (document.querySelector('[role="table"][aria-label="Runs"] [role="cell"]')) {
          watch.disconnect();
          requestAnimationFrame(() => setTimeout(() => (globalThis.painted = [performance.now(), performance.now() - globalThis.signed])));
        }
      });
      watch.observe(document, { childList: true, subtree: true });
    });
    await page.goto(`${origin}/console#/runs`, { waitUntil: 'commit' });
    const [whole, signedIn] = await (await page.waitForFunction(() => globalThis.painted)).jsonValue();
    list.push(whole);
    list_signed_in.push(signedIn);
    await context.close();
  }
  return { list, list_signed_in };
}

async function signedIn(view = '') {
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 860 } })).newPage();
  await page.goto(`${origin}/console${view}`);
  await page.getByRole('button', SIGN_IN).click();
  await page.getByRole('navigation', { name: 'Screens' }).waitFor();
  await page.evaluate(() => {
    globalThis.tasks = [];
    new PerformanceObserver((list) => globalThis.tasks.push(...list.getEntries().map((entry) => entry.duration))).observe({
      type: 'longtask',
    });
  });
  return page;
}

/** Longest time that the page stood still since the last call; tasks under 50 ms are not counted. */
async function longest(page) {
  await page.waitForTimeout(300);
  return page.evaluate(() => Math.max(0, ...globalThis.tasks.splice(0)));
}

/** Reads the list on and on, and scrolls through it. */
async function pages() {
  const page = await signedIn('#/runs');
  const table = page.getByRole('table', { name: 'Runs' });
  const rows = async () => Number(await table.getAttribute('aria-rowcount')) - 1;
  const more = page.getByRole('button', { name: 'Show more' });
  await table.waitFor();
  await longest(page);
  while ((await rows()) < LISTED && (await more.isVisible())) {
    const before = await rows();
    await more.click();
    await page.waitForFunction((count) => Number(document.querySelector('[aria-label="Runs"]').ariaRowCount) > count + 1, before);
  }
  await table.evaluate(async (element) => {
    for (let at = 0; at < element.scrollHeight; at += 5_000) {
      element.scrollTop = at;
      await new Promise(requestAnimationFrame);
    }
  });
  const result = { rows: await rows(), longest: await longest(page) };
  await page.context().close();
  return result;
}

async function call(method, path, body) {
  const response = await fetch(`${origin}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response.json();
}

async function prepare() {
  const { id } = await call('POST', '/data', { name: `Console ${Date.now()}` });
  await call('POST', `/data/${id}/tables`, { tables: [{ name: 'numbers', columns: [{ name: 'n', type: 'BIGINT' }] }] });
  return id;
}

/** From the post of an update to its message on the screen. */
async function updates() {
  const page = await signedIn(`#/runs/${run}?tab=updates`);
  await page.getByText('● live').waitFor();
  await page.evaluate(() => {
    globalThis.seen = {};
    const note = () => {
      for (const [text] of document.body.innerText.matchAll(/measured-\d+-/g)) {
        if (!(text in globalThis.seen)) {
          globalThis.seen[text] = 0;
          requestAnimationFrame(() => setTimeout(() => (globalThis.seen[text] = Date.now())));
        }
      }
    };
    new MutationObserver(note).observe(document.body, { childList: true, subtree: true, characterData: true });
  });
  const times = [];
  for (let update = 0; update < UPDATES; update += 1) {
    const text = `measured-${update}-`;
    const posted = Date.now();
    await call('POST', `/workflows/runs/${run.split('/')[1]}/updates`, { type: 'PROGRESS', message: text });
    const seen = await page.waitForFunction((name) => globalThis.seen[name] || undefined, text, { polling: 10 });
    times.push((await seen.jsonValue()) - posted);
  }
  const result = { times };
  await page.context().close();
  return result;
}

/** Scrolls through all rows of an answer, with the wheel of a mouse. */
async function grid(store) {
  const page = await signedIn(`#/data/${store}/query`);
  await ask(page, `SELECT range AS n, range * 2 AS double, hash(range)::VARCHAR AS text, now() AS at FROM range(${ROWS})`);
  const table = page.getByRole('table', { name: 'Rows of the answer' });
  await table.waitFor();
  await page.waitForTimeout(500);
  const { x, y } = await middle(table);
  const session = await page.context().newCDPSession(page);
  const events = [];
  session.on('Tracing.dataCollected', ({ value }) => events.push(...value));
  await session.send('Tracing.start', { transferMode: 'ReportEvents', traceConfig: { includedCategories: ['disabled-by-default-devtools.timeline.frame'] } });
  const distance = 12_000;
  await session.send('Input.synthesizeScrollGesture', { x, y, yDistance: -distance, speed: (distance / SCROLL_MS) * 1_000, gestureSourceType: 'mouse' });
  const done = new Promise((resolve) => session.once('Tracing.tracingComplete', resolve));
  await session.send('Tracing.end');
  await done;
  const stamps = events.filter((event) => event.name === 'DrawFrame').map((event) => event.ts / 1_000).sort((a, b) => a - b);
  const gaps = stamps.slice(1).map((stamp, index) => stamp - stamps[index]);
  const result = { frames: stamps.length, ms: stamps.at(-1) - stamps[0], gaps, longest: await longest(page) };
  await page.context().close();
  return result;
}

/** Draws a point for each row, and moves the pointer over them. */
async function chart(store) {
  const page = await signedIn(`#/data/${store}/query`);
  await ask(page, `SELECT range AS n, hash(range) % 1000 AS y FROM range(${ROWS})`);
  await page.getByRole('table', { name: 'Rows of the answer' }).waitFor();
  await longest(page);
  const clicked = performance.now();
  await page.getByRole('button', { name: 'Chart', exact: true }).click();
  await page.locator('.chart canvas').waitFor();
  const took = performance.now() - clicked;
  const { x, y } = await middle(page.locator('.chart canvas'));
  for (let move = 0; move < 40; move += 1) await page.mouse.move(x - 200 + move * 10, y);
  const result = { took, longest: await longest(page) };
  await page.context().close();
  return result;
}

/** A run whose result is 10 MB of JSON. */
async function json() {
  const page = await signedIn();
  const whole = await call('GET', `/workflows/runs/${run}`);
  const entries = Array.from({ length: 60_000 }, (_, index) => ({ id: index, name: `<b>${index}</b>`, text: 'x'.repeat(120) }));
  const body = JSON.stringify({ ...whole, result: { entries }, input: { text: 'y'.repeat(1_000_000) } });
  await page.route(`**/workflows/runs/${run}*`, (route) => route.fulfill({ body, contentType: 'application/json' }));
  await page.evaluate((hash) => (location.hash = hash), `#/runs/${run}?tab=payloads`);
  await page.getByText('[60000]').waitFor();
  await page.waitForTimeout(1_500);
  const result = { longest: await longest(page) };
  await page.context().close();
  return result;
}

async function ask(page, statement) {
  await page.getByLabel('Limit').fill(String(ROWS));
  await page.locator('.cm-content').and(page.getByRole('textbox', { name: 'SQL statement' })).fill(statement);
  await page.keyboard.press('Control+Enter');
}

async function middle(locator) {
  const { x, y, width, height } = await locator.boundingBox();
  return { x: x + width / 2, y: y + height / 2 };
}

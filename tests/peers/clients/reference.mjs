// Uses the reference page as a reader would: authorizes with a token, and sends the examples of two operations that it shows.
// Prints what the page answered, what its policy refused, and the hosts that it asked.
import { createRequire } from 'node:module';
import process from 'node:process';

const [modules, browser, origin, token] = process.argv.slice(2);
const puppeteer = createRequire(`${modules}/`)('puppeteer-core');

const chromium = await puppeteer.launch({ executablePath: browser, timeout: 120_000, args: ['--no-sandbox', '--disable-gpu'] });
const page = await chromium.newPage();
// A machine that runs other tests beside this one is slow.
page.setDefaultTimeout(120_000);
const found = { answers: {}, errors: [], hosts: [] };
page.on('console', (message) => message.type() === 'error' && found.errors.push(message.text()));
page.on('pageerror', (error) => found.errors.push(String(error)));
page.on('request', (request) => {
  const { protocol, host } = new URL(request.url());
  if (protocol.startsWith('http') && !found.hosts.includes(host)) found.hosts.push(host);
});

await page.goto(origin, { waitUntil: 'networkidle0' });
found.page = new URL(page.url()).pathname;

await page.click('.authorize');
await page.waitForSelector('.auth-container input');
await page.type('.auth-container input', token);
await page.click('.auth-container .authorize');
await page.click('.btn-done');

for (const operation of ['createPrompt', 'listPrompts']) {
  const block = `[id$="-${operation}"]`;
  await page.click(`${block} .opblock-summary-control`);
  await page.waitForSelector(`${block} .try-out__btn`);
  await page.click(`${block} .try-out__btn`);
  await page.waitForSelector(`${block} .execute`);
  await page.click(`${block} .execute`);
  const answer = await page.waitForSelector(`${block} .live-responses-table tbody .response-col_status`);
  found.answers[operation] = (await answer.evaluate((cell) => cell.textContent)).trim().slice(0, 3);
}
console.log(JSON.stringify(found));
await chromium.close();

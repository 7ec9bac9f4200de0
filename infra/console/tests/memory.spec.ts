import { readFileSync, writeFileSync } from 'node:fs';

import type { Browser, Page } from '@playwright/test';

import { expect, open, test, unique, type Api } from './console';

/** The memory that the console promises for a chart, in MB. */
const MAX_MB = 512;
const MANY = { query: 'SELECT range AS n, range AS value, range AS density, range AS prob, range AS t FROM range(10000)', queryLimit: 10_000 };
const N = { field: 'n', type: 'quantitative' };
const MARKS = { mark: 'text', encoding: { x: N, y: N } };
const LIST = 'sequence(0, 10000)';
const letters = (count: number) => `pad('', ${count}, 'a')`;
const TEXT = `join(${LIST}, ${letters(100)})`;

/** Charts that would take gigabytes, each by another part of Vega. */
const HUNGRY: [string, Record<string, unknown>][] = [
  ['lists', { ...MARKS, transform: [{ calculate: LIST, as: 'list' }] }],
  ['lists in lists', { ...MARKS, transform: [{ calculate: `[${Array(20).fill(LIST).join()}]`, as: 'list' }] }],
  ['lists of numbers', { ...MARKS, transform: [{ calculate: `[[${Array(2_000).fill(1).join()}], [${Array(2_000).fill(2).join()}]]`, as: 'list' }] }],
  ['objects', { ...MARKS, transform: [{ calculate: `[${Array.from({ length: 500 }, (_, at) => `{a${at}: datum.n, b: {c: 1}}`).join()}]`, as: 'list' }] }],
  ['texts in a list', { ...MARKS, transform: [{ calculate: letters(1_000), as: 'text' }, { calculate: `[${Array(50).fill('upper(datum.text)').join()}]`, as: 'list' }] }],
  ['rows of lists', { ...MARKS, transform: [{ calculate: 'sequence(0, 500)', as: 'list' }, { flatten: ['list'] }] }],
  ['folds', { ...MARKS, transform: [{ fold: Array<string>(1_000).fill('n') }] }],
  ['folds of folds', { ...MARKS, transform: Array.from({ length: 12 }, () => ({ fold: ['n', 'n', 'n'] })) }],
  ['texts', { ...MARKS, transform: [{ calculate: TEXT, as: 'text' }] }],
  ['texts of one letter', { ...MARKS, transform: Array.from({ length: 20 }, (_, at) => ({ calculate: letters(9_000 + at), as: `t${at}` })) }],
  ['texts of long letters', { ...MARKS, transform: [{ calculate: `pad('', 9000, ${letters(9_000)})`, as: 'text' }, { calculate: 'length(upper(datum.text))', as: 'size' }] }],
  ['texts that double', { ...MARKS, transform: Array.from({ length: 28 }, (_, at) => ({ calculate: at === 0 ? letters(100) : 'datum.text + datum.text', as: 'text' })) }],
  ['texts in texts', { ...MARKS, transform: [{ calculate: `length(replace(${TEXT}, /a/g, ${letters(1_000)}))`, as: 'size' }] }],
  ['texts of the rest', { ...MARKS, transform: [{ calculate: `length(replace(${TEXT}, /a/g, "$'"))`, as: 'size' }] }],
  ['lists of letters', { ...MARKS, transform: [{ calculate: `length(split(replace(${letters(6_000)}, /a/g, ${letters(6_000)}), ''))`, as: 'size' }] }],
  ['pivots', { ...MARKS, transform: [{ pivot: 'n', value: 'n', groupby: ['n'] }] }],
  // A dashboard has a mark, and yet may have more than one view.
  ['layers', { ...MARKS, layer: Array.from({ length: 190 }, () => MARKS) }],
  ['repeated views', { ...MARKS, repeat: { row: Array<string>(100).fill('n'), column: Array<string>(100).fill('n') }, spec: MARKS }],
  ['views of views', { ...MARKS, concat: Array.from({ length: 20 }, () => ({ repeat: ['n', 'n', 'n', 'n'], spec: { layer: [MARKS, MARKS, MARKS] } })) }],
  ['facets', { mark: 'point', encoding: { x: N, facet: { field: 'n', type: 'nominal' } } }],
  ['curves', { mark: 'line', transform: [{ density: 'n', steps: { signal: '1e9' } }], encoding: { x: { field: 'value', type: 'quantitative' }, y: { field: 'density', type: 'quantitative' } } }],
  ['curves of groups', { mark: 'line', transform: [{ density: 'n', groupby: ['n'], steps: 1_000 }], encoding: { x: { field: 'value', type: 'quantitative' } } }],
  ['quantiles', { mark: 'point', transform: [{ quantile: 'n', step: 1e-9 }], encoding: { x: { field: 'prob', type: 'quantitative' } } }],
  ['ticks', { mark: 'point', encoding: { x: { ...N, axis: { tickCount: { expr: '1e9' } } } } }],
  ['ticks of times', { mark: 'point', transform: [{ calculate: 'datum.n * 1e9', as: 't' }], encoding: { x: { field: 't', type: 'temporal', axis: { tickCount: { interval: 'millisecond', step: 1 } } } } }],
  ['bins of a scale', { mark: 'point', encoding: { x: { ...N, scale: { bins: { step: 1e-6 } } } } }],
  ['timers that keep lists', { mark: 'point', encoding: { x: N }, params: [{ name: 'kept', value: [], on: [{ events: 'timer{1}', update: `[kept, ${Array(20).fill(LIST).join()}]` }] }] }],
];

const REFUSED = /more than 512 MB|more than 10000|more than 200 views/;

async function chart(api: Api, store: string, spec: object): Promise<string> {
  const { id } = await api('POST', `/data/${store}/dashboards`, { name: unique(), spec, ...MANY });
  return `#/data/${store}/dashboards/${id}`;
}

/** The processes of a browser. */
async function processes(browser: Browser): Promise<number[]> {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  await session.detach();
  return processInfo.map(({ id }) => id);
}

/** Memory of processes, in MB: what they hold, or the most that they held since `forget`. */
function memory(ids: number[], line: 'VmRSS' | 'VmHWM'): Map<number, number> {
  const read = (id: number) => Number(new RegExp(`${line}:\\s*(\\d+)`).exec(readFileSync(`/proc/${id}/status`, 'utf8'))?.[1]) / 1_024;
  return new Map(ids.map((id) => [id, read(id)]));
}

const forget = (ids: number[]) => ids.forEach((id) => writeFileSync(`/proc/${id}/clear_refs`, '5'));

async function outcome(page: Page): Promise<string> {
  await expect(page.locator('.chart canvas').or(page.getByRole('alert'))).toBeVisible();
  return (await page.getByRole('alert').isVisible()) ? page.getByRole('alert').innerText() : '';
}

test.describe('memory of charts', () => {
  test.skip(process.platform !== 'linux', 'reads the memory of processes as Linux tells it');

  for (const [title, spec] of HUNGRY) {
    test(`a chart of ${title} is stopped before it takes ${MAX_MB} MB`, async ({ page, api, browser }) => {
      const { id } = await api('POST', '/data', { name: unique() });
      const view = await chart(api, id, spec);
      const ids = await processes(browser);
      forget(ids);
      const before = memory(ids, 'VmRSS');
      await open(page, view);
      await expect(page.getByRole('alert')).toContainText(REFUSED);
      const most = memory(ids, 'VmHWM');
      const taken = ids.reduce((sum, process) => sum + (most.get(process) ?? 0) - (before.get(process) ?? 0), 0);
      test.info().annotations.push({ type: 'memory', description: `${Math.round(taken)} MB` });
      expect(taken).toBeLessThan(MAX_MB);
      await expect.poll(() => page.workers().length).toBe(0);
    });
  }

  test('what a chart lets go does not count', async ({ page, api }) => {
    const { id } = await api('POST', '/data', { name: unique() });
    // Each value makes 200,000 rows anew.
    const transform = [{ calculate: 'sequence(0, 20)', as: 'list' }, { flatten: ['list'] }, { calculate: 'datum.list * most', as: 'y' }, { aggregate: [{ op: 'sum', field: 'y', as: 'sum' }] }];
    const spec = { params: [{ name: 'most', value: 1, bind: { input: 'range', min: 1, max: 100 } }], transform, mark: 'bar', encoding: { y: { field: 'sum', type: 'quantitative' } } };
    await open(page, await chart(api, id, spec));
    expect(await outcome(page)).toBe('');
    const slider = page.getByRole('slider', { name: 'most' });
    for (let value = 2; value < 30; value += 1) await slider.fill(String(value));
    await page.waitForTimeout(500);
    for (let value = 30; value < 60; value += 1) {
      await slider.fill(String(value));
      await page.waitForTimeout(50);
    }
    await expect(page.getByRole('alert')).toBeHidden();
    await expect(page.locator('.chart canvas')).toBeVisible();
  });
});

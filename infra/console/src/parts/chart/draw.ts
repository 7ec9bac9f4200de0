/**
 * Draws with Vega-Lite. Expressions of a specification are interpreted, because the policy of the page forbids
 * code from text, and nothing is loaded from an address that a specification names.
 */

import { expressionInterpreter } from 'vega-interpreter';
import { compile, type TopLevelSpec } from 'vega-lite';

import type { Input, Look } from './messages';
import { SURFACE, type Container } from './surface';
import { parse, View } from './vega';

/** Types of fields that take one of several values. */
const CHOICES = ['select', 'radio'];

export async function draw(
  container: Container,
  spec: Record<string, unknown>,
  rows: readonly Record<string, unknown>[],
  look: Look,
): Promise<{ view: View; inputs: Input[] }> {
  const sized = {
    width: look.width,
    height: look.height,
    autosize: { type: 'fit', contains: 'padding' },
    ...spec,
    data: { values: rows },
  };
  const compiled = compile(sized as unknown as TopLevelSpec, { config: configOf(look) });
  // Without a loader that refuses, a specification with `url` of a look-up or an image would send requests.
  const loader = { load: refuse, sanitize: refuse, http: refuse, file: refuse };
  const runtime = parse(compiled.spec as never, undefined as never, { ast: true } as never);
  // The page shows the fields of parameters.
  runtime.eventConfig = { ...runtime.eventConfig, bind: 'none' };
  const tooltip = (_handler: unknown, _event: unknown, _item: unknown, value: unknown) => container.tell({ kind: 'tooltip', text: textOf(value) });
  const view = new View(runtime, { expr: expressionInterpreter, loader, renderer: SURFACE, container, hover: true, tooltip } as never);
  view.logLevel(0);
  await view.runAsync();
  const inputs = runtime.bindings
    .filter(({ input, options }) => input !== undefined && (!CHOICES.includes(input) || Array.isArray(options)))
    .map((binding) => ({ ...binding, value: view.signal(binding.signal) as unknown }));
  return { view, inputs };
}

function configOf({ text, line, accent, dark }: Look) {
  return {
    background: 'transparent',
    font: 'system-ui, sans-serif',
    view: { stroke: 'transparent' },
    axis: { labelColor: text, titleColor: text, gridColor: line, domainColor: line, tickColor: line },
    legend: { labelColor: text, titleColor: text },
    title: { color: text },
    mark: { color: accent, tooltip: true },
    range: { category: { scheme: dark ? 'set2' : 'dark2' } },
  } as never;
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value !== 'object' || value instanceof Date) return String(value);
  const lines = Object.entries(value).map(([name, part]) => `${name}: ${typeof part === 'object' ? JSON.stringify(part) : String(part)}`);
  return lines.join('\n');
}

function refuse(): Promise<never> {
  return Promise.reject(new Error('A chart reads the rows of its query, and nothing from another address.'));
}

/**
 * Draws with Vega-Lite. Expressions of a specification are interpreted, because the policy of the page forbids
 * code from text, and nothing is loaded from an address that a specification names.
 */

import { compile, type TopLevelSpec } from 'vega-lite';

import { begin } from './budget';
import { inputOf, MAX_TEXT, shown } from './inputs';
import { interpreter, limitViews } from './limits';
import type { Input, Look } from './messages';
import { SURFACE, type Container } from './surface';
import { parse, View } from './vega';

export interface Drawn {
  view: View;
  inputs: Input[];
  /** Sets a parameter to the value of its field. */
  set: (signal: string, value: unknown) => Promise<void>;
}

/** Throws what kept the chart from being drawn. */
export async function draw(
  container: Container,
  { spec, rows, look }: { spec: Record<string, unknown>; rows: readonly Record<string, unknown>[]; look: Look },
): Promise<Drawn> {
  limitViews(spec);
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
  // Vega logs an error of its dataflow and goes on.
  const failures: unknown[] = [];
  const log = { level: () => log, error: (cause: unknown) => (failures.push(cause), log), warn: () => log, info: () => log, debug: () => log };
  const view = new View(runtime, { expr: interpreter, loader, logger: log, renderer: SURFACE, container, hover: true, tooltip } as never);
  const run = view.evaluate;
  view.evaluate = (...args) => {
    begin(view);
    return run.apply(view, args);
  };
  await view.runAsync();
  if (failures.length > 0) throw failures[0];
  log.error = (cause) => (container.tell({ kind: 'failed', message: messageOf(cause) }), log);

  let setting: string | undefined;
  const inputs = runtime.bindings.flatMap((binding) => inputOf(binding, view.signal(binding.signal) as unknown));
  for (const { signal } of inputs) {
    view.addSignalListener(signal, (_name, value: unknown) => {
      if (signal !== setting) container.tell({ kind: 'value', signal, value: shown(value) });
    });
  }
  const set = async (signal: string, value: unknown) => {
    // The fields of a chart that was drawn before may still be on the page.
    if (!inputs.some((input) => input.signal === signal)) return;
    setting = signal;
    await view.signal(signal, value).runAsync();
    setting = undefined;
  };
  return { view, inputs, set };
}

export function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
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
  if (typeof value !== 'object' || value instanceof Date) return String(value).slice(0, MAX_TEXT);
  const lines = Object.entries(value).map(([name, part]) => `${name}: ${typeof part === 'object' ? JSON.stringify(part) : String(part)}`);
  return lines.join('\n').slice(0, MAX_TEXT);
}

function refuse(): Promise<never> {
  return Promise.reject(new Error('A chart reads the rows of its query, and nothing from another address.'));
}

/**
 * Draws with Vega-Lite. Expressions of a specification are interpreted, because the policy of the page
 * forbids code from text, and nothing is loaded from an address that a specification names.
 */

import { expressionInterpreter } from 'vega-interpreter';
import { compile, type TopLevelSpec } from 'vega-lite';

import { parse, View } from './vega';

interface Look {
  dark: boolean;
  /** In pixels. */
  height: number;
}

/** Draws, and returns what removes the chart. */
export async function drawChart(
  element: HTMLElement,
  spec: Record<string, unknown>,
  rows: readonly Record<string, unknown>[],
  look: Look,
): Promise<() => void> {
  const sized = {
    width: Math.max(element.clientWidth, 100),
    height: look.height,
    autosize: { type: 'fit', contains: 'padding' },
    ...spec,
    data: { values: rows },
  };
  const compiled = compile(sized as unknown as TopLevelSpec, { config: configOf(element, look) });
  // Without a loader that refuses, a specification with `url` of a look-up or an image would send requests.
  const loader = { load: refuse, sanitize: refuse, http: refuse, file: refuse };
  // The view takes the role and the name of its container away.
  const place = document.createElement('div');
  element.append(place);
  const runtime = parse(compiled.spec as never, undefined as never, { ast: true } as never);
  const view = new View(runtime, { expr: expressionInterpreter, loader, renderer: 'canvas', container: place, hover: true } as never);
  view.logLevel(0);
  await view.runAsync();
  return () => {
    view.finalize();
    place.remove();
  };
}

function configOf(element: HTMLElement, { dark }: Look) {
  const style = getComputedStyle(element);
  const colour = (name: string) => resolve(element, style.getPropertyValue(name));
  const [text, line, accent] = [colour('--text'), colour('--line'), colour('--accent')];
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

function refuse(): Promise<never> {
  return Promise.reject(new Error('A chart reads the rows of its query, and nothing from another address.'));
}

/** Returns the value of a colour, where a property holds `light-dark(…)`. */
function resolve(element: HTMLElement, value: string): string {
  const probe = document.createElement('span');
  probe.style.color = value;
  element.append(probe);
  const resolved = getComputedStyle(probe).color;
  probe.remove();
  return resolved;
}

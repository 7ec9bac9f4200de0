/**
 * Draws with Vega. Expressions of a specification are interpreted, because the policy of the page forbids code from
 * text, and nothing is loaded from an address that a specification names.
 */

import embed from 'vega-embed';
import { expressionInterpreter } from 'vega-interpreter';

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
  { dark, height }: Look,
): Promise<() => void> {
  const style = getComputedStyle(element);
  const colour = (name: string) => resolve(element, style.getPropertyValue(name));
  const [text, line, accent] = [colour('--text'), colour('--line'), colour('--accent')];
  const axis = { labelColor: text, titleColor: text, gridColor: line, domainColor: line, tickColor: line };
  const nothing = { load: refuse, sanitize: refuse, http: refuse, file: refuse };
  const result = await embed(
    element,
    { width: 'container', height, autosize: { type: 'fit', contains: 'padding' }, ...spec, data: { values: rows } } as never,
    {
      mode: 'vega-lite',
      actions: false,
      ast: true,
      expr: expressionInterpreter as never,
      defaultStyle: false,
      tooltip: false,
      renderer: 'canvas',
      loader: nothing as never,
      config: {
        background: 'transparent',
        font: 'system-ui, sans-serif',
        view: { stroke: 'transparent' },
        axis,
        legend: { labelColor: text, titleColor: text },
        title: { color: text },
        mark: { color: accent, tooltip: true },
        range: { category: { scheme: dark ? 'set2' : 'dark2' } },
      } as never,
    },
  );
  return () => result.finalize();
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

/** Reads from the page how a chart in it looks. */

import type { Look } from './messages';

/** In pixels; where an element has no place yet. */
const MIN_WIDTH = 100;

export function lookOf(element: HTMLElement, height: number, dark: boolean): Look {
  const style = getComputedStyle(element);
  const colour = (name: string) => resolve(element, style.getPropertyValue(name));
  return {
    width: Math.max(element.clientWidth, MIN_WIDTH),
    height,
    ratio: devicePixelRatio,
    text: colour('--text'),
    line: colour('--line'),
    accent: colour('--accent'),
    dark,
  };
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

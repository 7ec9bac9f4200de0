// Packages of Vega without types of their own.
declare module 'vega-dataflow' {
  export const transforms: Record<string, unknown>;
}
declare module 'vega-encode';
declare module 'vega-functions' {
  type Function = (...args: unknown[]) => unknown;
  export function expressionFunction(name: string, replacement?: Function): Function;
}
declare module 'vega-geo';
declare module 'vega-regression';
declare module 'vega-transforms' {
  interface Bin {
    value: { start: number; stop: number; step: number };
    transform: (this: Bin, options: unknown, pulse: unknown) => unknown;
  }
  export const bin: { prototype: Bin };
}
declare module 'vega-view-transforms';
declare module 'vega-voronoi';
declare module 'vega-parser' {
  import type { Config, Runtime as Typed, Spec } from 'vega-typings';

  export interface Runtime extends Typed {
    eventConfig?: object;
    bindings: ({ signal: string } & Record<string, unknown>)[];
  }
  export function parse(spec: Spec, config?: Config, options?: object): Runtime;
}
declare module 'vega-view' {
  export { View } from 'vega-typings';
}
declare module 'vega-scenegraph' {
  export class Renderer {
    _el: unknown;
    initialize(element: unknown, width: number, height: number, origin: number[], scale?: number, options?: object): Renderer;
    resize(width: number, height: number, origin: number[], scale?: number): Renderer;
  }
  export class CanvasRenderer extends Renderer {
    _options: object;
    _canvas: unknown;
  }
  export class CanvasHandler {}
  export function renderModule(name: string, parts: object): void;
}

// Packages of Vega without types of their own.
declare module 'vega-dataflow' {
  export const transforms: Record<string, unknown>;
  export interface Transform {
    prototype: { transform: (this: unknown, parameters: Record<string, unknown>, pulse: unknown) => unknown };
  }
}
declare module '*/vega-dataflow/build/vega-dataflow.js' {
  type Tuple = Record<string, unknown>;
  export function ingest(datum: unknown): Tuple;
  export function derive(tuple: Tuple): Tuple;
  export function replace(tuple: Tuple, other: Tuple): Tuple;
  export const Dataflow: { prototype: { add: (...operator: unknown[]) => unknown } };
}
declare module 'vega-encode' {
  import type { Transform } from 'vega-dataflow';
  export const axisticks: Transform;
  export const legendentries: Transform;
  export const scale: Transform;
}
declare module 'vega-functions' {
  type Function = (...args: unknown[]) => unknown;
  export const functionContext: Record<string, Function>;
  export function expressionFunction(name: string, replacement?: Function): Function;
}
declare module 'vega-geo';
declare module 'vega-regression' {
  import type { Transform } from 'vega-dataflow';
  export const loess: Transform;
  export const regression: Transform;
}
declare module 'vega-transforms' {
  import type { Transform } from 'vega-dataflow';
  interface Aggregate {
    _measures: unknown[];
    newcell: (this: Aggregate, ...group: unknown[]) => unknown;
  }
  export const aggregate: { prototype: Aggregate };
  export const density: Transform;
  export const kde: Transform;
  export const quantile: Transform;
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
  import { View as Typed } from 'vega-typings';
  export class View extends Typed {
    evaluate: (...run: unknown[]) => Promise<this>;
  }
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

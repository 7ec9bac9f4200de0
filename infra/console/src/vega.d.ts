// Packages of Vega without types of their own.
declare module 'vega-dataflow' {
  export const transforms: Record<string, unknown>;
}
declare module 'vega-encode';
declare module 'vega-geo';
declare module 'vega-regression';
declare module 'vega-transforms';
declare module 'vega-view-transforms';
declare module 'vega-voronoi';
declare module 'vega-parser' {
  export { parse } from 'vega-typings';
}
declare module 'vega-view' {
  export { View } from 'vega-typings';
}

/**
 * The parts of Vega that Vega-Lite compiles to. The package `vega` adds force layouts, hierarchies, label
 * placement, word clouds and cross filters, which no Vega-Lite chart uses: a tenth of the size.
 */

import { transforms } from 'vega-dataflow';
import * as encode from 'vega-encode';
import * as geo from 'vega-geo';
import * as regression from 'vega-regression';
import * as basic from 'vega-transforms';
import * as view from 'vega-view-transforms';
import * as voronoi from 'vega-voronoi';

Object.assign(transforms, basic, view, encode, geo, regression, voronoi);

export { parse } from 'vega-parser';
export { View } from 'vega-view';

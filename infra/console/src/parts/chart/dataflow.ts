/** Vega's dataflow, which counts the tuples, marks and operators that it makes; the build puts it in the place of the package. */

import * as plain from '../../../node_modules/vega-dataflow/build/vega-dataflow.js';

import { objectOf, take } from './budget';

export * from '../../../node_modules/vega-dataflow/build/vega-dataflow.js';

type Tuple = Record<string, unknown>;

/** A tuple without fields becomes a mark, which has many. In bytes. */
const MARK = 1_000;
const OPERATOR = 1_500;

export function ingest(datum: unknown): Tuple {
  const fields = typeof datum === 'object' && datum !== null ? Object.keys(datum).length : 1;
  take(fields === 0 ? MARK : objectOf(fields));
  return plain.ingest(datum);
}

export function derive(tuple: Tuple): Tuple {
  take(objectOf(Object.keys(tuple).length));
  return plain.derive(tuple);
}

export function replace(tuple: Tuple, other: Tuple): Tuple {
  take(objectOf(Object.keys(other).length));
  return plain.replace(tuple, other);
}

const add = plain.Dataflow.prototype.add;
plain.Dataflow.prototype.add = function (...operator) {
  take(OPERATOR);
  return add.apply(this, operator);
};

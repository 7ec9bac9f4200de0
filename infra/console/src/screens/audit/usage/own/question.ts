/** A question that the user puts together: kept in the address as JSON. */

import type { Schemas } from '../../../../api/client';
import type { Request } from '../aggregate';
import type { Meter } from '../meters';
import { sentRange, type Range, type Resolution } from '../range';

export const DIMENSIONS = ['time', 'action', 'event_category', 'resource_type', 'resource_id', 'source', 'project_id'] as const;
/** Stands for a value in the details of an event, whose path the user names. */
export const DETAIL = 'details.';
/** What `count_distinct` counts beside dimensions. */
export const COUNTED = ['resource_id', 'action', 'event_category', 'resource_type', 'source', 'project_id', 'tenant_id', 'event_id'] as const;

export const OPERATIONS: readonly { name: Schemas['Operation']; label: string }[] = [
  { name: 'count', label: 'number of events' },
  { name: 'sum_meter', label: 'sum of a meter' },
  { name: 'average_meter', label: 'average of a meter' },
  { name: 'count_distinct', label: 'number of different values' },
];

/** Limits of the API. */
export const MAX_DIMENSIONS = 5;
export const MAX_METRICS = 20;

export interface Measure {
  operation: Schemas['Operation'];
  meter: Meter;
  /** For `count_distinct`. */
  field: string;
}

export interface Condition {
  field: string;
  /** Separated by commas. */
  values: string;
}

export interface Question {
  dimensions: string[];
  measures: Measure[];
  /** Separated by commas. */
  actions: string;
  categories: string[];
  conditions: Condition[];
  limit: number;
}

const METER: Meter = { category: 'processing', type: 'pages' };
export const MEASURE: Measure = { operation: 'count', meter: METER, field: 'resource_id' };

export const FIRST: Question = {
  dimensions: ['action'],
  measures: [MEASURE, { ...MEASURE, operation: 'sum_meter' }],
  actions: '',
  categories: [],
  conditions: [],
  limit: 50,
};

/** Reads the question of an address, which may hold anything. */
export function questionOf(text: string | null): Question {
  if (text === null) return FIRST;
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    return FIRST;
  }
  const from = object(read);
  const measures = list(from['measures']).map(measureOf).slice(0, MAX_METRICS);
  return {
    dimensions: list(from['dimensions']).filter(isText).slice(0, MAX_DIMENSIONS),
    measures: measures.length === 0 ? [MEASURE] : measures,
    actions: isText(from['actions']) ? from['actions'] : '',
    categories: list(from['categories']).filter(isText),
    conditions: list(from['conditions']).map(object).map(({ field, values }) => ({
      field: isText(field) ? field : '',
      values: isText(values) ? values : '',
    })),
    limit: typeof from['limit'] === 'number' ? from['limit'] : FIRST.limit,
  };
}

function measureOf(value: unknown): Measure {
  const { operation, meter, field } = object(value);
  const { category, type } = object(meter);
  return {
    operation: OPERATIONS.find(({ name }) => name === operation)?.name ?? 'count',
    meter: { category: isText(category) ? category : METER.category, type: isText(type) ? type : METER.type },
    field: isText(field) ? field : MEASURE.field,
  };
}

/** Name of a metric in the answer; the same measure twice is one. */
export function measureId({ operation, meter, field }: Measure): string {
  switch (operation) {
    case 'count':
      return 'events';
    case 'sum_meter':
      return `sum of ${meter.category}/${meter.type}`.slice(0, 100);
    case 'average_meter':
      return `average of ${meter.category}/${meter.type}`.slice(0, 100);
    case 'count_distinct':
      return `different ${field}`.slice(0, 100);
  }
}

export function requestOf(question: Question, range: Range): Request {
  const { measures, categories, conditions, limit } = question;
  const dimensions = [...new Set(question.dimensions)].filter((dimension) => dimension !== DETAIL);
  const actions = parts(question.actions);
  const details = conditions
    .filter(({ field, values }) => field.trim() !== '' && parts(values).length > 0)
    .map(({ field, values }) => ({ field: field.trim(), values: parts(values) }));
  const filter = {
    ...(actions.length > 0 && { actions }),
    ...(categories.length > 0 && { eventCategories: categories }),
    ...(details.length > 0 && { details }),
  };
  const metrics = new Map(measures.map((measure) => [measureId(measure), metricOf(measure)]));
  return {
    ...sentRange(range),
    ...(Object.keys(filter).length > 0 && { filter }),
    ...(dimensions.length > 0 && { groupBy: dimensions.map((dimension) => groupOf(dimension, range.resolution)) }),
    metrics: [...metrics.values()],
    // The largest groups first; periods keep their order.
    ...(dimensions.length > 0 && !dimensions.includes('time') && { order: { metric: measureId(measures[0] ?? MEASURE) } }),
    limit,
  };
}

function groupOf(dimension: string, resolution: Resolution) {
  return dimension === 'time' ? { dimension, resolution } : { dimension };
}

function metricOf(measure: Measure): Schemas['Metric'] {
  const { operation, meter, field } = measure;
  const id = measureId(measure);
  if (operation === 'count') return { id, operation };
  if (operation === 'count_distinct') return { id, operation, field };
  return { id, operation, meterCategory: meter.category, meterType: meter.type };
}

function parts(text: string): string[] {
  return text.split(',').map((part) => part.trim()).filter(Boolean);
}

const isText = (value: unknown): value is string => typeof value === 'string';
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const object = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};

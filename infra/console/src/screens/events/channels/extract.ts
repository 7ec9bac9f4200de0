/** Applies the paths of a channel to a body as the service does, for a preview. */

import { isObject } from '../../../parts/json';

export interface Rules {
  paths: Partial<Record<PathName, string>>;
  default_action: string;
  default_resource_type: string;
  static_details: Record<string, unknown>;
}

export const PATHS = ['action_path', 'resource_type_path', 'resource_id_path', 'idempotency_key_path', 'timestamp_path'] as const;
export type PathName = (typeof PATHS)[number];

/** A part of the event, and where it comes from. */
export interface Part {
  name: string;
  value: string;
  origin: string;
  /** Whether the body has nothing usable at the path. */
  isMissing?: true;
}

/** Longest text that is a name, in bytes; a key may be longer. */
const MAX_NAME = 500;
const MAX_KEY = 1_000;

/** Follows names and places in arrays; undefined where the path leads to nothing. */
export function follow(body: unknown, path: string): unknown {
  let value: unknown = body;
  for (const step of path.split('.')) {
    if (Array.isArray(value)) value = /^\d+$/.test(step) ? value[Number(step)] : undefined;
    else if (isObject(value) && Object.hasOwn(value, step)) value = value[step];
    else return undefined;
  }
  return value;
}

function usable(value: unknown, max: number): string | undefined {
  if (typeof value === 'number' && !Number.isInteger(value)) return undefined;
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return undefined;
  const text = String(value);
  const fits = text !== '' && new TextEncoder().encode(text).length <= max && !/[\u0000-\u001f\u007f-\u009f]/.test(text);
  return fits ? text : undefined;
}

/** Seconds since 1970 up to this number; larger ones are milliseconds. */
const MAX_SECONDS = 100_000_000_000;

function time(value: unknown): string | undefined {
  const ms = typeof value === 'number' ? (Math.abs(value) < MAX_SECONDS ? value * 1_000 : value) : typeof value === 'string' ? Date.parse(value) : NaN;
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}

/** The fields of the event; a field of the body itself comes before a path, and a path before a default. */
export function extract(body: Record<string, unknown>, rules: Rules): Part[] {
  const part = (name: string, path: string | undefined, fallback: [string, string], max = MAX_NAME): Part => {
    const own = typeof body[name] === 'string' ? usable(body[name], max) : undefined;
    if (own !== undefined) return { name, value: own, origin: `field ${name} of the body` };
    if (path) {
      const target = follow(body, path);
      const text = name === 'timestamp' ? time(target) : usable(target, max);
      if (text !== undefined) return { name, value: text, origin: `path ${path}` };
      const reason = target === undefined || target === null ? 'leads to nothing' : 'leads to a value that cannot be used';
      return { name, value: fallback[0], origin: `${fallback[1]}; the path ${path} ${reason}`, isMissing: true };
    }
    return { name, value: fallback[0], origin: fallback[1] };
  };
  const chosen = (own: string, otherwise: string): [string, string] => (own === '' ? [otherwise, 'default'] : [own, "the channel's default"]);
  const { paths } = rules;
  return [
    part('action', paths.action_path, chosen(rules.default_action, 'received')),
    part('resource_type', paths.resource_type_path, chosen(rules.default_resource_type, 'external_event')),
    part('resource_id', paths.resource_id_path, ["the event's own id", 'default']),
    part('timestamp', paths.timestamp_path, ['the time of the arrival', 'default']),
    part('idempotency_key', paths.idempotency_key_path, ['none', 'a repeated body is another event'], MAX_KEY),
  ];
}

/** Details of the event without the payload, which is the whole body. */
export function detailsOf(body: Record<string, unknown>, rules: Rules): Record<string, unknown> {
  return { ...rules.static_details, ...(isObject(body['details']) ? body['details'] : {}) };
}

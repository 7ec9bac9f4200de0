/** The form of a channel as texts, and the body that is sent. */

import type { Schemas } from '../../../api/client';
import { isObject, parseJson, pretty } from '../../../parts/json';
import { PATHS, type PathName, type Rules } from './extract';

export type Channel = Schemas['Channel'];

export interface Draft extends Record<PathName, string> {
  name: string;
  source: string;
  enabled: boolean;
  default_action: string;
  default_resource_type: string;
  /** JSON, or nothing. */
  static_details: string;
  signed: boolean;
  header: string;
  algorithm: Schemas['Algorithm'];
  encoding: Schemas['Encoding'];
  prefix: string;
  /** Secret that the sender has made. Never read back. */
  signing_secret: string;
}

export const EMPTY: Draft = {
  name: '',
  source: '',
  enabled: true,
  default_action: '',
  default_resource_type: '',
  action_path: '',
  resource_type_path: '',
  resource_id_path: '',
  idempotency_key_path: '',
  timestamp_path: '',
  static_details: '',
  signed: false,
  header: '',
  algorithm: 'sha256',
  encoding: 'hex',
  prefix: '',
  signing_secret: '',
};

export function draftOf(channel: Channel): Draft {
  const { transform, signature } = channel;
  return {
    ...EMPTY,
    name: channel.name,
    source: channel.source,
    enabled: channel.enabled,
    default_action: channel.default_action ?? '',
    default_resource_type: channel.default_resource_type ?? '',
    ...Object.fromEntries(PATHS.map((name) => [name, transform?.[name] ?? ''])),
    static_details: transform?.static_details === undefined ? '' : pretty(transform.static_details),
    ...(signature && {
      signed: true,
      header: signature.header,
      algorithm: signature.algorithm,
      encoding: signature.encoding,
      prefix: signature.prefix ?? '',
    }),
  };
}

export interface Read {
  body: Schemas['CreateChannel'];
  faults: string[];
}

export function bodyOf(draft: Draft): Read {
  const { details, faults } = staticDetails(draft);
  const paths = PATHS.filter((name) => draft[name].trim() !== '').map((name) => [name, draft[name].trim()]);
  const transform: Schemas['Transform'] = { ...Object.fromEntries(paths), ...(details && { static_details: details }) };
  const body: Schemas['CreateChannel'] = {
    name: draft.name,
    source: draft.source,
    enabled: draft.enabled,
    ...(draft.default_action !== '' && { default_action: draft.default_action }),
    ...(draft.default_resource_type !== '' && { default_resource_type: draft.default_resource_type }),
    ...(Object.keys(transform).length > 0 && { transform }),
    ...(draft.signed && {
      signature: {
        header: draft.header.trim(),
        algorithm: draft.algorithm,
        encoding: draft.encoding,
        ...(draft.prefix !== '' && { prefix: draft.prefix }),
      },
      ...(draft.signing_secret !== '' && { signing_secret: draft.signing_secret }),
    }),
  };
  return { body, faults };
}

export function rulesOf(draft: Draft): Rules {
  return {
    paths: Object.fromEntries(PATHS.map((name) => [name, draft[name].trim()])),
    default_action: draft.default_action,
    default_resource_type: draft.default_resource_type,
    static_details: staticDetails(draft).details ?? {},
  };
}

function staticDetails({ static_details: text }: Draft): { details?: Record<string, unknown>; faults: string[] } {
  if (text.trim() === '') return { faults: [] };
  const { value, fault } = parseJson(text);
  if (fault !== undefined) return { faults: [`The fixed details are not valid JSON. ${fault.message}`] };
  return isObject(value) ? { details: value, faults: [] } : { faults: ['The fixed details are not an object.'] };
}

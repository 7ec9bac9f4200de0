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
  /** Other parts of the signature as JSON, or nothing. */
  rule: string;
  /** Name of a preset, or nothing; only for a new channel. */
  preset: string;
  /** Public key of a sender with a preset. */
  public_key: string;
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
  rule: '',
  preset: '',
  public_key: '',
  signing_secret: '',
};

export function draftOf(channel: Channel): Draft {
  const { transform, signature } = channel;
  const { header: _header, algorithm: _algorithm, encoding: _encoding, prefix: _prefix, has_secret: _has, ...rule } = signature ?? {};
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
      rule: Object.keys(rule).length === 0 ? '' : pretty(rule),
    }),
  };
}

export interface Read {
  body: Schemas['CreateChannel'];
  faults: string[];
}

export function bodyOf(draft: Draft): Read {
  if (draft.preset !== '') return { body: presetBody(draft), faults: [] };
  const { value: details, faults } = object(draft.static_details, 'The fixed details');
  const rule = object(draft.rule, 'The other parts of the signature');
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
        ...rule.value,
      },
      ...(draft.signing_secret !== '' && { signing_secret: draft.signing_secret }),
    }),
  };
  return { body, faults: [...faults, ...rule.faults] };
}

/** The other settings are those of the preset. */
function presetBody({ name, source, enabled, preset, public_key, signing_secret }: Draft): Schemas['CreateChannel'] {
  return {
    name,
    source: source || preset,
    enabled,
    preset,
    ...(public_key !== '' && { signature: { public_key } as Schemas['SignatureRule'] }),
    ...(signing_secret !== '' && { signing_secret }),
  };
}

export function rulesOf(draft: Draft): Rules {
  return {
    paths: Object.fromEntries(PATHS.map((name) => [name, draft[name].trim()])),
    default_action: draft.default_action,
    default_resource_type: draft.default_resource_type,
    static_details: object(draft.static_details, '').value ?? {},
  };
}

function object(text: string, what: string): { value?: Record<string, unknown>; faults: string[] } {
  if (text.trim() === '') return { faults: [] };
  const { value, fault } = parseJson(text);
  if (fault !== undefined) return { faults: [`${what} are not valid JSON. ${fault.message}`] };
  return isObject(value) ? { value, faults: [] } : { faults: [`${what} are not an object.`] };
}

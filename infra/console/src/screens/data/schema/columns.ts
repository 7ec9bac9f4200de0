/** Columns as a form edits them, and the requests that come of them. */

import type { Schemas } from '../../../api/client';

export const TYPES = ['STRING', 'INTEGER', 'BIGINT', 'FLOAT', 'DOUBLE', 'DECIMAL', 'BOOLEAN', 'DATE', 'TIMESTAMP', 'JSON'] as const;
export type TypeName = (typeof TYPES)[number];

export const SEMANTIC_TYPES: readonly Schemas['SemanticType'][] = [
  'email',
  'phone',
  'url',
  'currency',
  'percentage',
  'person_name',
  'address',
  'country',
  'date_iso',
  'identifier',
];

/** The rule of the service for names of tables and columns, as an input takes it. */
export const NAME = '[A-Za-z_][A-Za-z0-9_]{0,62}';

export interface ColumnDraft {
  /** For the form alone. */
  key: number;
  name: string;
  type: TypeName;
  /** Digits of a DECIMAL, and how many of them are behind the point. */
  precision: number;
  scale: number;
  nullable: boolean;
  primary_key: boolean;
  unique: boolean;
  default: string;
  description: string;
  semantic_type: Schemas['SemanticType'] | '';
}

let keys = 0;

export function blank(part: Partial<ColumnDraft> = {}): ColumnDraft {
  const empty = { name: '', type: 'STRING' as const, precision: 18, scale: 4, nullable: true, primary_key: false, unique: false };
  keys += 1;
  return { ...empty, default: '', description: '', semantic_type: '', ...part, key: keys };
}

export function draftOf(column: Schemas['TableColumn']): ColumnDraft {
  const [, name = '', precision = '18', scale = '4'] = /^(\w+)(?:\((\d+),\s*(\d+)\))?/.exec(column.type) ?? [];
  return blank({
    name: column.name,
    type: TYPES.find((type) => type === name) ?? 'STRING',
    precision: Number(precision),
    scale: Number(scale),
    nullable: column.nullable,
    primary_key: column.primary_key ?? false,
    unique: column.unique ?? false,
    default: column.default ?? '',
    description: column.description ?? '',
    semantic_type: column.semantic_type ?? '',
  });
}

export function typeOf({ type, precision, scale }: ColumnDraft): string {
  return type === 'DECIMAL' ? `DECIMAL(${precision},${scale})` : type;
}

export function definitionOf(draft: ColumnDraft): Schemas['ColumnDefinition'] {
  return {
    name: draft.name.trim(),
    type: typeOf(draft),
    nullable: draft.nullable && !draft.primary_key,
    ...(draft.primary_key && { primary_key: true }),
    ...(draft.unique && { unique: true }),
    ...(draft.default.trim() !== '' && { default: draft.default }),
    ...(draft.description !== '' && { description: draft.description }),
    ...(draft.semantic_type !== '' && { semantic_type: draft.semantic_type }),
  };
}

export interface ColumnEdit {
  before: Schemas['TableColumn'];
  after: ColumnDraft;
  drop: boolean;
}

/** Returns the changes of a table; empty if there are none. */
export function alterationOf(edits: readonly ColumnEdit[], added: readonly ColumnDraft[]): Schemas['AlterTable'] {
  const rest = edits.filter((edit) => !edit.drop);
  const drop_columns = edits.filter((edit) => edit.drop).map((edit) => edit.before.name);
  const rename_columns = rest
    .filter(({ before, after }) => after.name.trim() !== before.name)
    .map(({ before, after }) => ({ from: before.name, to: after.name.trim() }));
  const modify_columns = rest.flatMap((edit) => changeOf(edit) ?? []);
  return {
    ...(drop_columns.length > 0 && { drop_columns }),
    ...(rename_columns.length > 0 && { rename_columns }),
    ...(modify_columns.length > 0 && { modify_columns }),
    ...(added.length > 0 && { add_columns: added.map(definitionOf) }),
  };
}

/** A renamed column stands here under its new name. */
function changeOf({ before, after }: ColumnEdit): Schemas['ColumnChange'] | undefined {
  const was = draftOf(before);
  const change: Omit<Schemas['ColumnChange'], 'name'> = {};
  if (typeOf(after) !== before.type) change.type = typeOf(after);
  if (after.primary_key !== was.primary_key) change.primary_key = after.primary_key;
  if (after.nullable !== was.nullable && !after.primary_key) change.nullable = after.nullable;
  if (after.unique !== was.unique) change.unique = after.unique;
  if (after.default !== was.default) change.default = after.default.trim() === '' ? null : after.default;
  if (after.description !== was.description) change.description = after.description === '' ? null : after.description;
  if (after.semantic_type !== was.semantic_type) change.semantic_type = after.semantic_type === '' ? null : after.semantic_type;
  return Object.keys(change).length === 0 ? undefined : { name: after.name.trim(), ...change };
}

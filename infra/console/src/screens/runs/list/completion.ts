/** Completes conditions of the list-filter language. */

import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete';

import { quoted } from '../address';
import { workflowTypes } from '../types';
import { STATUSES } from './filters';

const FIELDS: readonly [string, string][] = [
  ['WorkflowId', 'text'],
  ['RunId', 'text'],
  ['WorkflowType', 'text'],
  ['ExecutionStatus', 'status'],
  ['StartTime', 'time'],
  ['CloseTime', 'time'],
  ['ExecutionDuration', "seconds, or '1h30m'"],
  ['InitiatedBy', 'text'],
  ['DocumentId', 'text'],
  ['EventName', 'text'],
  ['RuleId', 'text'],
];
const OPERATORS = ['=', '!=', '<', '<=', '>', '>=', 'IN', 'NOT IN', 'BETWEEN', 'STARTS_WITH', 'IS NULL', 'IS NOT NULL'];

/** What can stand at the end of a text of the language. */
export type Expected = 'field' | 'operator' | 'connective' | { value: string };

/** Returns what can stand after `before`, a beginning of a query that ends in front of a word. */
export function expected(before: string): Expected | undefined {
  const tokens = before.match(/'(?:[^']|'')*'?|"(?:[^"]|"")*"?|[A-Za-z_`]+|[<>!=]+|[(),]|[^\s'"(),<>!=]+/g) ?? [];
  let field: string | undefined;
  let place: Expected | undefined = 'field';
  let inList = false;
  let ofRange = false;
  for (const token of tokens) {
    const word = token.toUpperCase();
    const name = token.replaceAll('`', '');
    if (FIELDS.some(([field]) => field === name)) [field, place] = [name, 'operator'];
    else if (token === '(') [place, inList] = typeof place === 'object' ? [{ value: field ?? '' }, true] : ['field', false];
    else if (token === ')') [place, inList] = ['connective', false];
    else if (token === ',') place = inList ? { value: field ?? '' } : undefined;
    else if (word === 'AND' && ofRange) [place, ofRange] = [{ value: field ?? '' }, false];
    else if (word === 'AND' || word === 'OR') place = 'field';
    else if (word === 'NOT') place = place === 'operator' ? 'operator' : 'field';
    else if (word === 'IS') place = 'operator';
    else if (word === 'NULL') place = 'connective';
    else if (word === 'BETWEEN') [place, ofRange] = [{ value: field ?? '' }, true];
    else if (word === 'IN' || word === 'STARTS_WITH' || /^[<>!=]+$/.test(token)) place = { value: field ?? '' };
    else place = inList ? undefined : 'connective';
  }
  return place;
}

export async function complete(context: CompletionContext): Promise<CompletionResult | null> {
  const word = context.matchBefore(/'[^']*|"[^"]*|[A-Za-z_`]+|[<>!=]+/);
  const from = word?.from ?? context.pos;
  const before = context.state.sliceDoc(0, from);
  const place = expected(before);
  const isAsked = context.explicit || word !== null || /[\s(,]$/.test(before) || before === '';
  if (place === undefined || !isAsked) return null;
  const options = await optionsFor(place);
  return options.length === 0 ? null : { from, options, validFor: /^['"]?[\w!<>=: -]*$/ };
}

async function optionsFor(place: Expected): Promise<Completion[]> {
  if (place === 'field') {
    const fields = FIELDS.map(([label, detail]) => ({ label, detail, type: 'property', apply: `${label} ` }));
    return [...fields, { label: 'NOT', type: 'keyword', apply: 'NOT ' }];
  }
  if (place === 'operator') return OPERATORS.map((label) => ({ label, type: 'keyword', apply: `${label} ` }));
  if (place === 'connective') return ['AND', 'OR'].map((label) => ({ label, type: 'keyword', apply: `${label} ` }));
  const value = (label: string): Completion => ({ label: quoted(label), type: 'constant', apply: `${quoted(label)} ` });
  if (place.value === 'ExecutionStatus') return STATUSES.map(value);
  if (place.value === 'WorkflowType') return (await workflowTypes()).map((type) => value(type.name));
  if (place.value === 'StartTime' || place.value === 'CloseTime') {
    const midnight = new Date(new Date().setHours(0, 0, 0, 0)).toISOString();
    return [{ ...value(midnight), detail: 'today' }, { ...value(new Date(Date.now() - 3_600_000).toISOString()), detail: 'an hour ago' }];
  }
  if (place.value === 'ExecutionDuration') return ["'30s'", "'5m'", "'1h30m'"].map((label) => ({ label, type: 'constant', apply: `${label} ` }));
  return [];
}

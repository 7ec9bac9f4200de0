/** Helps to write conditions in the list-filter language. The service checks them. */

import type { CompletionContext, CompletionResult } from '@codemirror/autocomplete';

import { ApiError } from '../../api/error';
import type { Mark } from '../../parts/editor';
import { STATUSES } from './filters';

const FIELDS = [
  'WorkflowId',
  'RunId',
  'WorkflowType',
  'ExecutionStatus',
  'StartTime',
  'CloseTime',
  'ExecutionDuration',
  'InitiatedBy',
  'DocumentId',
  'EventName',
  'RuleId',
];
const COMPARISONS = ['=', '!=', '<', '<=', '>', '>=', 'IN (', 'BETWEEN', 'STARTS_WITH'];

/** Suggests what can stand at the cursor. */
export function completion(types: () => readonly string[]) {
  return (context: CompletionContext): CompletionResult | null => {
    const before = context.state.doc.sliceString(0, context.pos);
    const word = /[A-Za-z_]*$/.exec(before)?.[0] ?? '';
    const quoted = /(?:^|[^'])'([^']*)$/.exec(withoutStrings(before));
    if (quoted !== null) {
      const field = /(\w+)\s*(?:!?=|<=?|>=?|STARTS_WITH|IN\s*\([^)]*)\s*'[^']*$/i.exec(before)?.[1];
      const values = field === 'ExecutionStatus' ? STATUSES : field === 'WorkflowType' ? types() : [];
      if (values.length === 0) return null;
      return { from: context.pos - (quoted[1]?.length ?? 0), options: values.map((label) => ({ label, type: 'constant' })) };
    }
    if (word === '' && !context.explicit && !/\s$/.test(before)) return null;
    const last = /(\S+)\s*$/.exec(before.slice(0, before.length - word.length))?.[1] ?? '';
    const from = context.pos - word.length;
    const options = (labels: readonly string[], type: string) => labels.map((label) => ({ label, type }));
    if (FIELDS.includes(last)) return { from, options: options(COMPARISONS, 'operator') };
    if (/['")\d]$/.test(last)) return { from, options: options(['AND', 'OR'], 'keyword') };
    return { from, options: [...options(FIELDS, 'property'), ...options(['NOT'], 'keyword')] };
  };
}

/** Replaces complete strings by spaces, so that an open quote is a string that has begun. */
function withoutStrings(text: string): string {
  return text.replace(/'[^']*'/g, (string) => ' '.repeat(string.length));
}

/** Returns the place of an error in the condition, if the service names it. */
export function marksOf(error: unknown, condition: string): Mark[] {
  if (!(error instanceof ApiError) || condition === '') return [];
  const column = /column (\d+)/.exec(error.message)?.[1];
  if (column === undefined) return [];
  const from = Math.min(Number(column) - 1, condition.length - 1);
  const word = /^\w+/.exec(condition.slice(from))?.[0].length ?? 1;
  return [{ from, to: from + word, message: error.message }];
}

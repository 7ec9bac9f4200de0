/** Offers the names of variables inside `{{…}}` and `${…}`. */

import type { CompletionSource } from '@codemirror/autocomplete';

type Source = Record<string, unknown> | undefined;

/** Names are those of the schema's properties and of the test data. */
export function variables(names: () => readonly string[]): CompletionSource {
  return (context) => {
    const before = context.matchBefore(/(?:\{\{\{?[#/^~]?|\$\{)[^{}]*/);
    if (before === null) return null;
    const word = context.matchBefore(/[\w$]*/);
    return {
      from: word?.from ?? context.pos,
      options: names().map((label) => ({ label, type: 'variable' })),
      validFor: /^[\w$]*$/,
    };
  };
}

export function namesOf(schema: Source, data: Source): string[] {
  const properties = schema?.['properties'];
  const declared = typeof properties === 'object' && properties !== null ? Object.keys(properties) : [];
  return [...new Set([...declared, ...Object.keys(data ?? {})])].slice(0, 1_000);
}

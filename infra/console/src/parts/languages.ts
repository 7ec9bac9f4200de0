/** Languages of the editors, loaded apart from the editor itself: a filter needs none. */

import { json } from '@codemirror/lang-json';
import { PostgreSQL, sql } from '@codemirror/lang-sql';
import type { Extension } from '@codemirror/state';

export function languageOf(language: 'sql' | 'json', schema: Record<string, string[]> | undefined): Extension {
  if (language === 'json') return json();
  return sql({ dialect: PostgreSQL, upperCaseKeywords: true, ...(schema && { schema }) });
}

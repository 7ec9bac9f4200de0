/** Roles and languages of prompt templates. */

import type { Schemas } from '../../api/client';

/** Roles that mean something to an interaction; any other is the user's. */
export const ROLES = ['system', 'safety', 'user', 'assistant', 'tool'] as const;

export const LANGUAGES: readonly { name: Schemas['ContentType']; label: string; example: string }[] = [
  { name: 'handlebars', label: 'Handlebars: {{variable}}', example: 'Hello {{name}}!' },
  { name: 'jst', label: 'JavaScript template: ${variable}', example: 'Hello ${name ?? "friend"}!' },
  { name: 'text', label: 'Text, as it is', example: 'You answer in one sentence.' },
];

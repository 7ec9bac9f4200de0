/** What can be compared: versions, the input, the template that this one was forked from, and its forks. */

import { FIELD_LABELS, type Draft, type InputField } from '../edit/draft.svelte';
import type { Prompt } from '../read';

/** One side. Input that is not saved has neither status nor version. */
export interface Side {
  label: string;
  fields: Partial<Record<InputField | 'status' | 'version', string>>;
}

const LABELS: Record<keyof Side['fields'], string> = { version: 'version', status: 'status', ...FIELD_LABELS };

export interface Compared {
  field: keyof Side['fields'];
  label: string;
  left: string;
  right: string;
}

export function sideOfPrompt(label: string, prompt: Prompt): Side {
  return {
    label,
    fields: {
      version: String(prompt.version),
      status: prompt.status,
      name: prompt.name,
      role: prompt.role,
      description: prompt.description ?? '',
      content_type: prompt.content_type,
      tags: prompt.tags.join('\n'),
      content: prompt.content,
      test_data: json(prompt.test_data),
      inputSchema: json(prompt.inputSchema),
    },
  };
}

export function sideOfDraft(label: string, draft: Draft): Side {
  const { name, role, description, content_type, content, test_data, inputSchema, tags } = draft.input;
  return {
    label,
    fields: { name, role, description, content_type, content, test_data, inputSchema, tags: tags.join('\n') },
  };
}

/** Fields that both sides have and that differ. */
export function differences(left: Side, right: Side): Compared[] {
  const names = Object.keys(LABELS) as (keyof Side['fields'])[];
  return names
    .filter((field) => left.fields[field] !== undefined && right.fields[field] !== undefined)
    .map((field) => ({ field, label: LABELS[field], left: left.fields[field] ?? '', right: right.fields[field] ?? '' }))
    .filter((compared) => compared.left !== compared.right);
}

function json(value: unknown): string {
  return value === undefined || value === null ? '' : JSON.stringify(value, null, 2);
}

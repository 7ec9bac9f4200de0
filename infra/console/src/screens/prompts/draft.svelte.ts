/** A template under edit. JSON fields are texts, so that a half-written one is kept. */

import type { Schemas } from '../../api/client';

export type ContentType = Schemas['ContentType'];

export class Draft {
  name = $state('');
  role = $state('user');
  description = $state('');
  contentType = $state<ContentType>('handlebars');
  content = $state('');
  tags = $state('');
  testData = $state('{}');
  schema = $state('');

  constructor(prompt?: Schemas['PromptTemplate']) {
    if (prompt !== undefined) this.take(prompt);
  }

  /** Takes over what is stored. */
  take(prompt: Schemas['PromptTemplate']): void {
    this.name = prompt.name;
    this.role = prompt.role;
    this.description = prompt.description ?? '';
    this.contentType = prompt.content_type;
    this.content = prompt.content;
    this.tags = prompt.tags.join(', ');
    this.testData = JSON.stringify(prompt.test_data ?? {}, null, 2);
    this.schema = prompt.inputSchema ? JSON.stringify(prompt.inputSchema, null, 2) : '';
  }

  /** Changes when anything does. */
  get key(): string {
    return JSON.stringify([this.name, this.role, this.description, this.contentType, this.content, this.tags, this.testData, this.schema]);
  }

  readonly data = $derived(parsed(this.testData));
  readonly schemaValue = $derived(parsed(this.schema));

  /** Why the draft cannot be saved. */
  get refusal(): string | undefined {
    if (this.name.trim() === '') return 'The template needs a name.';
    if (this.data.error !== undefined) return `The test data is no JSON object: ${this.data.error}`;
    if (this.schemaValue.error !== undefined) return `The schema is no JSON object: ${this.schemaValue.error}`;
    return undefined;
  }

  get body(): Schemas['CreatePrompt'] {
    return {
      name: this.name,
      role: this.role,
      description: this.description.trim() === '' ? null : this.description,
      content_type: this.contentType,
      content: this.content,
      tags: this.tags.split(',').map((tag) => tag.trim()).filter(Boolean),
      test_data: this.data.value ?? null,
      inputSchema: this.schemaValue.value ?? null,
    };
  }
}

function parsed(text: string): { value?: Record<string, unknown>; error?: string } {
  if (text.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { value: value as Record<string, unknown> };
    return { error: 'it must begin with {.' };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

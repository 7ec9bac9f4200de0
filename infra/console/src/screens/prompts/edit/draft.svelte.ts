/**
 * What an author writes before it is saved.
 *
 * Drafts outlive their view, so that an expired token or a shortcut of the keyboard loses no input.
 */

import { answered, client, type Schemas } from '../../../api/client';
import { parseObject, pretty } from '../../../parts/json';
import { session } from '../../../session/session.svelte';
import { withTag, type Prompt, type Read } from '../read';

export interface Input {
  name: string;
  role: string;
  description: string;
  content_type: Schemas['ContentType'];
  content: string;
  /** JSON; empty for none. */
  test_data: string;
  inputSchema: string;
  tags: string[];
}

export type InputField = keyof Input;

export const FIELD_LABELS: Record<InputField, string> = {
  name: 'name',
  role: 'role',
  description: 'description',
  content_type: 'language',
  content: 'content',
  test_data: 'test data',
  inputSchema: 'input schema',
  tags: 'tags',
};

export class Draft {
  /** Version that the input began with. */
  base = $state.raw() as Read;
  input = $state() as Input;
  readonly #saved = $derived(inputOf(this.base.prompt));
  readonly changed = $derived(changedFields(this.#saved, this.input));
  readonly dirty = $derived(this.changed.length > 0);
  readonly testData = $derived(parseObject(this.input.test_data));
  readonly schema = $derived(parseObject(this.input.inputSchema));
  /** Why it cannot be sent yet. */
  readonly fault = $derived.by(() => {
    if (this.testData.fault !== undefined) return `The test data is not sent yet: ${this.testData.fault.message}`;
    if (this.schema.fault !== undefined) return `The input schema is not sent yet: ${this.schema.fault.message}`;
    return undefined;
  });

  constructor(read: Read) {
    this.base = read;
    this.input = inputOf(read.prompt);
  }

  /** Takes another version as it is. */
  reset(read: Read): void {
    this.base = read;
    this.write(read.prompt);
  }

  /** Puts the fields of a version into the input, to be saved as a new one. */
  write(version: Prompt): void {
    this.input = inputOf(version);
  }

  /**
   * Saves the fields that were changed, if the current version is the one of `read`. Fields that only another
   * author changed stay as that author left them.
   */
  async save(read: Read = this.base): Promise<void> {
    const sent = $state.snapshot(this.input);
    const { data, response } = await answered(
      client.PUT('/api/v1/prompts/{pt_id}', {
        params: { path: { pt_id: read.prompt.id }, header: { 'if-match': read.etag } },
        body: this.#body(),
      }),
    );
    const saved = withTag(data, response);
    // What was typed during the request stays unsaved input.
    const newer = changedFields(sent, this.input);
    const later = $state.snapshot(this.input);
    this.reset(saved);
    for (const field of newer) Object.assign(this.input, { [field]: later[field] });
  }

  #body(): Schemas['UpdatePrompt'] {
    const { name, role, description, content_type, content, tags } = this.input;
    const whole: Schemas['UpdatePrompt'] = {
      name,
      role,
      description: description || null,
      content_type,
      content,
      tags: [...tags],
      test_data: this.testData.value ?? null,
      inputSchema: this.schema.value ?? null,
    };
    return Object.fromEntries(this.changed.map((field) => [field, whole[field]]));
  }
}

const drafts = new Map<string, Draft>();

/** Returns the unsaved input of the caller for a template, if any is left from before, or a new draft. */
export function draftOf(read: Read): Draft {
  const key = keyOf(read.prompt.id);
  const earlier = drafts.get(key);
  if (earlier?.dirty) return earlier;
  const draft = new Draft(read);
  drafts.set(key, draft);
  return draft;
}

export function forget(id: string): void {
  drafts.delete(keyOf(id));
}

function keyOf(id: string): string {
  const { account, project, userId } = session.principal ?? {};
  return JSON.stringify([account, project, userId, id]);
}

function inputOf(prompt: Prompt): Input {
  return {
    name: prompt.name,
    role: prompt.role,
    description: prompt.description ?? '',
    content_type: prompt.content_type,
    content: prompt.content,
    test_data: textOf(prompt.test_data),
    inputSchema: textOf(prompt.inputSchema),
    tags: [...prompt.tags],
  };
}

function textOf(value: unknown): string {
  return value === undefined || value === null ? '' : pretty(value);
}

function changedFields(from: Input, to: Input): InputField[] {
  return (Object.keys(FIELD_LABELS) as InputField[]).filter((field) =>
    field === 'tags' ? from.tags.join('\n') !== to.tags.join('\n') : from[field] !== to[field],
  );
}

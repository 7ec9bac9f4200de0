/** Which templates a list takes: in the address, and for the API. */

import type { Schemas } from '../../../api/client';

type Status = Schemas['PromptStatus'];

export interface PromptQuery {
  name: string;
  role: string;
  status: Status | undefined;
  tags: readonly string[];
}

export function queryOf(parameters: URLSearchParams): PromptQuery {
  const status = parameters.get('status');
  return {
    name: parameters.get('name') ?? '',
    role: parameters.get('role') ?? '',
    status: status === 'draft' || status === 'published' ? status : undefined,
    tags: decodeTags(parameters.get('tags') ?? ''),
  };
}

/** Fields of a query that the API takes. */
export function sentQuery({ name, role, status, tags }: PromptQuery) {
  return {
    ...(name && { name }),
    ...(role && { role }),
    ...(status && { status }),
    ...(tags.length > 0 && { tags: [...tags] }),
  };
}

/** Returns tags as one parameter of an address, where a comma stands between them. */
export function encodeTags(tags: readonly string[]): string {
  return tags.map(encodeURIComponent).join(',');
}

function decodeTags(text: string): string[] {
  return text.split(',').filter(Boolean).map((tag) => {
    try {
      return decodeURIComponent(tag);
    } catch {
      return tag;
    }
  });
}

/** The API takes a comma in a tag for the end of the tag, so that it cannot be searched for. */
export const canSearchTag = (tag: string): boolean => !tag.includes(',');

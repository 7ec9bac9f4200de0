/** Counts of a search page. */

import { answer, client, type Schemas } from '../../../api/client';
import { sentQuery, type PromptQuery } from './query';

export const FACETS = ['role', 'status', 'content_type', 'tags'] as const;
export type Facet = (typeof FACETS)[number];
export type Bucket = Schemas['FacetBucket'];

export interface Facets {
  total: number;
  counts: Record<Facet, readonly Bucket[]>;
}

/**
 * Counts each facet over the templates that the other filters take, so that another value of a chosen facet
 * stays within reach: one request for the facets without a filter, and one for each that has one.
 */
export async function countFacets(query: PromptQuery, signal: AbortSignal): Promise<Facets> {
  const filtered = FACETS.filter((facet) => isFiltered(query, facet));
  const count = (facets: readonly Facet[], over: PromptQuery) =>
    answer(
      client.POST('/api/v1/prompts/facets', {
        body: { facets: facets.map((facet) => ({ name: facet, field: facet })), query: sentQuery(over) },
        signal,
      }),
    );
  const [all, ...single] = await Promise.all([
    count(FACETS.filter((facet) => !filtered.includes(facet)), query),
    ...filtered.map((facet) => count([facet], without(query, facet))),
  ]);
  const buckets = (answered: Schemas['FacetResponse'] | undefined, facet: Facet) =>
    ((answered as Record<string, unknown> | undefined)?.[facet] ?? []) as Bucket[];
  const counts = Object.fromEntries(
    FACETS.map((facet) => {
      const place = filtered.indexOf(facet);
      return [facet, buckets(place < 0 ? all : single[place], facet)];
    }),
  ) as Record<Facet, Bucket[]>;
  return { total: all?.total ?? 0, counts };
}

function isFiltered(query: PromptQuery, facet: Facet): boolean {
  if (facet === 'tags') return query.tags.length > 0;
  return (facet === 'role' || facet === 'status') && !!query[facet];
}

function without(query: PromptQuery, facet: Facet): PromptQuery {
  if (facet === 'tags') return { ...query, tags: [] };
  return { ...query, [facet]: facet === 'role' ? '' : undefined };
}

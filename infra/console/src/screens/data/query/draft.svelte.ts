/**
 * What the user wrote in the query view of a data store, and the last answer: both outlive a look at another
 * view.
 */

import { parameterOf, type Parameters } from './parameters';
import type { Result } from './result';

export class Draft {
  sql = $state('');
  parameters = $state<Parameters>({});
  limit = $state(1_000);
  /** Id of the version to read; empty is the current one. */
  version = $state('');
  result = $state.raw<Result>();

  /** Takes what an address says. */
  read(query: URLSearchParams): void {
    const sql = query.get('sql');
    if (sql !== null && sql !== this.sql) {
      this.sql = sql;
      this.result = undefined;
    }
    for (const [name, value] of Object.entries(read(query.get('params')))) this.parameters[name] = parameterOf(value);
    const limit = Number(query.get('limit'));
    if (Number.isInteger(limit) && limit >= 1 && limit <= 10_000) this.limit = limit;
    // A statement is kept for the next visit; an earlier version is read only where the address names it.
    const version = query.get('version') ?? '';
    if (version !== this.version) this.result = undefined;
    this.version = version;
  }
}

function read(json: string | null): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(json ?? '{}');
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

const drafts = new Map<string, Draft>();

export function draftOf(store: string): Draft {
  const draft = drafts.get(store) ?? new Draft();
  drafts.set(store, draft);
  return draft;
}

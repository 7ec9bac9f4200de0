import type { components } from './schema';

type Body = components['schemas']['ErrorBody'];

/** Refusal of a request, in the API's own words. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: string | undefined;
  /** Path of the faulty field of the request. */
  readonly field: string | undefined;
  /** Place of the fault in the text that the request sent, from 1. */
  readonly line: number | undefined;
  readonly column: number | undefined;
  readonly rows: NonNullable<Body['errors']>;
  readonly faults: NonNullable<Body['faults']>;
  readonly requestId: string | undefined;

  constructor(status: number, body: Partial<Body> | undefined, requestId: string | undefined) {
    super(body?.message ?? `The service answered with the status ${status}.`);
    this.name = 'ApiError';
    this.status = status;
    this.code = body?.error ?? 'unknown';
    this.details = body?.details ?? undefined;
    this.field = body?.field ?? undefined;
    this.line = body?.line ?? undefined;
    this.column = body?.column ?? undefined;
    this.rows = body?.errors ?? [];
    this.faults = body?.faults ?? [];
    this.requestId = body?.request_id ?? requestId;
  }
}

/** The service could not be reached. */
export class Unreachable extends Error {
  constructor(cause: unknown) {
    super('The service cannot be reached. The console tries again by itself.', { cause });
    this.name = 'Unreachable';
  }
}

/** True for what `AbortController.abort` causes. */
export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}

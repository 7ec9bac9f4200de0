/**
 * Sends requests to the API. The types come from its OpenAPI document.
 *
 * `await answer(client.GET('/api/v1/data'))` returns the body of a success and throws {@link ApiError} or
 * {@link Unreachable} otherwise.
 */

import createClient from 'openapi-fetch';

import { session } from '../session/session.svelte';
import { BASE } from './base';
import { connection } from './connection.svelte';
import { ApiError, isAbort, Unreachable } from './error';
import type { components, paths } from './schema';

export type Schemas = components['schemas'];

/** Sends with the token of the session; after a 401 once more with a renewed one, where that is possible. */
export async function send(request: Request): Promise<Response> {
  const again = request.clone();
  const { token, project } = session;
  const response = await sendOnce(request, token, project);
  if (response.status !== 401) return response;
  const renewed = await session.renew(token);
  return renewed === undefined ? response : sendOnce(again, renewed, project);
}

async function sendOnce(request: Request, token: string | undefined, project: string | undefined): Promise<Response> {
  if (token !== undefined) request.headers.set('authorization', `Bearer ${token}`);
  if (project !== undefined) request.headers.set('x-millrace-project', project);
  try {
    const response = await fetch(request);
    connection.lost = false;
    return response;
  } catch (error) {
    if (isAbort(error)) throw error;
    connection.lost = true;
    throw new Unreachable(error);
  }
}

export const client = createClient<paths>({ baseUrl: BASE, fetch: send });

interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** Returns the body of a successful answer. */
export async function answer<T>(request: Promise<Answer<T>>): Promise<T> {
  return (await answered(request)).data;
}

/** Returns the body of a successful answer, and the response with its headers. */
export async function answered<T>(request: Promise<Answer<T>>): Promise<{ data: T; response: Response }> {
  const { data, error, response } = await request;
  if (!response.ok) throw new ApiError(response.status, asBody(error), response.headers.get('x-request-id') ?? undefined);
  return { data: data as T, response };
}

function asBody(error: unknown): Schemas['ErrorBody'] | undefined {
  return typeof error === 'object' && error !== null ? (error as Schemas['ErrorBody']) : undefined;
}

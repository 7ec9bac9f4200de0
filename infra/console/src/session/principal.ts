import { BASE } from '../api/base';
import { ApiError, Unreachable } from '../api/error';
import type { components } from '../api/schema';

/** Caller, as the service sees it. */
export interface Principal {
  userId: string;
  account: string;
  project: string | undefined;
  roles: readonly string[];
  permissions: ReadonlySet<string>;
}

export type Project = components['schemas']['Project'];

export interface Me {
  /** Undefined where the caller must choose a project first. */
  principal: Principal | undefined;
  projects: readonly Project[];
}

/** Asks the service who the bearer of a token is, in a project where one is named. */
export async function whoIs(token: string, project: string | undefined): Promise<Me> {
  const headers: Record<string, string> = { authorization: `Bearer ${token}` };
  if (project !== undefined) headers['x-millrace-project'] = project;
  const response = await fetch(`${BASE}/api/v1/me`, { headers }).catch((error: unknown) => {
    throw new Unreachable(error);
  });
  const body = await response.json().catch(() => undefined);
  if (!response.ok) throw new ApiError(response.status, body, response.headers.get('x-request-id') ?? undefined);
  const { principal, projects } = body as components['schemas']['Me'];
  return { projects, principal: principal ? shown(principal) : undefined };
}

function shown(principal: components['schemas']['Identified']): Principal {
  return {
    userId: principal.reference.replace(/^user:/, ''),
    account: principal.account_id,
    project: principal.project_id ?? undefined,
    roles: principal.roles,
    permissions: new Set(principal.permissions),
  };
}

/** Returns the name of a project as the service takes it. */
export function nameOf(project: Project): string {
  return `${project.account_id}/${project.project_id}`;
}

import roles from 'virtual:roles';

/** Caller, as the access token describes it. The service checks the token; this is only for display. */
export interface Principal {
  userId: string;
  account: string;
  project: string | undefined;
  roles: readonly string[];
  permissions: ReadonlySet<string>;
  /** Seconds since 1970. */
  expires: number;
}

/** Reads the claims of a token. None if the text is not a JSON Web Token of Millrace. */
export function principalOf(token: string): Principal | undefined {
  const claims = claimsOf(token);
  if (claims === undefined || typeof claims['sub'] !== 'string' || typeof claims['account_id'] !== 'string') return undefined;
  const names = texts(claims['roles']);
  const permissions = new Set([...texts(claims['permissions']), ...names.flatMap((name) => roles?.[name] ?? [])]);
  return {
    userId: claims['sub'],
    account: claims['account_id'],
    project: typeof claims['project_id'] === 'string' ? claims['project_id'] : undefined,
    roles: names,
    permissions,
    expires: typeof claims['exp'] === 'number' ? claims['exp'] : 0,
  };
}

function claimsOf(token: string): Record<string, unknown> | undefined {
  const payload = token.trim().split('.')[1];
  if (payload === undefined) return undefined;
  try {
    const bytes = Uint8Array.from(atob(payload.replace(/-/g, '+').replace(/_/g, '/')), (char) => char.charCodeAt(0));
    const claims: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return typeof claims === 'object' && claims !== null ? (claims as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

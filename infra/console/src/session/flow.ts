/** The two halves of the authorization code flow with PKCE: before the browser leaves, and after it is back. */

import {
  allowInsecureRequests,
  authorizationCodeGrantRequest,
  calculatePKCECodeChallenge,
  discoveryRequest,
  generateRandomCodeVerifier,
  generateRandomNonce,
  generateRandomState,
  None,
  processAuthorizationCodeResponse,
  processDiscoveryResponse,
  processRefreshTokenResponse,
  refreshTokenGrantRequest,
  type TokenEndpointResponse,
  validateAuthResponse,
} from 'oauth4webapi';

import type { Config } from './config';

export interface Pending {
  issuer: string;
  client_id: string;
  verifier: string;
  state: string;
  nonce: string;
}

/** What the provider gave: kept in memory alone. */
export interface Grant {
  issuer: string;
  client_id: string;
  /** What requests carry. */
  token: string;
  /** Gets the next token; absent where the provider gives none. */
  refresh_token?: string;
  /** Tells the provider who signs out. */
  id_token?: string;
}

/** Returns the address at the provider, and what the second half needs. */
export async function begin(
  provider: NonNullable<Config['oidc']>,
  redirect: string,
): Promise<{ address: URL; pending: Pending }> {
  const server = await discover(provider.issuer);
  if (server.authorization_endpoint === undefined) throw new Error('The identity provider has no authorization endpoint.');
  const pending: Pending = {
    issuer: provider.issuer,
    client_id: provider.client_id,
    verifier: generateRandomCodeVerifier(),
    state: generateRandomState(),
    nonce: generateRandomNonce(),
  };
  const address = new URL(server.authorization_endpoint);
  address.search = new URLSearchParams({
    client_id: provider.client_id,
    redirect_uri: redirect,
    response_type: 'code',
    scope: provider.scope,
    code_challenge: await calculatePKCECodeChallenge(pending.verifier),
    code_challenge_method: 'S256',
    state: pending.state,
    nonce: pending.nonce,
    ...(provider.audience === undefined ? {} : { audience: provider.audience }),
  }).toString();
  return { address, pending };
}

/** Exchanges the code in the address that the browser came back to. */
export async function finish(pending: Pending, current: URL, redirect: string): Promise<Grant> {
  const { issuer, client_id, state, verifier, nonce } = pending;
  const server = await discover(issuer);
  const client = { client_id };
  const parameters = validateAuthResponse(server, client, current, state);
  const response = await authorizationCodeGrantRequest(server, client, None(), parameters, redirect, verifier, options(issuer));
  const granted = await processAuthorizationCodeResponse(server, client, response, { expectedNonce: nonce });
  return grantOf({ issuer, client_id, token: '' }, granted);
}

/** Returns the grant with a new token in place of one that has expired. */
export async function refreshed(grant: Grant): Promise<Grant> {
  const server = await discover(grant.issuer);
  const client = { client_id: grant.client_id };
  const response = await refreshTokenGrantRequest(server, client, None(), grant.refresh_token ?? '', options(grant.issuer));
  return grantOf(grant, await processRefreshTokenResponse(server, client, response));
}

/** Returns the address at which the provider ends its session; undefined where it has none. */
export async function signOutAddress(grant: Grant, redirect: string): Promise<URL | undefined> {
  const { end_session_endpoint } = await discover(grant.issuer);
  if (end_session_endpoint === undefined) return undefined;
  const address = new URL(end_session_endpoint);
  address.searchParams.set('client_id', grant.client_id);
  address.searchParams.set('post_logout_redirect_uri', redirect);
  // The name that Cognito has for it.
  address.searchParams.set('logout_uri', redirect);
  if (grant.id_token !== undefined) address.searchParams.set('id_token_hint', grant.id_token);
  return address;
}

function grantOf(before: Grant, granted: TokenEndpointResponse): Grant {
  const id_token = granted.id_token ?? before.id_token;
  // The access tokens of some providers, such as Google, are for their own services alone.
  const isSigned = isToken(granted.access_token);
  return {
    ...before,
    token: isSigned ? granted.access_token : (id_token ?? granted.access_token),
    ...(id_token === undefined ? {} : { id_token }),
    ...(granted.refresh_token === undefined ? {} : { refresh_token: granted.refresh_token }),
  };
}

/** Plain http is for an identity provider on this machine. */
function options(issuer: string) {
  const { protocol, hostname } = new URL(issuer);
  const local = protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
  return { [allowInsecureRequests]: local };
}

async function discover(issuer: string) {
  const url = new URL(issuer);
  const response = await discoveryRequest(url, { algorithm: 'oidc', ...options(issuer) });
  return processDiscoveryResponse(url, response);
}

/** Whether a text is a signed JSON Web Token. */
function isToken(text: string): boolean {
  try {
    const header: unknown = JSON.parse(atob((text.split('.')[0] ?? '').replace(/-/g, '+').replace(/_/g, '/')));
    return typeof header === 'object' && header !== null && 'alg' in header;
  } catch {
    return false;
  }
}

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
  }).toString();
  return { address, pending };
}

/** Exchanges the code in the address that the browser came back to, and returns the access token. */
export async function finish(pending: Pending, current: URL, redirect: string): Promise<string> {
  const { issuer, client_id, state, verifier, nonce } = pending;
  const server = await discover(issuer);
  const client = { client_id };
  const parameters = validateAuthResponse(server, client, current, state);
  const response = await authorizationCodeGrantRequest(server, client, None(), parameters, redirect, verifier, options(issuer));
  return (await processAuthorizationCodeResponse(server, client, response, { expectedNonce: nonce })).access_token;
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

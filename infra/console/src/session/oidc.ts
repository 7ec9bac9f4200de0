/**
 * Signs in at an OpenID provider by the authorization code flow with PKCE.
 *
 * The library is loaded only when it is used. What survives the way to the provider and back is the code
 * verifier and the state, which are of no use without the code.
 */

import { route } from '../shell/route.svelte';
import type { Config } from './config';

const PENDING = 'millrace.oidc';

interface Pending {
  issuer: string;
  client_id: string;
  verifier: string;
  state: string;
  nonce: string;
  /** View to return to. */
  hash: string;
}

/** The registered redirect address: the page without its view. */
function redirectAddress(): string {
  return location.origin + location.pathname;
}

export async function startSignIn(provider: NonNullable<Config['oidc']>): Promise<void> {
  const oauth = await import('oauth4webapi');
  const server = await discover(oauth, provider.issuer);
  if (server.authorization_endpoint === undefined) throw new Error('The identity provider has no authorization endpoint.');
  const pending: Pending = {
    issuer: provider.issuer,
    client_id: provider.client_id,
    verifier: oauth.generateRandomCodeVerifier(),
    state: oauth.generateRandomState(),
    nonce: oauth.generateRandomNonce(),
    hash: location.hash,
  };
  sessionStorage.setItem(PENDING, JSON.stringify(pending));
  const address = new URL(server.authorization_endpoint);
  address.search = new URLSearchParams({
    client_id: provider.client_id,
    redirect_uri: redirectAddress(),
    response_type: 'code',
    scope: provider.scope,
    code_challenge: await oauth.calculatePKCECodeChallenge(pending.verifier),
    code_challenge_method: 'S256',
    state: pending.state,
    nonce: pending.nonce,
  }).toString();
  location.assign(address);
  // The page is being left.
  await new Promise(() => {});
}

/** Returns the access token if the provider has just sent the browser back. */
export async function finishSignIn(): Promise<string | undefined> {
  const stored = sessionStorage.getItem(PENDING);
  if (stored === null || !/[?&](code|error)=/.test(location.search)) return undefined;
  sessionStorage.removeItem(PENDING);
  const pending = JSON.parse(stored) as Pending;
  const current = new URL(location.href);
  // The code leaves the address before anything else is loaded.
  history.replaceState(null, '', location.pathname);
  route.go(pending.hash || '#/', { replace: true });
  const oauth = await import('oauth4webapi');
  const server = await discover(oauth, pending.issuer);
  const client = { client_id: pending.client_id };
  const parameters = oauth.validateAuthResponse(server, client, current, pending.state);
  const response = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    oauth.None(),
    parameters,
    redirectAddress(),
    pending.verifier,
    options(oauth, pending.issuer),
  );
  const tokens = await oauth.processAuthorizationCodeResponse(server, client, response, { expectedNonce: pending.nonce });
  return tokens.access_token;
}

type OAuth = typeof import('oauth4webapi');

/** Plain http is for an identity provider on this machine. */
function options(oauth: OAuth, issuer: string) {
  const { protocol, hostname } = new URL(issuer);
  const local = protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
  return { [oauth.allowInsecureRequests]: local };
}

async function discover(oauth: OAuth, issuer: string) {
  const url = new URL(issuer);
  const response = await oauth.discoveryRequest(url, { algorithm: 'oidc', ...options(oauth, issuer) });
  return oauth.processDiscoveryResponse(url, response);
}

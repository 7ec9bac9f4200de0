/**
 * Signs in at an OpenID provider by the authorization code flow with PKCE.
 *
 * The flow is loaded only when it is used. What survives the way to the provider and back is the code verifier
 * and the state, which are of no use without the code.
 */

import { route } from '../shell/route.svelte';
import type { Config } from './config';
import type { Pending } from './flow';

const PENDING = 'millrace.oidc';

interface Left {
  pending: Pending;
  /** View to return to. */
  hash: string;
}

/** The registered redirect address: the page without its view. */
function redirectAddress(): string {
  return location.origin + location.pathname;
}

export async function startSignIn(provider: NonNullable<Config['oidc']>): Promise<void> {
  const { begin } = await import('./flow');
  const { address, pending } = await begin(provider, redirectAddress());
  sessionStorage.setItem(PENDING, JSON.stringify({ pending, hash: location.hash } satisfies Left));
  location.assign(address);
  // The page is being left.
  await new Promise(() => {});
}

/** Returns the access token if the provider has just sent the browser back. */
export async function finishSignIn(): Promise<string | undefined> {
  const stored = sessionStorage.getItem(PENDING);
  if (stored === null || !/[?&](code|error)=/.test(location.search)) return undefined;
  sessionStorage.removeItem(PENDING);
  const { pending, hash } = JSON.parse(stored) as Left;
  const current = new URL(location.href);
  // The code leaves the address before the flow is loaded.
  history.replaceState(null, '', location.pathname);
  route.go(hash || '#/', { replace: true });
  const { finish } = await import('./flow');
  return finish(pending, current, redirectAddress());
}

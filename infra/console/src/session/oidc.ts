/**
 * Signs in at an OpenID provider by the authorization code flow with PKCE.
 *
 * The flow is loaded only when it is used. What survives the way to the provider and back is the code verifier
 * and the state, which are of no use without the code.
 */

import { route } from '../shell/route.svelte';
import type { Config } from './config';
import type { Grant, Pending } from './flow';

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

/** Returns what the provider gave, if it has just sent the browser back. */
export async function finishSignIn(): Promise<Grant | undefined> {
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

/** Returns the grant with a new token. Fails where the provider has ended its session. */
export async function refresh(grant: Grant): Promise<Grant> {
  return (await import('./flow')).refreshed(grant);
}

/** Leaves the page for the provider, which ends its session; stays where the provider has no address for it. */
export async function leave(grant: Grant): Promise<void> {
  const { signOutAddress } = await import('./flow');
  const address = await signOutAddress(grant, redirectAddress());
  if (address !== undefined) location.assign(address);
}

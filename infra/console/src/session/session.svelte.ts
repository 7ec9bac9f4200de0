/**
 * Holds the access token: in memory alone, so that no other page, extension storage or disk has it.
 *
 * A reload loses the token. The way of the last sign-in is remembered, which is no secret, and repeated where
 * it needs no input.
 */

import { BASE } from '../api/base';
import { config } from './config';
import { finishSignIn, startSignIn } from './oidc';
import { principalOf, type Principal } from './principal';

type Way = 'developer' | 'oidc';

const WAY = 'millrace.sign-in';

class Session {
  token = $state<string>();
  /** True until it is known whether the page can sign in by itself. */
  starting = $state(true);
  /** Why the last sign-in failed or the session ended. */
  notice = $state<string>();
  readonly principal: Principal | undefined = $derived(this.token === undefined ? undefined : principalOf(this.token));
  #renewal: Promise<string | undefined> | undefined;

  /** True if the caller has one of the permissions. */
  may(...anyOf: string[]): boolean {
    return anyOf.some((permission) => this.principal?.permissions.has(permission));
  }

  /** Signs in without input, where the last sign-in allows it. */
  async start(): Promise<void> {
    try {
      const token = await finishSignIn();
      if (token !== undefined) this.#accept(token, 'oidc');
      else if (sessionStorage.getItem(WAY) === 'developer') await this.asDeveloper();
      else if (sessionStorage.getItem(WAY) === 'oidc') await this.withProvider();
    } catch (error) {
      sessionStorage.removeItem(WAY);
      this.notice = message(error);
    }
    this.starting = false;
  }

  /** Signs in with a token that the user pasted. Returns a sentence if the text is not a token. */
  withToken(text: string): string | undefined {
    const token = text.trim().replace(/^(Bearer\s+|export TOKEN=)/i, '');
    if (principalOf(token) === undefined) return 'This is not an access token of Millrace: it has no account.';
    sessionStorage.removeItem(WAY);
    this.#accept(token);
    return undefined;
  }

  /** Signs in as the developer of the local runner. */
  async asDeveloper(): Promise<string> {
    const proof = document.querySelector<HTMLMetaElement>('meta[name="page-proof"]')?.content ?? '';
    const response = await fetch(`${BASE}/console/token`, { method: 'POST', headers: { 'x-page-proof': proof } });
    const body = await response.json().catch(() => ({}));
    if (!response.ok) throw new Error(body.message ?? `The runner gave no token: status ${response.status}.`);
    this.#accept(body.token, 'developer');
    return body.token;
  }

  /** Leaves the page for the identity provider, which sends the browser back. */
  async withProvider(): Promise<void> {
    const { oidc } = await config();
    if (oidc === undefined) throw new Error('This deployment names no identity provider for the console.');
    await startSignIn(oidc);
  }

  /** Returns another token in place of a refused one, or ends the session. */
  async renew(refused: string | undefined): Promise<string | undefined> {
    if (this.token !== refused) return this.token;
    if (sessionStorage.getItem(WAY) !== 'developer') {
      this.end('The service does not accept the token any more. Sign in again.');
      return undefined;
    }
    this.#renewal ??= this.asDeveloper()
      .catch((error: unknown) => (this.end(message(error)), undefined))
      .finally(() => (this.#renewal = undefined));
    return this.#renewal;
  }

  end(notice?: string): void {
    sessionStorage.removeItem(WAY);
    this.token = undefined;
    this.notice = notice;
  }

  #accept(token: string, way?: Way): void {
    if (principalOf(token) === undefined) {
      throw new Error('The identity provider gave an access token without an account: it lacks the claim account_id.');
    }
    if (way !== undefined) sessionStorage.setItem(WAY, way);
    this.notice = undefined;
    this.token = token;
  }
}

function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export const session = new Session();

/**
 * Holds the access token: in memory alone, so that no other page, extension storage or disk has it.
 *
 * A reload loses the token. The way of the last sign-in is remembered, which is no secret, and repeated where
 * it needs no input.
 */

import { BASE } from '../api/base';
import { ApiError } from '../api/error';
import { config } from './config';
import type { Grant } from './flow';
import { finishSignIn, leave, refresh, startSignIn } from './oidc';
import { whoIs, type Principal, type Project } from './principal';

type Way = 'developer' | 'oidc';

const WAY = 'millrace.sign-in';
const PROJECT = 'millrace.project';

class Session {
  token = $state<string>();
  /** True until it is known whether the page can sign in by itself. */
  starting = $state(true);
  /** Why the last sign-in failed or the session ended. */
  notice = $state<string>();
  /** Undefined until the caller is known and works in a project. */
  principal = $state<Principal>();
  /** Projects that the caller can choose among. */
  projects = $state<readonly Project[]>([]);
  /** The chosen one of them, as the service takes it. */
  project = $state(sessionStorage.getItem(PROJECT) ?? undefined);
  #grant: Grant | undefined;
  #renewal: Promise<string | undefined> | undefined;

  /** True if the caller has one of the permissions. */
  may(...anyOf: string[]): boolean {
    return anyOf.some((permission) => this.principal?.permissions.has(permission));
  }

  /** Signs in without input, where the last sign-in allows it. */
  async start(): Promise<void> {
    try {
      const grant = await finishSignIn();
      if (grant !== undefined) await this.#acceptGrant(grant);
      else if (sessionStorage.getItem(WAY) === 'developer') await this.asDeveloper();
      else if (sessionStorage.getItem(WAY) === 'oidc') await this.withProvider();
    } catch (error) {
      this.end(message(error));
    }
    this.starting = false;
  }

  /** Signs in with a token or an API key that the user pasted. */
  async withToken(text: string): Promise<void> {
    const token = text.trim().replace(/^(Bearer\s+|export TOKEN=)/i, '');
    sessionStorage.removeItem(WAY);
    await this.#accept(token);
  }

  /** Signs in as the developer of the local runner. */
  async asDeveloper(): Promise<string> {
    const proof = document.querySelector<HTMLMetaElement>('meta[name="page-proof"]')?.content ?? '';
    const response = await fetch(`${BASE}/console/token`, { method: 'POST', headers: { 'x-page-proof': proof } });
    const body = await response.json().catch(() => ({}));
    if (!response.ok) throw new Error(body.message ?? `The runner gave no token: status ${response.status}.`);
    await this.#accept(body.token, 'developer');
    return body.token;
  }

  /** Leaves the page for the identity provider, which sends the browser back. */
  async withProvider(): Promise<void> {
    const { oidc } = await config();
    if (oidc === undefined) throw new Error('This deployment names no identity provider for the console.');
    await startSignIn(oidc);
  }

  /** Names the project to work in from the next sign-in on. */
  want(project: string): void {
    sessionStorage.setItem(PROJECT, project);
    this.project = project;
  }

  /** Works in another project of the caller, or says why that is not possible. */
  async choose(project: string): Promise<void> {
    if (this.token === undefined) return;
    await this.#know(this.token, project).catch((error: unknown) => this.end(message(error)));
  }

  /** Returns another token in place of a refused one, or ends the session. */
  async renew(refused: string | undefined): Promise<string | undefined> {
    if (this.token !== refused) return this.token;
    const next = this.#next();
    if (next === undefined) {
      this.end('The service does not accept the token any more. Sign in again.');
      return undefined;
    }
    this.#renewal ??= next()
      .catch((error: unknown) => (this.end(message(error)), undefined))
      .finally(() => (this.#renewal = undefined));
    return this.#renewal;
  }

  /** Ends the session here, and at the identity provider. */
  async signOut(): Promise<void> {
    const grant = this.#grant;
    this.end();
    if (grant !== undefined) await leave(grant).catch((error: unknown) => (this.notice = message(error)));
  }

  end(notice?: string): void {
    sessionStorage.removeItem(WAY);
    this.token = undefined;
    this.principal = undefined;
    this.projects = [];
    this.#grant = undefined;
    this.notice = notice;
  }

  /** Returns how the next token is got; undefined where only the user can. */
  #next(): (() => Promise<string | undefined>) | undefined {
    const grant = this.#grant;
    if (grant?.refresh_token !== undefined) return async () => this.#acceptGrant(await refresh(grant));
    return sessionStorage.getItem(WAY) === 'developer' ? () => this.asDeveloper() : undefined;
  }

  async #acceptGrant(grant: Grant): Promise<string> {
    // Also for a user who is refused, so that another one can sign in.
    this.#grant = grant;
    await this.#accept(grant.token, 'oidc');
    return grant.token;
  }

  async #accept(token: string, way?: Way): Promise<void> {
    await this.#know(token, this.project).catch((error: unknown) => {
      // The project was chosen by another user, or this one is no member of it any more. A session that goes on
      // never moves to another project by itself.
      const isRefused = error instanceof ApiError && error.status === 403;
      if (this.project === undefined || this.principal !== undefined || !isRefused) throw error;
      return this.#know(token, undefined);
    });
    if (way !== undefined) sessionStorage.setItem(WAY, way);
    this.notice = undefined;
  }

  /** Learns who the bearer of a token is, in a project. */
  async #know(token: string, project: string | undefined): Promise<void> {
    const me = await whoIs(token, project);
    if (me.principal === undefined && me.projects.length === 0) {
      throw new Error('You are a member of no project yet. Ask an administrator of one to add you.');
    }
    const { account, project: chosen } = me.principal ?? {};
    // The project of a token that names one itself is not chosen.
    this.project = me.projects.length === 0 || chosen === undefined ? undefined : `${account}/${chosen}`;
    if (this.project === undefined) sessionStorage.removeItem(PROJECT);
    else sessionStorage.setItem(PROJECT, this.project);
    this.projects = me.projects;
    this.principal = me.principal;
    this.token = token;
  }
}

function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export const session = new Session();

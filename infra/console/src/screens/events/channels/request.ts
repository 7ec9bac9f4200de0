/** How a sender calls a channel: as a `curl` command, and from this page. */

import { ApiError } from '../../../api/error';
import type { Schemas } from '../../../api/client';
import { config } from '../../../session/config';
import { session } from '../../../session/session.svelte';
import { base64, hex } from '../deliveries/signature';

type Signature = Schemas['ChannelSignature'];

/** Whether a command of the shell can sign as the sender does: the body alone, by HMAC. */
export function isPlain(signature?: Signature | null): boolean {
  return !signature || !(signature.content || signature.timestamp || signature.separator || signature.scheme || signature.secret_encoding);
}

/** Address to which the sender posts its events. */
export async function ingestAddress(channelId: string): Promise<string> {
  const { ingest_url } = await config();
  const { account = '', project = '' } = session.principal ?? {};
  return `${ingest_url}/webhooks/events/${[account, project, channelId].map(encodeURIComponent).join('/')}`;
}

/** Quotes a text for a POSIX shell. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Without a credential the command reads it from a variable of the shell. */
export function curl(address: string, body: string, credential: string, signature?: Signature | null): string {
  if (!signature) {
    const token = credential === '' ? '"Authorization: Bearer $INGEST_TOKEN"' : quote(`Authorization: Bearer ${credential}`);
    return [`curl -sS ${quote(address)} \\`, `  -H ${token} \\`, `  -H 'Content-Type: application/json' \\`, `  --data-binary ${quote(body)}`].join('\n');
  }
  const { header, algorithm, encoding, prefix } = signature;
  const digest = `printf %s "$BODY" | openssl dgst -${algorithm} -hmac "$SIGNING_SECRET"`;
  const value = encoding === 'hex' ? `${digest} | sed 's/.* //'` : `${digest} -binary | openssl base64 -A`;
  return [
    ...(credential === '' ? [] : [`SIGNING_SECRET=${quote(credential)}`]),
    `BODY=${quote(body)}`,
    `curl -sS ${quote(address)} \\`,
    `  -H ${quote(`${header}: ${prefix ?? ''}`)}"$(${value})" \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  --data-binary "$BODY"`,
  ].join('\n');
}

/** The browser did not get an answer: another origin did not allow it, or it cannot be reached. */
export class NoAnswer extends Error {
  constructor(cause: unknown) {
    super('The ingest URL cannot be reached from this page.', { cause });
    this.name = 'NoAnswer';
  }
}

async function sign(body: string, secret: string, { algorithm, encoding, prefix }: Signature): Promise<string> {
  const hash = `SHA-${(algorithm ?? 'sha256').slice('sha'.length)}`;
  const bytes = new TextEncoder();
  const key = await crypto.subtle.importKey('raw', bytes.encode(secret), { name: 'HMAC', hash }, false, ['sign']);
  const digest = new Uint8Array(await crypto.subtle.sign('HMAC', key, bytes.encode(body)));
  return `${prefix ?? ''}${encoding === 'hex' ? hex(digest) : base64(digest)}`;
}

/** Sends a body as the sender does, without the caller's own token. Returns the event's id. */
export async function sendEvent(address: string, body: string, credential: string, signature?: Signature | null): Promise<string> {
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  if (signature) headers[signature.header] = await sign(body, credential, signature);
  else headers['authorization'] = `Bearer ${credential}`;
  const response = await fetch(address, { method: 'POST', headers, body, credentials: 'omit' }).catch((cause: unknown) => {
    throw new NoAnswer(cause);
  });
  const answer = (await response.json().catch(() => undefined)) as (Partial<Schemas['ErrorBody']> & { event_id?: string }) | undefined;
  if (!response.ok) throw new ApiError(response.status, answer, response.headers.get('x-request-id') ?? undefined);
  return answer?.event_id ?? '';
}

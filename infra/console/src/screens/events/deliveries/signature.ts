/**
 * Checks the signature of a received webhook, as docs/webhooks.md says, with the browser's own cryptography.
 * Nothing leaves the page.
 */

export interface Received {
  headers: ReadonlyMap<string, string>;
  body: string;
  secret: string;
  /** Time of the receipt, in milliseconds. */
  at: number;
}

export interface Context {
  deliveryId: string;
  eventId: string;
  /** Last characters of the subscription's present secret. */
  secretHint: string | undefined;
}

export interface Verdict {
  fits: boolean;
  /** Whether a receiver takes it: it fits, and the time does. */
  accepted: boolean;
  /** Name of the scheme. */
  scheme: string;
  findings: string[];
}

/** Replay window of a receiver, in seconds. */
const WINDOW_S = 900;

/** Reads lines such as `Name: value`, as servers and `curl -v` print them. */
export function readHeaders(text: string): Map<string, string> {
  const headers = new Map<string, string>();
  for (const line of text.split('\n')) {
    const match = /^[<>*\s]*["']?([\w-]+)["']?\s*[:=]\s*(.*)$/.exec(line.trimEnd());
    if (match?.[1] === undefined) continue;
    headers.set(match[1].toLowerCase(), (match[2] ?? '').trim().replace(/^["'](.*)["'],?$/, '$1').replace(/,$/, ''));
  }
  return headers;
}

async function hmac(key: Uint8Array<ArrayBuffer>, text: string): Promise<Uint8Array> {
  const imported = await crypto.subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  return new Uint8Array(await crypto.subtle.sign('HMAC', imported, new TextEncoder().encode(text)));
}

export function hex(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

export function base64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

type Sign = (id: string, time: string, body: string) => Promise<string>;

interface Scheme {
  name: string;
  headers: { id: string; time: string; signature: string };
  separator: string;
  sign: (secret: string) => Sign | undefined;
}

const SCHEMES: readonly Scheme[] = [
  {
    name: 'X-Service-Signature',
    headers: { id: 'x-service-delivery-id', time: 'x-service-timestamp', signature: 'x-service-signature' },
    separator: ',',
    sign: (secret) => {
      const key = new TextEncoder().encode(secret);
      return async (id, time, body) => `v1=${hex(await hmac(key, `${time}.${id}.${body}`))}`;
    },
  },
  {
    name: 'Standard Webhooks',
    headers: { id: 'webhook-id', time: 'webhook-timestamp', signature: 'webhook-signature' },
    separator: ' ',
    sign: (secret) => {
      const key = decode(secret.replace(/^whsec_/, ''));
      return key && (async (id, time, body) => `v1,${base64(await hmac(key, `${id}.${time}.${body}`))}`);
    },
  },
];

function decode(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
    return bytes.length > 0 ? bytes : undefined;
  } catch {
    return undefined;
  }
}

/** Bodies that were changed on the way to the check, in common ways. */
function bodies(body: string): [string, string][] {
  const variants: [string, string][] = [
    ['without the line break or space at its ends', body.trim()],
    ['with a line break at its end', `${body}\n`],
    ['with Windows line breaks', body.replace(/\r?\n/g, '\r\n')],
  ];
  try {
    variants.push(['written as the service writes it, without spaces', JSON.stringify(JSON.parse(body))]);
  } catch {
    // A body that is no JSON was changed in another way.
  }
  return variants.filter(([, text]) => text !== body);
}

/** Returns a verdict for each scheme that the headers have. */
export async function check(received: Received, context: Context): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  for (const scheme of SCHEMES) {
    if (received.headers.has(scheme.headers.signature)) verdicts.push(await checkScheme(scheme, received, context));
  }
  return verdicts;
}

async function checkScheme(scheme: Scheme, { headers, body, secret, at }: Received, context: Context): Promise<Verdict> {
  const findings: string[] = [];
  const id = headers.get(scheme.headers.id);
  const time = headers.get(scheme.headers.time);
  const signatures = (headers.get(scheme.headers.signature) ?? '').split(scheme.separator).map((value) => value.trim());
  const refused = (reason: string): Verdict => ({ fits: false, accepted: false, scheme: scheme.name, findings: [...findings, reason] });
  if (id === undefined) return refused(`The header ${scheme.headers.id} is missing.`);
  if (time === undefined || !/^[0-9]{1,12}$/.test(time)) return refused(`The header ${scheme.headers.time} is missing, or not a number of seconds.`);

  const sign = scheme.sign(secret);
  if (sign === undefined) return refused('The secret is not base64 after whsec_, so it is not the whole secret.');
  const fits = signatures.includes(await sign(id, time, body));
  const away = Math.abs(at / 1_000 - Number(time));
  const inTime = away <= WINDOW_S;
  if (!inTime) {
    findings.push(`The time is ${Math.round(away / 60).toLocaleString('en')} minutes away from the receipt. A receiver refuses more than 15 minutes.`);
  }
  if (!fits) findings.push(...(await differences(sign, signatures, { id, time, body, secret }, scheme, context)));
  return { fits, accepted: fits && inTime, scheme: scheme.name, findings };
}

interface Parts {
  id: string;
  time: string;
  body: string;
  secret: string;
}

async function differences(sign: Sign, signatures: string[], { id, time, body, secret }: Parts, scheme: Scheme, context: Context): Promise<string[]> {
  for (const [how, text] of bodies(body)) {
    if (signatures.includes(await sign(id, time, text))) {
      return [`The body was changed: the signature fits the body ${how}. A receiver must take the bytes as they came.`];
    }
  }
  if (id !== context.deliveryId) {
    const ofOther = `The headers are those of another delivery: ${scheme.headers.id} is ${id}.`;
    if (signatures.includes(await sign(context.deliveryId, time, body))) return [`${ofOther} With the id of this delivery the signature fits.`];
    return [ofOther];
  }
  if (context.secretHint !== undefined && !secret.endsWith(context.secretHint)) {
    return [`The secret is a wrong one: the subscription's present secret ends in ${context.secretHint}, this one in ${secret.slice(-4)}.`];
  }
  if (!/^whsec_[A-Za-z0-9+/]{43}=$/.test(secret)) return ['The secret is not whole: it is whsec_ and 44 characters, all of which are the key.'];
  if (!body.includes(context.eventId)) return ['The body is not that of this delivery: it does not have the id of the event.'];
  if (context.secretHint !== undefined) return ['The secret has the right end, so the body or the time was changed after it was signed.'];
  return ['The secret is another one, or the body or the time was changed after it was signed.'];
}

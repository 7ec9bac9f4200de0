/** Signatures by the browser's own cryptography. */

const HASHES = { sha256: 'SHA-256', sha1: 'SHA-1' } as const;

/** Returns the HMAC of a text. */
export async function hmac(algorithm: keyof typeof HASHES, secret: Uint8Array | string, text: string): Promise<Uint8Array> {
  const bytes = typeof secret === 'string' ? new TextEncoder().encode(secret) : secret;
  const key = await crypto.subtle.importKey('raw', bytes as BufferSource, { name: 'HMAC', hash: HASHES[algorithm] }, false, ['sign']);
  return new Uint8Array(await crypto.subtle.sign('HMAC', key, new TextEncoder().encode(text)));
}

export function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

export function base64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

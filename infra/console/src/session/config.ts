import { BASE } from '../api/base';

/** What the deployment says to the console. */
export interface Config {
  /** Address of the ingest URL, in front of `/webhooks/events/…`. */
  ingest_url: string;
  /** True if the runner gives its developer's token to this page. */
  developer_token: boolean;
  /** Identity provider to sign in with; absent if none is configured. */
  oidc?: { issuer: string; client_id: string; scope: string; audience?: string };
}

let loaded: Promise<Config> | undefined;

/** Loads the configuration once. */
export function config(): Promise<Config> {
  loaded ??= load().catch((error: unknown) => {
    loaded = undefined;
    throw error;
  });
  return loaded;
}

async function load(): Promise<Config> {
  const response = await fetch(`${BASE}/console/config.json`);
  if (!response.ok) throw new Error(`The console's configuration cannot be read: status ${response.status}.`);
  const read = (await response.json()) as Config;
  return { ...read, ingest_url: new URL(read.ingest_url, `${BASE}/`).href.replace(/\/$/, '') };
}

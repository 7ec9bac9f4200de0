/** Carries what a creation shows once from its form to the view of the new resource. In memory alone. */

export interface Fresh {
  signing_secret?: string | null;
  ingest_token?: string | null;
  warnings?: string[];
}

const kept = new Map<string, Fresh>();

export function keep(id: string, fresh: Fresh): void {
  kept.clear();
  kept.set(id, fresh);
}

/** Returns it once. */
export function take(id: string | undefined): Fresh {
  const fresh = (id !== undefined && kept.get(id)) || {};
  kept.clear();
  return fresh;
}

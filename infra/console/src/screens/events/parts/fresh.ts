/** Carries what a creation shows once from its form to the view of the new resource. In memory alone. */

export interface Fresh {
  signing_secret?: string | null;
  ingest_token?: string | null;
  warnings?: string[];
}

const freshById = new Map<string, Fresh>();

export function keep(id: string, fresh: Fresh): void {
  freshById.clear();
  freshById.set(id, fresh);
}

/** Returns it once. */
export function take(id: string | undefined): Fresh {
  const fresh = (id !== undefined && freshById.get(id)) || {};
  freshById.clear();
  return fresh;
}

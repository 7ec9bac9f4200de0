/** Joins the input of this form with a version that another editor saved meanwhile. */

export interface Merged<D> {
  draft: D;
  /** Fields that both changed, each in another way; the input of this form stays. */
  conflicts: (keyof D)[];
}

export function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** `base` is what the form began with, `theirs` what is stored now. */
export function merge<D extends object>(mine: D, base: D, theirs: D): Merged<D> {
  const draft = { ...theirs };
  const conflicts: (keyof D)[] = [];
  for (const field of Object.keys(mine) as (keyof D)[]) {
    if (same(mine[field], base[field])) continue;
    draft[field] = mine[field];
    if (!same(theirs[field], base[field]) && !same(theirs[field], mine[field])) conflicts.push(field);
  }
  return { draft, conflicts };
}

/** Returns the fields of a body that differ from what is stored; a field that is gone is null. */
export function changes<B extends object>(body: B, stored: B): Partial<B> {
  const fields = new Set([...Object.keys(body), ...Object.keys(stored)] as (keyof B)[]);
  const changed = [...fields].filter((field) => !same(body[field], stored[field]));
  return Object.fromEntries(changed.map((field) => [field, body[field] ?? null])) as Partial<B>;
}

/** Statements that ran lately, by data store; kept in this browser. */

const MAX_STATEMENTS = 30;
/** In characters. A longer statement is not remembered. */
const MAX_LENGTH = 10_000;

const key = (store: string) => `millrace.statements.${store}`;

export function recent(store: string): string[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(key(store)) ?? '[]');
    return Array.isArray(stored) ? stored.filter((item) => typeof item === 'string') : [];
  } catch {
    return [];
  }
}

/** Returns the statements with `sql` first. */
export function remember(store: string, sql: string): string[] {
  const statement = sql.trim();
  if (statement === '' || statement.length > MAX_LENGTH) return recent(store);
  const statements = [statement, ...recent(store).filter((other) => other !== statement)].slice(0, MAX_STATEMENTS);
  keep(key(store), statements);
  return statements;
}

export function forget(store: string): void {
  localStorage.removeItem(key(store));
}

/** A full storage of the browser is no reason to fail a query. */
function keep(name: string, statements: readonly string[]): void {
  try {
    localStorage.setItem(name, JSON.stringify(statements));
  } catch {
    localStorage.removeItem(name);
  }
}

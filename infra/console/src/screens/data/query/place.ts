import type { Mark } from '../../../parts/editor';

/** Returns where the message `Line <n>, column <n>: …` points to in `sql`; none if it names no place. */
export function markOf(sql: string, message: string): Mark | undefined {
  const place = /^Line (\d+), column (\d+): ([^]*)$/.exec(message);
  if (place === null) return undefined;
  const lines = sql.split('\n');
  const number = Math.min(Number(place[1]), lines.length);
  const line = lines[number - 1] ?? '';
  const start = lines.slice(0, number - 1).reduce((sum, before) => sum + before.length + 1, 0);
  const words = place[3] ?? '';
  const from = start + nearest(line, words, unitsOf(line, Number(place[2]) - 1));
  const rest = sql.slice(from);
  const length = /^(?:"(?:""|[^"])*"|'(?:''|[^'])*'|\w+)/.exec(rest)?.[0].length ?? 1;
  // At the end of the text there is nothing to mark but what stands before it.
  const last = Math.max(0, Math.min(from, sql.length - 1));
  return { from: last, to: Math.max(last + 1, Math.min(from + length, sql.length)), message: words };
}

/** The service counts characters; the editor counts UTF-16 units. */
function unitsOf(line: string, characters: number): number {
  return [...line].slice(0, characters).join('').length;
}

/**
 * The service counts a wide character twice, so the name that its message quotes is looked for around the
 * place.
 */
function nearest(line: string, message: string, at: number): number {
  const name = /["']([^"']+)["']/.exec(message)?.[1]?.replace(/^.*\./, '');
  if (name === undefined || line.startsWith(name, at)) return at;
  const lower = line.toLowerCase();
  let best = at;
  let distance = Infinity;
  for (let found = lower.indexOf(name.toLowerCase()); found !== -1; found = lower.indexOf(name.toLowerCase(), found + 1)) {
    if (Math.abs(found - at) < distance) [best, distance] = [found, Math.abs(found - at)];
  }
  return best;
}

import type { Mark } from '../../../parts/editor';

/** A name with what qualifies it, a text or a number. */
const MARKED = /^(?:'(?:''|[^'])*'|(?:"(?:""|[^"])*"|[\p{L}\p{N}_]+)(?:\.(?:"(?:""|[^"])*"|[\p{L}\p{N}_]+))*)/u;

/** Returns where the message `Line <n>, column <n>: …` points to in `sql`; none if it names no place. */
export function markOf(sql: string, message: string): Mark | undefined {
  const place = /^Line (\d+), column (\d+): ([^]*)$/.exec(message);
  if (place === null) return undefined;
  const lines = sql.split('\n');
  const number = Math.min(Number(place[1]), lines.length);
  const line = lines[number - 1] ?? '';
  const start = lines.slice(0, number - 1).reduce((sum, before) => sum + before.length + 1, 0);
  const from = start + unitsOf(line, Number(place[2]) - 1);
  const length = MARKED.exec(sql.slice(from))?.[0].length ?? 1;
  // At the end of the text there is nothing to mark but what stands before it.
  const last = Math.max(0, Math.min(from, sql.length - 1));
  return { from: last, to: Math.max(last + 1, Math.min(from + length, sql.length)), message: place[3] ?? '' };
}

/** The service counts characters; the editor counts UTF-16 units. */
function unitsOf(line: string, characters: number): number {
  return [...line].slice(0, characters).join('').length;
}

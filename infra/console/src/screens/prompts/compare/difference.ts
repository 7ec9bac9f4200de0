/** Compares two texts line by line, and changed lines word by word. */

import type { ChangeObject } from 'diff';

/** Piece of a line; marked where the other side has something else. */
export interface Piece {
  text: string;
  marked: boolean;
}

/** A line of one side. */
export interface Line {
  /** From 1. */
  number: number;
  pieces: readonly Piece[];
}

export interface Pair {
  kind: 'same' | 'changed';
  left: Line | undefined;
  right: Line | undefined;
}

/** Budget of the main thread, in milliseconds; what is not compared in it counts as changed as a whole. */
const LINES_MS = 60;
const WORDS_MS = 30;
const LINE_WORDS_MS = 10;

export async function difference(left: string, right: string): Promise<Pair[]> {
  const { diffLines, diffWordsWithSpace } = await import('diff');
  const changes = diffLines(left, right, { timeout: LINES_MS }) ?? [
    { value: left, removed: true, added: false, count: 1 },
    { value: right, removed: false, added: true, count: 1 },
  ];
  const until = performance.now() + WORDS_MS;
  const words = (from: string, to: string) =>
    performance.now() < until ? diffWordsWithSpace(from, to, { timeout: LINE_WORDS_MS }) : undefined;

  const pairs: Pair[] = [];
  let [leftNumber, rightNumber] = [0, 0];
  for (let index = 0; index < changes.length; index += 1) {
    const change = changes[index];
    if (change === undefined || change.value === '') continue;
    const next = changes[index + 1];
    const lines = linesOf(change.value);
    if (!change.removed && !change.added) {
      for (const text of lines) {
        pairs.push({ kind: 'same', left: plain(++leftNumber, text), right: plain(++rightNumber, text) });
      }
      continue;
    }
    const removed = change.removed ? lines : [];
    const added = change.added ? lines : next?.added ? linesOf(next.value) : [];
    if (change.removed && next?.added) index += 1;
    for (let row = 0; row < Math.max(removed.length, added.length); row += 1) {
      const [from, to] = [removed[row], added[row]];
      const marked = from === undefined || to === undefined ? undefined : words(from, to);
      pairs.push({
        kind: 'changed',
        left: from === undefined ? undefined : lineOf(++leftNumber, from, marked, 'removed', to !== undefined),
        right: to === undefined ? undefined : lineOf(++rightNumber, to, marked, 'added', from !== undefined),
      });
    }
  }
  return pairs;
}

function linesOf(text: string): string[] {
  return (text.endsWith('\n') ? text.slice(0, -1) : text).split('\n');
}

function plain(number: number, text: string): Line {
  return { number, pieces: [{ text, marked: false }] };
}

function lineOf(
  number: number,
  text: string,
  words: ChangeObject<string>[] | undefined,
  side: 'removed' | 'added',
  hasOther: boolean,
): Line {
  if (words === undefined) return { number, pieces: [{ text, marked: hasOther }] };
  const other = side === 'removed' ? 'added' : 'removed';
  const pieces = words.filter((word) => !word[other]).map((word) => ({ text: word.value, marked: word[side] }));
  return { number, pieces };
}

/** Rows to show: unchanged ones far from a change are one gap. */
export type Row = { pair: Pair; key: number } | { gap: Pair[]; key: number };

/** Unchanged lines around a change. */
const CONTEXT = 3;

export function rowsOf(pairs: readonly Pair[], opened: ReadonlySet<number>): Row[] {
  const near = new Uint8Array(pairs.length);
  pairs.forEach((pair, index) => {
    if (pair.kind === 'changed') near.fill(1, Math.max(0, index - CONTEXT), index + CONTEXT + 1);
  });
  const rows: Row[] = [];
  for (let index = 0; index < pairs.length; ) {
    let end = index;
    while (end < pairs.length && near[end] === 0) end += 1;
    const gap = pairs.slice(index, end);
    if (gap.length > 1 && !opened.has(index)) rows.push({ gap, key: index });
    else gap.forEach((pair, offset) => rows.push({ pair, key: index + offset }));
    index = end;
    for (; index < pairs.length && near[index] === 1; index += 1) {
      const pair = pairs[index];
      if (pair !== undefined) rows.push({ pair, key: index });
    }
  }
  return rows;
}

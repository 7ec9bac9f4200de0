/** Marks the places in a text that an error names. */

import { ApiError } from '../api/error';
import type { Mark } from './editor';

/** A sentence about a text, with the place in it where one is known: line and column from 1. */
export interface Fault {
  message: string;
  line?: number | null | undefined;
  column?: number | null | undefined;
}

/** A name with what qualifies it, a text or a number. */
const MARKED = /^(?:'(?:''|[^'])*'|(?:"(?:""|[^"])*"|[\p{L}\p{N}_]+)(?:\.(?:"(?:""|[^"])*"|[\p{L}\p{N}_]+))*)/u;

/** Returns the mark of a refusal of `text` by the service; none for another error. */
export function marksOf(text: string, error: unknown): Mark[] {
  return error instanceof ApiError ? marksAt(text, error) : [];
}

/** Returns the mark at the place of a fault; none for one without a place. */
export function marksAt(text: string, { line: number, column, message }: Fault): Mark[] {
  if (typeof number !== 'number' || typeof column !== 'number') return [];
  const lines = text.split('\n');
  const line = lines[number - 1] ?? '';
  const start = lines.slice(0, number - 1).reduce((sum, before) => sum + before.length + 1, 0);
  // The service counts characters; the editor counts UTF-16 units.
  const from = start + [...line].slice(0, column - 1).join('').length;
  const length = MARKED.exec(text.slice(from))?.[0].length ?? 1;
  // At the end of the text there is nothing to mark but what stands before it.
  const last = Math.max(0, Math.min(from, text.length - 1));
  return [{ from: last, to: Math.max(last + 1, Math.min(from + length, text.length)), message }];
}

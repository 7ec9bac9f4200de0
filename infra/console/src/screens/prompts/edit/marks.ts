/** Finds the place that a message names. */

import { ApiError } from '../../../api/error';
import type { Mark } from '../../../parts/editor';

/** Both forms of the API: 'at line 3, column 14' and 'at line 3'. */
const PLACE = /\bat line (\d{1,9})(?:,? column (\d{1,9}))?/;
/** Engines of browsers name the place in JSON in these ways. */
const JSON_PLACE = /line (\d{1,9}) column (\d{1,9})/;
const JSON_POSITION = /at position (\d{1,9})/;

/** Marks of a refused content, at the place that the message names; none for a message without one. */
export function marksOf(content: string, error: unknown): Mark[] {
  if (!(error instanceof ApiError)) return [];
  const place = PLACE.exec(error.message);
  if (place === null) return [];
  return [at(content, Number(place[1]), place[2] === undefined ? undefined : Number(place[2]), error.message)];
}

/** Marks of a text that is not JSON. */
export function jsonMarks(text: string, message: string): Mark[] {
  const place = JSON_PLACE.exec(message);
  if (place !== null) return [at(text, Number(place[1]), Number(place[2]), message)];
  const position = JSON_POSITION.exec(message);
  const from = position === null ? text.length - 1 : Number(position[1]);
  return [{ from: Math.max(0, Math.min(from, text.length - 1)), to: Math.min(from + 1, text.length), message }];
}

/**
 * Line and column begin with 1; a column counts characters, of which an emoji is one. Without it the line is
 * meant.
 */
function at(text: string, line: number, column: number | undefined, message: string): Mark {
  let start = 0;
  for (let number = 1; number < line; number += 1) {
    const end = text.indexOf('\n', start);
    if (end < 0) break;
    start = end + 1;
  }
  const end = text.indexOf('\n', start);
  const last = end < 0 ? text.length : end;
  if (column === undefined) return { from: start, to: last, message };
  let from = start;
  for (let left = column - 1; left > 0 && from < last; left -= 1) from += (text.codePointAt(from) ?? 0) > 0xffff ? 2 : 1;
  // A place behind the end is shown at the last character.
  if (from >= last && from > start) from -= 1;
  return { from, to: Math.min(from + 1, text.length), message };
}

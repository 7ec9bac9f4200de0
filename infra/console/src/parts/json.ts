/** Reads JSON that a person writes, and says where it is wrong. */

import type { Mark } from './editor';

export type Parsed<T = unknown> = { value: T; fault?: undefined } | { value?: undefined; fault: Fault };

export interface Fault {
  message: string;
  mark: Mark;
}

/** Texts up to this length, in characters, are searched for the place of the mistake. */
const MAX_SEARCHED = 1_000_000;

export function parseJson(text: string): Parsed {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    if (text.length > MAX_SEARCHED) return { fault: faultAt(text, 0, error instanceof Error ? error.message : String(error)) };
    return { fault: findFault(text) };
  }
}

/** Reads an object. An empty text is none, and no fault. */
export function parseObject(text: string): Parsed<Record<string, unknown> | undefined> {
  if (text.trim() === '') return { value: undefined };
  const parsed = parseJson(text);
  if (parsed.fault !== undefined) return parsed;
  if (isObject(parsed.value)) return { value: parsed.value };
  return { fault: { message: 'This must be an object, in braces.', mark: { from: 0, to: text.length, message: 'No object.' } } };
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2);
}

const SPACE = /[ \t\n\r]*/y;
const TEXT = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const LITERAL = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/y;

type Expected = 'value' | 'value or end' | 'name' | 'name or end' | 'colon' | 'comma' | 'nothing';

const MESSAGES: Record<Expected, string> = {
  value: 'A value is missing here: a text in double quotes, a number, an object, an array, true, false or null.',
  'value or end': 'A value or a closing bracket is missing here.',
  name: 'A name in double quotes is missing here.',
  'name or end': 'A name in double quotes or a closing brace is missing here.',
  colon: 'A colon is missing here.',
  comma: 'A comma or a closing bracket is missing here.',
  nothing: 'The JSON value ends before this.',
};

function findFault(text: string): Fault {
  const open: string[] = [];
  let expected: Expected = 'value';
  let place = 0;
  const match = (pattern: RegExp): boolean => {
    pattern.lastIndex = place;
    if (!pattern.test(text)) return false;
    place = pattern.lastIndex;
    return true;
  };
  const afterValue = (): Expected => (open.length === 0 ? 'nothing' : 'comma');
  for (;;) {
    match(SPACE);
    const char = text[place];
    const wantsName: boolean = expected === 'name' || expected === 'name or end';
    const wantsValue: boolean = expected === 'value' || expected === 'value or end';
    const closes = expected === 'comma' || expected === 'name or end' || expected === 'value or end';
    if (char === undefined) return faultAt(text, place, text.trim() === '' ? 'This is empty.' : `The text ends too early. ${MESSAGES[expected]}`);
    if (closes && (char === '}' || char === ']') && (char === '}') === (open.at(-1) === '{')) {
      open.pop();
      place += 1;
      expected = afterValue();
    } else if (expected === 'comma' && char === ',') {
      place += 1;
      expected = open.at(-1) === '{' ? 'name' : 'value';
    } else if (expected === 'colon' && char === ':') {
      place += 1;
      expected = 'value';
    } else if (wantsValue && (char === '{' || char === '[')) {
      open.push(char);
      place += 1;
      expected = char === '{' ? 'name or end' : 'value or end';
    } else if (char === '"' && (wantsName || wantsValue)) {
      if (!match(TEXT)) return faultAt(text, place, 'This text has no closing quote in its line, or a character or escape that JSON does not allow.');
      expected = wantsName ? 'colon' : afterValue();
    } else if (wantsValue && match(LITERAL)) {
      expected = afterValue();
    } else {
      return faultAt(text, place, MESSAGES[expected]);
    }
  }
}

function faultAt(text: string, from: number, message: string): Fault {
  const before = text.slice(0, from);
  const line = before.split('\n').length;
  const column = from - before.lastIndexOf('\n');
  const word = /^[\w.+-]+/.exec(text.slice(from, from + 100))?.[0] ?? '';
  return { message: `Line ${line}, column ${column}: ${message}`, mark: { from, to: from + Math.max(word.length, 1), message } };
}

/** Parameters of a statement: `{{name}}` stands for a value that is sent beside the SQL. */

export const KINDS = ['text', 'number', 'boolean', 'null', 'list'] as const;
export type Kind = (typeof KINDS)[number];

export interface Parameter {
  kind: Kind;
  /** As the user wrote it. */
  text: string;
}

export type Parameters = Record<string, Parameter>;

/** Texts, quoted names and comments, in which `{{name}}` is no parameter, or a parameter. */
const TOKEN =
  /[eE]'(?:\\[^]|''|[^'\\])*'?|'(?:''|[^'])*'?|"(?:""|[^"])*"?|--[^\n]*|\$([A-Za-z_]\w*|)\$[^]*?(?:\$\1\$|$)|\/\*|\{\{([A-Za-z_]\w*)\}\}/g;

/** Returns the names of the parameters, in the order of the statement. */
export function parametersOf(sql: string): string[] {
  const names = new Set<string>();
  const token = new RegExp(TOKEN);
  for (let match = token.exec(sql); match !== null; match = token.exec(sql)) {
    if (match[2] !== undefined) names.add(match[2]);
    else if (match[0] === '/*') token.lastIndex = endOfComment(sql, token.lastIndex);
  }
  return [...names];
}

/** Comments nest. */
function endOfComment(sql: string, from: number): number {
  const edge = /\/\*|\*\//g;
  edge.lastIndex = from;
  let depth = 1;
  for (let match = edge.exec(sql); match !== null; match = edge.exec(sql)) {
    depth += match[0] === '/*' ? 1 : -1;
    if (depth === 0) return edge.lastIndex;
  }
  return sql.length;
}

/** Returns what is wrong with the text of a parameter, or nothing. */
export function faultOf({ kind, text }: Parameter): string | undefined {
  if (kind === 'boolean' && !/^(true|false)$/.test(text)) return 'Choose true or false.';
  if (kind !== 'number') return undefined;
  if (text.trim() === '' || !Number.isFinite(Number(text))) return 'Write a number, such as 12.5.';
  if (!isExact(text)) return 'A number of JSON holds about 15 digits. Choose text to send every digit.';
  return undefined;
}

function isExact(text: string): boolean {
  const digits = text.replace(/[eE].*$/, '').replace(/[^0-9]/g, '').replace(/^0+/, '');
  return digits.length <= 15 || Number.isSafeInteger(Number(text));
}

export function valueOf({ kind, text }: Parameter): unknown {
  if (kind === 'number') return Number(text);
  if (kind === 'boolean') return text === 'true';
  if (kind === 'null') return null;
  if (kind === 'list') return text.split('\n').filter((line) => line.trim() !== '').map(element);
  return text;
}

/**
 * A line is JSON where it is a number that keeps its digits, a boolean, null or a quoted text; otherwise a
 * text.
 */
function element(line: string): unknown {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === 'number') return isExact(line) ? value : line.trim();
    return typeof value === 'object' && value !== null ? line : value;
  } catch {
    return line;
  }
}

/** Returns what the user would write to send `value`. */
export function parameterOf(value: unknown): Parameter {
  if (value === null || value === undefined) return { kind: 'null', text: '' };
  if (typeof value === 'number') return { kind: 'number', text: String(value) };
  if (typeof value === 'boolean') return { kind: 'boolean', text: String(value) };
  if (Array.isArray(value)) return { kind: 'list', text: value.map((item) => asLine(item)).join('\n') };
  return { kind: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) };
}

function asLine(item: unknown): string {
  const json = JSON.stringify(item);
  return typeof item === 'string' && element(item) === item && !/[\n\r]/.test(item) && item.trim() !== '' ? item : json;
}

/** Values of `names`, and the names of those that cannot be sent. */
export function valuesOf(names: readonly string[], parameters: Parameters): { values: Record<string, unknown>; faulty: string[] } {
  const values: Record<string, unknown> = {};
  const faulty: string[] = [];
  for (const name of names) {
    const parameter = parameters[name] ?? { kind: 'text', text: '' };
    if (faultOf(parameter) === undefined) values[name] = valueOf(parameter);
    else faulty.push(name);
  }
  return { values, faulty };
}

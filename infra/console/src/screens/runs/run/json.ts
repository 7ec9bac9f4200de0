/** Reads JSON that a person writes. */

export interface Read {
  value?: unknown;
  fault?: string;
  marks: { from: number; to: number; message: string }[];
}

/** An empty text is no value and no fault. */
export function readJson(text: string): Read {
  if (text.trim() === '') return { marks: [] };
  try {
    return { value: JSON.parse(text) as unknown, marks: [] };
  } catch (error) {
    const fault = `This is not JSON: ${error instanceof Error ? error.message : String(error)}`;
    const position = /position (\d+)/.exec(fault)?.[1];
    const from = position === undefined ? text.length : Number(position);
    return { fault, marks: [{ from, to: from + 1, message: fault }] };
  }
}

/** Reads a body that is an object. */
export function readObject(text: string): Read {
  const read = readJson(text);
  if (read.fault !== undefined) return read;
  if (typeof read.value === 'object' && read.value !== null && !Array.isArray(read.value)) return read;
  return { fault: 'The body is a JSON object, such as {"message": "…"}.', marks: [] };
}

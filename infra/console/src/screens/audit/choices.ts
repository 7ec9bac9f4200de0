/** Lists and times in the address. */

/** Returns a list as one parameter, where a comma stands between its values. */
export function encodeList(values: readonly string[]): string {
  return values.map(encodeURIComponent).join(',');
}

export function decodeList(text: string | null): string[] {
  return (text ?? '').split(',').filter(Boolean).map((value) => {
    try {
      return decodeURIComponent(value);
    } catch {
      return value;
    }
  });
}

/** Returns a time of ISO 8601 as a field of a form has it: in the zone of the browser. */
export function localTime(iso: string | null): string {
  const ms = Date.parse(iso ?? '');
  if (Number.isNaN(ms)) return '';
  return new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

/** Returns the time of a field of a form in ISO 8601; empty for an empty or unfinished one. */
export function isoTime(local: string): string {
  const ms = Date.parse(local);
  return Number.isNaN(ms) ? '' : new Date(ms).toISOString();
}

/** Words for times and durations. */

const UNITS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
];

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'always', style: 'short' });
const absolute = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

/** Returns such as '4 min. ago' or 'in 2 hr.'; both times in milliseconds. */
export function ago(at: number, now: number): string {
  const seconds = (at - now) / 1_000;
  if (Math.abs(seconds) < 1) return 'now';
  const [unit, size] = UNITS.find(([, size]) => Math.abs(seconds) >= size) ?? ['second', 1];
  return relative.format(Math.trunc(seconds / size), unit);
}

/** Returns the time in the reader's zone. */
export function exact(at: number): string {
  return Number.isNaN(at) ? '' : absolute.format(at);
}

/** Returns such as '340 ms', '2.4 s', '3 min 20 s' or '5 h 2 min'. */
export function duration(ms: number): string {
  if (!Number.isFinite(ms) || ms < 0) return '';
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min${seconds % 60 ? ` ${seconds % 60} s` : ''}`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 1_440) return `${Math.floor(minutes / 60)} h${minutes % 60 ? ` ${minutes % 60} min` : ''}`;
  const hours = Math.round(minutes / 60);
  return `${Math.floor(hours / 24)} d${hours % 24 ? ` ${hours % 24} h` : ''}`;
}

const bytesFormat = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });

/** Returns such as '1.2 MB'. */
export function bytes(count: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let unit = 0;
  for (; count >= 1_000 && unit < units.length - 1; unit += 1) count /= 1_000;
  return `${bytesFormat.format(count)} ${units[unit]}`;
}

/** Returns such as '12,345'. */
export function count(number: number): string {
  return number.toLocaleString('en');
}

/** Reads how far something is from the details of a message, where they say it in one of the usual ways. */

export function progressOf(details: unknown): { percent: number; text: string } | undefined {
  if (typeof details !== 'object' || details === null) return undefined;
  const fields = details as Record<string, unknown>;
  const number = (...names: string[]) => names.map((name) => fields[name]).find((value): value is number => typeof value === 'number' && Number.isFinite(value));
  const percent = number('percent', 'percentComplete', 'percent_complete', 'percentage');
  if (percent !== undefined) return within(percent, `${Math.round(percent)} %`);
  const total = number('total', 'totalDocuments', 'total_documents');
  const done = number('completed', 'done', 'current', 'processed', 'successful');
  if (total === undefined || done === undefined || total <= 0) return undefined;
  return within((done / total) * 100, `${done} of ${total}`);
}

function within(percent: number, text: string): { percent: number; text: string } {
  return { percent: Math.min(100, Math.max(0, percent)), text };
}

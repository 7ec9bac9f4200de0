/** Meters of document-processed events, and those that the user names. */

export interface Meter {
  category: string;
  type: string;
}

export const METERS: readonly Meter[] = [
  { category: 'processing', type: 'documents' },
  { category: 'processing', type: 'pages' },
  { category: 'processing', type: 'ocr_pages' },
  { category: 'processing', type: 'vision_pages' },
  { category: 'extraction', type: 'properties' },
  { category: 'extraction', type: 'citations' },
  { category: 'verification', type: 'digitally_verified' },
  { category: 'verification', type: 'ai_verified' },
  { category: 'verification', type: 'unverified' },
  { category: 'review', type: 'issues' },
];

/** Returns a meter as one text: both parts, with a slash between them. */
export function meterName({ category, type }: Meter): string {
  return `${encodeURIComponent(category)}/${encodeURIComponent(type)}`;
}

export function meterLabel({ category, type }: Meter): string {
  return `${category} / ${type.replaceAll('_', ' ')}`;
}

export function meterOf(name: string | null): Meter | undefined {
  const [category, type, ...rest] = (name ?? '').split('/');
  if (!category || !type || rest.length > 0) return undefined;
  try {
    return { category: decodeURIComponent(category), type: decodeURIComponent(type) };
  } catch {
    return undefined;
  }
}

export const isKnown = (meter: Meter): boolean => METERS.some((other) => meterName(other) === meterName(meter));

import type { Schema } from './schema-parts.ts';

/** Found texts and numbers, where a schema's bounds let them pass; else the plainest value that does. */

const DEFAULT_MAX_ITEMS = 100;
const LONGEST_TEXT = 4_000;

/** Fixed values, for nothing is known: the same schema always gets the same. */
const OF_FORMAT: Readonly<Record<string, string>> = {
  'date-time': '1970-01-01T00:00:00Z',
  date: '1970-01-01',
  time: '00:00:00Z',
  duration: 'PT0S',
  email: 'unknown@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com/',
  url: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
};

export function textWithin(schema: Schema, found: string | null): string {
  const min = wholeOf(schema.minLength) ?? 0;
  const max = Math.min(wholeOf(schema.maxLength) ?? LONGEST_TEXT, LONGEST_TEXT);
  if (found !== null && found.length >= min && fitsFormat(schema, found)) {
    return found.slice(0, max).toWellFormed();
  }
  const plain = OF_FORMAT[String(schema.format)] ?? (min > 0 ? 'unknown' : '');
  return plain.padEnd(Math.min(min, LONGEST_TEXT), '.').slice(0, Math.max(max, min));
}

function fitsFormat(schema: Schema, text: string): boolean {
  switch (schema.format) {
    case 'email':
      return /^[^\s@]+@[^\s@]+\.[^\s@]+$/u.test(text);
    case 'date':
      return /^\d{4}-\d{2}-\d{2}$/u.test(text);
    case 'date-time':
      return /^\d{4}-\d{2}-\d{2}T[\d:.]+(?:Z|[+-]\d{2}:\d{2})$/u.test(text);
    case 'time':
      return /^\d{2}:\d{2}:\d{2}/u.test(text);
    case 'uri':
    case 'url':
      return URL.canParse(text);
    case 'uuid':
      return /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/iu.test(text);
    default:
      return true;
  }
}

export function numberWithin(schema: Schema, found: number | null, isWhole: boolean): number {
  const step = numberOf(schema.multipleOf) ?? (isWhole ? 1 : 0);
  const nudge = step > 0 ? step : 1e-6;
  const low = Math.max(
    numberOf(schema.minimum) ?? -Infinity,
    (numberOf(schema.exclusiveMinimum) ?? -Infinity) + nudge,
  );
  const high = Math.min(
    numberOf(schema.maximum) ?? Infinity,
    (numberOf(schema.exclusiveMaximum) ?? Infinity) - nudge,
  );
  const isOnStep = (number: number) => step <= 0 || Number.isInteger(number / step);
  if (found !== null && found >= low && found <= high && isOnStep(found)) return found;
  const nearestZero = Math.max(low, Math.min(high, 0));
  const stepped = step > 0 ? Math.ceil(nearestZero / step) * step : nearestZero;
  return stepped > high ? nearestZero : stepped;
}

export function arrayBounds(schema: Schema): { min: number; max: number } {
  const max = Math.min(wholeOf(schema.maxItems) ?? DEFAULT_MAX_ITEMS, DEFAULT_MAX_ITEMS);
  return { min: Math.min(wholeOf(schema.minItems) ?? 0, max), max };
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

function wholeOf(value: unknown): number | null {
  return Number.isInteger(value) && (value as number) >= 0 ? (value as number) : null;
}

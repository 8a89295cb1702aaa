import type { Evidence } from './document-facts.ts';
import { createEvidenceFinder, type EvidenceFinder } from './evidence.ts';
import { findDates, isoOf } from './text/dates.ts';

/** Keeps of a record's values those that the text has, notes where, and counts the rest. */
export interface CheckedValues {
  text(path: string, value: string | null): string | null;
  /** A date that the text has; of a month that it has not, the year, if it has that. */
  date(path: string, value: string | null): string | null;
  /** The items of a list that the text has, each with its place. */
  list(path: string, values: readonly string[]): string[];
  readonly evidence: readonly Evidence[];
  readonly dropped: readonly string[];
}

/** Not all of what was dropped need be told; the beginning says enough. */
const MOST_TOLD = 20;

export function createCheckedValues(text: string, confidence: number): CheckedValues {
  const finder: EvidenceFinder = createEvidenceFinder(text);
  const evidence: Evidence[] = [];
  const dropped: string[] = [];
  const dates = datesIn(text);
  /** Where the latest entry of a list was found: the next one is looked for from there on. */
  let latest = 0;

  const drop = (path: string) => {
    if (dropped.length < MOST_TOLD) dropped.push(path);
    return null;
  };
  const textOf = (path: string, value: string | null): string | null => {
    if (value === null || value.trim() === '') return null;
    const found = finder.find(value, latest) ?? null;
    if (found === null) return drop(path);
    evidence.push({ path, ...found, confidence });
    if (/\[\d+\]/.test(path)) latest = found.start;
    return value.trim();
  };
  return {
    evidence,
    dropped,
    text: textOf,
    date: (path, value) => {
      if (value === null) return null;
      const month = value.slice(0, 7);
      const year = value.slice(0, 4);
      const place = dates.get(month) ?? dates.get(year);
      if (place === undefined) return drop(path);
      evidence.push({ path, ...place, confidence });
      return dates.has(month) ? month : year;
    },
    list: (path, values) => {
      const kept: string[] = [];
      for (const value of values) {
        const found = finder.find(value);
        if (found === null) drop(`${path}[${kept.length}]`);
        else {
          evidence.push({ path: `${path}[${kept.length}]`, ...found, confidence });
          kept.push(value.trim());
        }
      }
      return kept;
    },
  };
}

/** Every month and year that the text names, with the first place of each. */
function datesIn(text: string): Map<string, { start: number; end: number }> {
  const found = new Map<string, { start: number; end: number }>();
  const add = (iso: string, start: number, end: number) => {
    if (!found.has(iso)) found.set(iso, { start, end });
  };
  for (const { start, end, from, to } of findDates(text)) {
    for (const point of [from, to]) {
      if (point === null || point === 'present') continue;
      add(isoOf(point), start, end);
      add(String(point.year), start, end);
    }
  }
  return found;
}

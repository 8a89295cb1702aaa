import { findDates, isoOf } from '../text/dates.ts';
import { isObject } from './json-answer.ts';

/**
 * Reads fields of an answer as a model gives them: missing for null, a number for a text, one item for a list. What
 * cannot be read becomes null and one problem; the rest of the answer is not lost for it.
 */
export interface LooseFields {
  text(path: string, value: unknown, longest?: number): string | null;
  date(path: string, value: unknown): string | null;
  number(path: string, value: unknown): number | null;
  texts(path: string, value: unknown, most: number): string[];
  /** The items of a list that are objects, as `read` makes them; null leaves one out. */
  items<Item>(
    path: string,
    value: unknown,
    most: number,
    read: (fields: Readonly<Record<string, unknown>>, path: string) => Item | null,
  ): Item[];
  readonly problems: readonly string[];
}

const NOTHING = /^(?:null|none|n\/?a|unknown|not (?:specified|mentioned|available|provided)|-|–)?$/i;
const GOING_ON =
  /^(?:present|current|currently|now|today|ongoing|heute|aktuell|aujourd'hui|presente|oggi|atual|heden)$/i;
const MOST_PROBLEMS = 30;

export function createLooseFields(): LooseFields {
  const problems: string[] = [];
  const say = (problem: string) => {
    if (problems.length < MOST_PROBLEMS) problems.push(problem);
    return null;
  };
  const text = (path: string, value: unknown, longest = 4000): string | null => {
    if (value === undefined || value === null) return null;
    if (typeof value === 'number') return String(value);
    if (typeof value !== 'string') return say(`${path} must be a string or null`);
    const clean = value.trim();
    if (NOTHING.test(clean)) return null;
    return clean.length > longest ? say(`${path} is longer than ${longest} characters`) : clean;
  };
  return {
    problems,
    text,
    date: (path, value) => {
      const raw = text(path, value);
      if (raw === null || GOING_ON.test(raw)) return null;
      if (/^(?:19|20)\d\d(?:-(?:0[1-9]|1[0-2]))?$/.test(raw)) return raw;
      const point = findDates(raw)[0]?.from ?? null;
      return point === null ? say(`${path} must be a date like 2019 or 2019-03, or null`) : isoOf(point);
    },
    number: (path, value) => {
      if (value === undefined || value === null || value === '') return null;
      const number = typeof value === 'string' ? Number(value.replace(/[,\s]/g, '')) : value;
      if (typeof number === 'number' && Number.isFinite(number) && number >= 0) return number;
      return say(`${path} must be a number or null`);
    },
    texts: (path, value, most) => {
      if (value === undefined || value === null) return [];
      const list = Array.isArray(value) ? value : [value];
      return list.slice(0, most).flatMap((one, at) => {
        const plain = isObject(one) ? (one.name ?? one.skill ?? one.text ?? null) : one;
        return text(`${path}[${at}]`, plain) ?? [];
      });
    },
    items: (path, value, most, read) => {
      if (value === undefined || value === null) return [];
      if (!Array.isArray(value)) {
        say(`${path} must be a list`);
        return [];
      }
      return value.slice(0, most).flatMap((one, at) => {
        const place = `${path}[${at}]`;
        const fields = typeof one === 'string' ? { name: one, language: one } : one;
        if (!isObject(fields)) {
          say(`${place} must be an object`);
          return [];
        }
        return read(fields, place) ?? [];
      });
    },
  };
}

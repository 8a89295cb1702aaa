import { type JsonObject, objectIn } from '../../parts/json.ts';

/** A profile as the console reads it, roughly JSON Resume. Values of an unexpected type are treated as missing. */
export interface Profile {
  readonly basics: Readonly<Record<string, unknown>>;
  readonly work: readonly Entry[];
  readonly education: readonly Entry[];
  readonly skills: readonly Entry[];
  readonly languages: readonly Entry[];
  readonly certificates: readonly Entry[];
  readonly projects: readonly Entry[];
}

export type Entry = JsonObject;

export interface Evidence {
  readonly path: string;
  readonly start: number;
  readonly end: number;
  readonly confidence: number;
}

const listIn = (value: unknown): readonly Entry[] => (Array.isArray(value) ? value.map(objectIn) : []);
/** Some profiles list plain words instead of objects. */
const namedIn = (value: unknown, name: string): readonly Entry[] =>
  Array.isArray(value) ? value.map((one) => (typeof one === 'string' ? { [name]: one } : objectIn(one))) : [];

export function profileOf(value: unknown): Profile {
  const profile = objectIn(value);
  return {
    basics: objectIn(profile.basics),
    work: listIn(profile.work),
    education: listIn(profile.education),
    skills: namedIn(profile.skills, 'name'),
    languages: namedIn(profile.languages, 'language'),
    certificates: namedIn(profile.certificates, 'name'),
    projects: namedIn(profile.projects, 'name'),
  };
}

export function evidenceOf(value: unknown): readonly Evidence[] {
  if (!Array.isArray(value)) return [];
  return value.map(objectIn).flatMap(({ path, start, end, confidence }) => {
    if (typeof path !== 'string' || typeof start !== 'number' || typeof end !== 'number') return [];
    return [{ path, start, end, confidence: typeof confidence === 'number' ? confidence : 1 }];
  });
}

export interface Piece {
  readonly text: string;
  /** The paths of the values found in this piece; empty for the text in between. */
  readonly paths: readonly string[];
}

/** Splits the text wherever evidence starts or ends, because evidence may overlap. */
export function piecesOf(text: string, evidence: readonly Evidence[]): readonly Piece[] {
  const inside = evidence.filter(({ start, end }) => start >= 0 && start < end && end <= text.length);
  const cuts = new Set([0, text.length, ...inside.flatMap(({ start, end }) => [start, end])]);
  const sorted = [...cuts].sort((one, other) => one - other);
  return sorted.slice(0, -1).map((from, at) => {
    const to = sorted[at + 1] ?? text.length;
    const covering = inside.filter(({ start, end }) => start <= from && end >= to);
    return { text: text.slice(from, to), paths: covering.map(({ path }) => path) };
  });
}

export function experienceWords(months: unknown): string {
  if (typeof months !== 'number') return '';
  const [years, rest] = [Math.floor(months / 12), Math.round(months % 12)];
  const words = [years > 0 ? `${years} ${years === 1 ? 'year' : 'years'}` : ''];
  if (rest > 0 || years === 0) words.push(`${rest} ${rest === 1 ? 'month' : 'months'}`);
  return words.filter((one) => one !== '').join(' and ');
}

export interface Placed<Item> {
  readonly at: number;
  readonly entry: Item;
}

/** Adds the index of each entry, by which the evidence refers to it. The lists of a profile are not reordered. */
export function placed<Item>(entries: readonly Item[]): readonly Placed<Item>[] {
  return entries.map((entry, at) => ({ at, entry }));
}

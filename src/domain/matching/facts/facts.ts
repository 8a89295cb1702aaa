/**
 * All that matching knows about a talent and a job. Nothing else can influence a score: no name, age, sex, origin or
 * photo, and no proxy for one of them (names of schools and employers, a personal summary).
 */
export interface TalentFacts {
  /** Canonical names in lower case, from the vocabulary. */
  readonly skills: readonly string[];
  /** Newest first. */
  readonly roles: readonly Role[];
  /** Null if the CV has no dates. */
  readonly totalMonths: number | null;
  readonly degree: DegreeLevel | null;
  /** Fields of study. */
  readonly areas: readonly string[];
  readonly languages: readonly Language[];
  /** The language of the CV itself, if known: its author can write it. */
  readonly writtenIn: string | null;
  readonly certificates: readonly string[];
  /** Classes of the driving licence; null if none is named. */
  readonly licence?: readonly string[] | null;
  readonly place: Place | null;
  /** The words of the CV, without those that identify the person. */
  readonly terms: readonly string[];
  /** How often each term occurs; missing in facts of an earlier version. */
  readonly counts?: readonly number[];
  /** English forms of the terms that have another one: compared with a posting in another language. */
  readonly english?: Readonly<Record<string, string>>;
  /** Those of `skills` that are mentioned without a job, project, school or certificate that shows them. */
  readonly named?: readonly string[];
  /** Null if there is no text. */
  readonly outline?: Outline | null;
}

/**
 * The words of a CV in order, as numbers, and the positions of its values among them, so that a passage that repeats
 * the posting can be removed from a comparison. A value without positions does not occur in the text.
 */
export interface Outline {
  readonly words: ArrayLike<number>;
  /** In the order of the facts with the same name. */
  readonly skills: readonly (readonly number[])[];
  readonly roles: readonly (readonly number[])[];
  readonly languages: readonly (readonly number[])[];
  readonly certificates: readonly (readonly number[])[];
  readonly degree: readonly number[];
  readonly place: readonly number[];
  readonly licence?: readonly number[];
}

export interface JobFacts {
  readonly title: string;
  readonly must: readonly Requirement[];
  /** Whether a person listed them; those read from a text are less certain. */
  readonly isMustGiven?: boolean;
  readonly nice: readonly Requirement[];
  /** Named in the posting, but neither as a must-have nor as a nice-to-have. */
  readonly mentioned: readonly string[];
  readonly minMonths: number | null;
  readonly places: readonly Place[];
  readonly remote: boolean;
  readonly terms: readonly string[];
  /** How often each term occurs, as for a talent. */
  readonly counts?: readonly number[];
  /** As for a talent. */
  readonly english?: Readonly<Record<string, string>>;
  /** The language of the posting, if known. */
  readonly writtenIn?: string | null;
  /** Its words in order, as in the outline of a talent. */
  readonly words?: readonly number[];
}

export interface Role {
  readonly title: string;
  /** Null if it has no dates. */
  readonly months: number | null;
}

export interface Language {
  /** ISO 639, with two letters if such a code exists. */
  readonly code: string;
  readonly level: LanguageLevel | null;
}

/** 1 is A1, 6 is C2, 7 is native. */
export type LanguageLevel = 1 | 2 | 3 | 4 | 5 | 6 | 7;

/** 1 school, 2 vocational training, 3 bachelor, 4 master, 5 doctorate. */
export type DegreeLevel = 1 | 2 | 3 | 4 | 5;

export interface Place {
  readonly city: string | null;
  readonly region: string | null;
  /** ISO 3166, two capital letters. */
  readonly country: string | null;
}

/** One requirement of a job, with the posting's words for it. */
export type Requirement = { readonly text: string } & (
  | {
      readonly kind: 'skills';
      readonly skills: readonly string[];
      /** Whether one of them is enough. */
      readonly isAny: boolean;
    }
  | { readonly kind: 'language'; readonly code: string; readonly level: LanguageLevel | null }
  | { readonly kind: 'degree'; readonly level: DegreeLevel; readonly orExperience: boolean }
  | { readonly kind: 'experience'; readonly months: number }
  | { readonly kind: 'certificate'; readonly name: string }
  /** Not in any known list: compared by its words, and never a must-have. */
  | { readonly kind: 'words'; readonly terms: readonly string[] }
);

export interface SkillMention {
  readonly name: string;
  readonly start: number;
}

/** The canonical names of skills. */
export interface SkillVocabulary {
  /** The canonical name in lower case; an unknown name is only lower-cased. */
  canonical(name: string): string;
  /** The canonical names of the skills in a text, each once. */
  findIn(text: string): readonly string[];
  /** Each mention of a skill with its start position. */
  mentionsIn(text: string): readonly SkillMention[];
}

/**
 * Raised with every change to how facts are read or scores are computed. Everything is then scored again in the
 * background.
 */
export const SCORER_VERSION = 12;

/**
 * A unit vector in integers of one byte: 384 bytes instead of 1.5 KB, and identical on every machine. The cosine of two
 * of them is off by less than 0.005, far less than the model's own noise.
 */
export interface StoredVector {
  /** Vectors of different models cannot be compared. */
  readonly model: string;
  readonly values: Int8Array;
}

const VECTOR_SCALE = 127;
const LONGEST_VECTOR = 4_096;

/** Null if the numbers have no direction. */
export function storedVector(model: string, numbers: readonly number[]): StoredVector | null {
  const unit = unitVector(numbers);
  if (unit === null) return null;
  return { model, values: Int8Array.from(unit, (number) => Math.round(number * VECTOR_SCALE)) };
}

/**
 * The texts of a talent or job that are sent to the embed alias: the whole, then only titles and skills, which have
 * little influence in the vector of a long text. One text if there are only titles and skills, none if there is
 * nothing.
 */
export type TextsToEmbed = readonly string[];

/** The weight of titles and skills, relative to 1 for the whole. */
const HEAD_WEIGHT = 0.5;

/** Combines the vectors of the texts of a talent or job into one. */
export function meanVector(model: string, vectors: readonly (readonly number[])[]): StoredVector | null {
  const [whole, head] = vectors.map(unitVector);
  if (whole == null || head == null || whole.length !== head.length) return storedVector(model, whole ?? []);
  return storedVector(
    model,
    whole.map((number, at) => number + HEAD_WEIGHT * (head[at] ?? 0)),
  );
}

/** Null if there is no direction: no numbers or too many, only zeros, or a value that is not a finite number. */
function unitVector(numbers: readonly number[]): readonly number[] | null {
  if (numbers.length === 0 || numbers.length > LONGEST_VECTOR) return null;
  const length = Math.sqrt(numbers.reduce((sum, number) => sum + number * number, 0));
  return Number.isFinite(length) && length > 0 ? numbers.map((number) => number / length) : null;
}

/** -1 to 1; null if one is missing or they cannot be compared. */
export function cosine(one: StoredVector | null, other: StoredVector | null): number | null {
  if (one === null || other === null) return null;
  if (one.model !== other.model || one.values.length !== other.values.length) return null;
  return dot(one.values, other.values) / (VECTOR_SCALE * VECTOR_SCALE);
}

function dot(one: Int8Array, other: Int8Array): number {
  let sum = 0;
  for (let at = 0; at < one.length; at += 1) sum += (one[at] as number) * (other[at] as number);
  return sum;
}

/** The form stored in the database. */
export function vectorBytes(vector: StoredVector): Uint8Array {
  return new Uint8Array(vector.values.buffer, vector.values.byteOffset, vector.values.byteLength);
}

export function vectorFrom(model: string | null, bytes: Uint8Array | null): StoredVector | null {
  if (model === null || bytes === null) return null;
  return { model, values: new Int8Array(bytes.slice().buffer) };
}

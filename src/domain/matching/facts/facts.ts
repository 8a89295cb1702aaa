/**
 * All that matching knows of a talent and of a job. Whatever is not named here cannot enter a score: no name, age, sex,
 * origin or photo, and nothing that stands for one of them (the names of schools and employers, a summary about oneself).
 */
export interface TalentFacts {
  /** Canonical names in lower case, as the vocabulary gives them. */
  readonly skills: readonly string[];
  /** The newest first. */
  readonly roles: readonly Role[];
  /** Null where the CV has no dates. */
  readonly totalMonths: number | null;
  readonly degree: DegreeLevel | null;
  /** Fields of study. */
  readonly areas: readonly string[];
  readonly languages: readonly Language[];
  /** The language of the CV itself, if known: its author can write it. */
  readonly writtenIn: string | null;
  readonly certificates: readonly string[];
  /** Classes of the driving licence; null where none is named. */
  readonly licence?: readonly string[] | null;
  readonly place: Place | null;
  /** The words of the CV, without those that tell whose it is. */
  readonly terms: readonly string[];
  /** How often each of them occurs; facts of an earlier version have none. */
  readonly counts?: readonly number[];
  /** Those of `skills` that are mentioned without a job, project, school or certificate that shows them. */
  readonly named?: readonly string[];
  /** Null where there is no text. */
  readonly outline?: Outline | null;
}

/**
 * The words of a CV in order, as numbers, and at which of them its values are: so that a passage that repeats the posting
 * can be left out of a comparison. A value without a place is one that the text does not have.
 */
export interface Outline {
  readonly words: ArrayLike<number>;
  /** By the order of the facts of the same name. */
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
  /** Whether a person listed them: those that were read out of a text are less sure. */
  readonly isMustGiven?: boolean;
  readonly nice: readonly Requirement[];
  /** Named in the posting, but neither as a must nor as a nice-to-have. */
  readonly mentioned: readonly string[];
  readonly minMonths: number | null;
  readonly places: readonly Place[];
  readonly remote: boolean;
  readonly terms: readonly string[];
  /** As for a talent. */
  readonly counts?: readonly number[];
  /** Its words in order, as in the outline of a talent. */
  readonly words?: readonly number[];
}

export interface Role {
  readonly title: string;
  /** Null where it has no dates. */
  readonly months: number | null;
}

export interface Language {
  /** ISO 639, two letters where there are two. */
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

/** One thing that a job asks for, with the posting's words for it. */
export type Requirement = { readonly text: string } & (
  | {
      readonly kind: 'skills';
      readonly skills: readonly string[];
      /** One of them is enough. */
      readonly isAny: boolean;
    }
  | { readonly kind: 'language'; readonly code: string; readonly level: LanguageLevel | null }
  | { readonly kind: 'degree'; readonly level: DegreeLevel; readonly orExperience: boolean }
  | { readonly kind: 'experience'; readonly months: number }
  | { readonly kind: 'certificate'; readonly name: string }
  /** What no list of ours knows: compared by its words, and never a reason to turn anybody down. */
  | { readonly kind: 'words'; readonly terms: readonly string[] }
);

export interface SkillMention {
  readonly name: string;
  readonly start: number;
}

/** The canonical names of skills. */
export interface SkillVocabulary {
  /** The canonical name in lower case; an unknown name is itself in lower case. */
  canonical(name: string): string;
  /** Those a text speaks of, canonical, each once. */
  findIn(text: string): readonly string[];
  /** Each mention of one, and where it begins. */
  mentionsIn(text: string): readonly SkillMention[];
}

/** Raised with every change of how facts are read or scores computed: everything is then scored anew, in the background. */
export const SCORER_VERSION = 7;

/**
 * A unit vector in whole numbers of one byte: 384 bytes instead of 1.5 KB, and the same number on every machine. The
 * cosine of two of them is off by less than 0.005, which is far less than the model's own noise.
 */
export interface StoredVector {
  /** Vectors of different models have nothing to say about each other. */
  readonly model: string;
  readonly values: Int8Array;
}

const VECTOR_SCALE = 127;
const LONGEST_VECTOR = 4_096;

/** Null for what is no direction. */
export function storedVector(model: string, numbers: readonly number[]): StoredVector | null {
  const unit = unitVector(numbers);
  if (unit === null) return null;
  return { model, values: Int8Array.from(unit, (number) => Math.round(number * VECTOR_SCALE)) };
}

/**
 * What the embed alias is asked about a talent or a job: all of it, then titles and skills alone, which count for little in the
 * vector of a long text. One text where there is nothing but titles and skills, none where there is nothing at all.
 */
export type TextsToEmbed = readonly string[];

/** Of titles and skills, beside 1 for the whole. */
const HEAD_WEIGHT = 0.5;

/** One vector for a talent or a job, out of those of its texts. */
export function meanVector(model: string, vectors: readonly (readonly number[])[]): StoredVector | null {
  const [whole, head] = vectors.map(unitVector);
  if (whole == null || head == null || whole.length !== head.length) return storedVector(model, whole ?? []);
  return storedVector(
    model,
    whole.map((number, at) => number + HEAD_WEIGHT * (head[at] ?? 0)),
  );
}

/** Null for what is no direction: nothing, zeros, or something that is no number. */
function unitVector(numbers: readonly number[]): readonly number[] | null {
  if (numbers.length === 0 || numbers.length > LONGEST_VECTOR) return null;
  const length = Math.sqrt(numbers.reduce((sum, number) => sum + number * number, 0));
  return Number.isFinite(length) && length > 0 ? numbers.map((number) => number / length) : null;
}

/** -1 to 1; null where one is missing or they cannot be compared. */
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

/** As it goes into the database. */
export function vectorBytes(vector: StoredVector): Uint8Array {
  return new Uint8Array(vector.values.buffer, vector.values.byteOffset, vector.values.byteLength);
}

export function vectorFrom(model: string | null, bytes: Uint8Array | null): StoredVector | null {
  if (model === null || bytes === null) return null;
  return { model, values: new Int8Array(bytes.slice().buffer) };
}

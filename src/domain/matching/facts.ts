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
  /** The language of the CV itself, where it is known: whoever wrote it can write it. */
  readonly writtenIn: string | null;
  readonly certificates: readonly string[];
  readonly place: Place | null;
  /** The words of what was done, without those that tell who did it. */
  readonly terms: readonly string[];
}

export interface JobFacts {
  readonly title: string;
  readonly must: readonly Requirement[];
  readonly nice: readonly Requirement[];
  /** Named in the posting, but neither as a must nor as a nice-to-have. */
  readonly mentioned: readonly string[];
  readonly minMonths: number | null;
  readonly places: readonly Place[];
  readonly remote: boolean;
  readonly terms: readonly string[];
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

/** Names of skills, whoever knows them. */
export interface SkillVocabulary {
  /** The canonical name in lower case; a name nobody knows is itself in lower case. */
  canonical(name: string): string;
  /** Those a text speaks of, canonical, each once. */
  findIn(text: string): readonly string[];
}

/** Raised with every change of how facts are read or scores computed: everything is then scored anew, in the background. */
export const SCORER_VERSION = 2;

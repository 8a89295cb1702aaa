/** The parts of a score, in the order in which they are shown. */
export const PARTS = [
  'skills',
  'titles',
  'experience',
  'education',
  'languages and certificates',
  'place and mode',
  'closeness',
] as const;

export type PartName = (typeof PARTS)[number];

/** How much each part counts. Only their relation matters: they are shared out over the parts that apply to a pair. */
export type Weights = Readonly<Record<PartName, number>>;

/**
 * What a company begins with. Skills, the kind of work and the closeness of the texts decide most. A
 * part that a job says nothing about does not count at all, so a posting without a degree gives education no weight.
 */
export const DEFAULT_WEIGHTS: Weights = {
  skills: 28,
  titles: 22,
  experience: 6,
  education: 6,
  'languages and certificates': 10,
  'place and mode': 8,
  closeness: 20,
};

/** A company's weights as they are stored; version 0 are the defaults. */
export interface CompanyWeights {
  readonly version: number;
  readonly weights: Weights;
}

export const DEFAULT_COMPANY_WEIGHTS: CompanyWeights = { version: 0, weights: DEFAULT_WEIGHTS };

export const MOST_WEIGHT = 100;

export type WantedWeights =
  | { readonly outcome: 'accepted'; readonly weights: Weights }
  | { readonly outcome: 'refused'; readonly part: string; readonly problem: string };

/** Each from 0 to 100; what is left out keeps its default; not all of them 0. */
export function readWeights(wanted: Readonly<Record<string, number | null | undefined>>): WantedWeights {
  for (const [part, weight] of Object.entries(wanted)) {
    if (!PARTS.includes(part as PartName)) return refused(part, `the parts are ${PARTS.join(', ')}`);
    if (weight == null) continue;
    if (!Number.isFinite(weight) || weight < 0 || weight > MOST_WEIGHT) {
      return refused(part, `a number from 0 to ${MOST_WEIGHT} is needed`);
    }
  }
  const weights = Object.fromEntries(
    PARTS.map((part) => [part, wanted[part] ?? DEFAULT_WEIGHTS[part]]),
  ) as unknown as Weights;
  const sum = PARTS.reduce((total, part) => total + weights[part], 0);
  return sum > 0
    ? { outcome: 'accepted', weights }
    : refused('skills', 'at least one part must have a weight');
}

function refused(part: string, problem: string): WantedWeights {
  return { outcome: 'refused', part, problem };
}

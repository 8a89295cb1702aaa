import type { DegreeLevel } from './facts.ts';

/** The highest first: a line that names two means the higher one. */
const LEVELS: readonly (readonly [DegreeLevel, RegExp])[] = [
  [5, /\b(?:ph\.?\s?d|doctorate|doctoral|d\.?phil|dr\.?[- ](?:ing|rer)|doktor|doctorat|doctorado)\b/iu],
  [
    4,
    /\b(?:master(?:['’]?s)?(?=\s*(?:'s|’s|degree|of|in|level|or|and|,|\.|\)|$))|m\.?\s?sc|m\.?\s?a\.(?=\W|$)|m\.?b\.?a|m\.?eng|m\.?tech|m\.?ed|ll\.?m|diplom(?:[- ]ing\w*)?|maestría|máster|maîtrise|postgraduate|graduate degree)\b/iu,
  ],
  [
    3,
    /\b(?:bachelor(?:['’]?s)?|b\.?\s?sc|b\.?\s?a\.(?=\W|$)|b\.?\s?s\.(?=\W|$)|b\.?eng|b\.?tech|b\.?com|b\.?ed|ll\.?b|undergraduate degree|licenciatura|university degree|college degree|abgeschlossenes studium|degree in)\b/iu,
  ],
  [
    2,
    /\b(?:associate(?:['’]?s)? degree|vocational|apprenticeship|ausbildung|diploma|hnd|btec|trade school|berufsausbildung|certificate iv)\b/iu,
  ],
  [
    1,
    /\b(?:high school|secondary school|ged|abitur|a[- ]levels?|gcse|school diploma|baccalauréat|matura)\b/iu,
  ],
];

const NAMES: Readonly<Record<DegreeLevel, string>> = {
  1: 'a school-leaving certificate',
  2: 'a vocational qualification',
  3: 'a bachelor’s degree',
  4: 'a master’s degree',
  5: 'a doctorate',
};

export function degreeIn(text: string): DegreeLevel | null {
  return LEVELS.find(([, pattern]) => pattern.test(text))?.[0] ?? null;
}

/** The lowest one named: "Bachelor's or Master's" asks for a bachelor's. */
export function lowestDegreeIn(text: string): DegreeLevel | null {
  const named = LEVELS.filter(([, pattern]) => pattern.test(text)).map(([level]) => level);
  return named.length === 0 ? null : (Math.min(...named) as DegreeLevel);
}

export function degreeName(level: DegreeLevel): string {
  return NAMES[level];
}

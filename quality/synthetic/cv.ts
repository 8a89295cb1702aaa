import { asEuropass, asMonster, asNaukri, asXing } from './board-exports.ts';
import { createFacts, type Facts, monthsOfWork } from './facts.ts';
import {
  asProse,
  inOneColumn,
  inTwoColumns,
  withDatesLeft,
  withDatesRight,
  withHeadingsLeft,
  withLabels,
  withoutHeadings,
  withTables,
} from './layouts.ts';
import { type MarkedSpan, rendered } from './marked-text.ts';
import { withNoise } from './noise.ts';
import { asIndeed, asLinkedIn } from './profile-exports.ts';
import { createRandom } from './random.ts';
import { asTheme } from './resume-themes.ts';
import type { Block, Writing } from './sections.ts';
import { createStyle } from './style.ts';
import { LANGUAGE_OF, LANGUAGES, type Language } from './words.ts';

export interface SyntheticCv {
  readonly text: string;
  readonly language: string;
  readonly layout: string;
  readonly spans: readonly MarkedSpan[];
  /** Months of work, each counted once; null where the text has no months. */
  readonly months: number | null;
}

const LAYOUTS: Readonly<Record<string, readonly [weight: number, make: (writing: Writing) => Block]>> = {
  'one column': [34, inOneColumn],
  'dates left': [10, withDatesLeft],
  'dates right': [9, withDatesRight],
  labels: [7, withLabels],
  table: [5, withTables],
  'two columns beside': [6, (writing) => inTwoColumns(writing, true)],
  'two columns in turn': [6, (writing) => inTwoColumns(writing, false)],
  'headings left': [4, withHeadingsLeft],
  'no headings': [5, withoutHeadings],
  prose: [2, asProse],
  linkedin: [5, asLinkedIn],
  indeed: [7, asIndeed],
  theme: [8, asTheme],
  europass: [3, asEuropass],
  naukri: [2, asNaukri],
  monster: [2, asMonster],
  xing: [2, asXing],
};
export const LAYOUT_NAMES = Object.keys(LAYOUTS);
const WEIGHTS = Object.fromEntries(Object.entries(LAYOUTS).map(([name, [weight]]) => [name, weight]));

/** The CV of a seed: the same seed gives the same CV. */
export function syntheticCv(seed: number): SyntheticCv {
  const random = createRandom(Math.imul(seed + 1, 0x9e3779b1));
  const code = random.weighted(LANGUAGES);
  const language = LANGUAGE_OF[code] as Language;
  const facts = createFacts(random, language);
  const style = createStyle(random, language);
  const layout = random.weighted(WEIGHTS);
  const block = LAYOUTS[layout]?.[1]({ random, language, facts, style }) ?? [];
  const { text, spans } = rendered(withNoise(random, block, facts.shownName));
  return { text, language: code, layout, spans, months: monthsShown(facts, layout, style.isYearsOnly) };
}

/** Layouts that write months whatever the writer's style is. */
const WITH_MONTHS: ReadonlySet<string> = new Set(['linkedin', 'indeed']);
/** Layouts that list earlier positions at the same company. */
const WITH_EARLIER: ReadonlySet<string> = new Set([
  'one column',
  'two columns beside',
  'two columns in turn',
  'headings left',
  'no headings',
  'linkedin',
]);

function monthsShown({ jobs }: Facts, layout: string, isYearsOnly: boolean): number | null {
  if (jobs.length === 0) return 0;
  if (isYearsOnly && !WITH_MONTHS.has(layout)) return null;
  const earlier = WITH_EARLIER.has(layout) ? jobs.flatMap((job) => job.earlier) : [];
  return monthsOfWork([...jobs, ...earlier]);
}

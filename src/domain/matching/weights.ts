import type { Statements } from '../../ports/database.ts';

/** The parts of a score, in display order. */
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

/** How much each part counts. Only the ratios matter: the weights are distributed over the parts that apply to a pair. */
export type Weights = Readonly<Record<PartName, number>>;

/**
 * The weights of a new company, learned from judged pairs of several sources by `bun quality/match-weights.ts`, which
 * prints them (docs/quality.md). The closeness of the texts has the most influence. A part that the job does not
 * mention does not count: if a posting asks for no degree, education has no weight.
 */
export const DEFAULT_WEIGHTS: Weights = {
  skills: 10,
  titles: 10,
  experience: 10,
  education: 5,
  'languages and certificates': 5,
  'place and mode': 5,
  closeness: 57,
};

/** A company's stored weights; version 0 is the defaults. */
export interface CompanyWeights {
  readonly version: number;
  readonly weights: Weights;
}

const DEFAULT_COMPANY_WEIGHTS: CompanyWeights = { version: 0, weights: DEFAULT_WEIGHTS };

const MOST_WEIGHT = 100;

type CheckedWeights =
  | { readonly outcome: 'accepted'; readonly weights: Weights }
  | { readonly outcome: 'refused'; readonly part: string; readonly problem: string };

/** Each weight is 0 to 100, and at least one is above 0. An omitted part keeps its default. */
export function readWeights(given: Readonly<Record<string, number | null | undefined>>): CheckedWeights {
  for (const [part, weight] of Object.entries(given)) {
    if (!PARTS.includes(part as PartName)) return refused(part, `the parts are ${PARTS.join(', ')}`);
    if (weight == null) continue;
    if (!Number.isFinite(weight) || weight < 0 || weight > MOST_WEIGHT) {
      return refused(part, `a number from 0 to ${MOST_WEIGHT} is needed`);
    }
  }
  const weights = Object.fromEntries(
    PARTS.map((part) => [part, given[part] ?? DEFAULT_WEIGHTS[part]]),
  ) as unknown as Weights;
  const sum = PARTS.reduce((total, part) => total + weights[part], 0);
  return sum > 0
    ? { outcome: 'accepted', weights }
    : refused('skills', 'at least one part must have a weight');
}

function refused(part: string, problem: string): CheckedWeights {
  return { outcome: 'refused', part, problem };
}

export async function findWeights(statements: Statements, companyId: string): Promise<CompanyWeights> {
  const rows = await statements.query<CompanyWeights>(
    'select version, weights from match_weights where company_id = $1',
    [companyId],
  );
  const [own] = rows;
  // A part that was added after the row was stored has its default.
  return own === undefined
    ? DEFAULT_COMPANY_WEIGHTS
    : { version: own.version, weights: { ...DEFAULT_WEIGHTS, ...own.weights } };
}

/**
 * After the commit, all pairs of the company are scored again in the background, job by job; facts and vectors are
 * kept. Runs in the caller's transaction, so that the change and its audit record are committed together.
 */
export async function setWeights(
  transaction: Statements,
  companyId: string,
  weights: Weights,
  changedAt: Date,
): Promise<CompanyWeights> {
  const rows = await transaction.query<CompanyWeights>(
    `insert into match_weights as own (company_id, version, weights, changed_at) values ($1, 1, $2, $3)
     on conflict (company_id) do update set version = own.version + 1, weights = excluded.weights,
       changed_at = excluded.changed_at
     returning version, weights`,
    [companyId, { ...weights }, changedAt],
  );
  const [own] = rows;
  if (own === undefined) throw new Error('the weights that were set did not come back');
  await transaction.query(
    `select note_match_change('job', subject_id, company_id) from match_subjects
     where company_id = $1 and kind = 'job' and is_live order by subject_id`,
    [companyId],
  );
  return own;
}

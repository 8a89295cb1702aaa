import type { Statements } from '../../ports/database.ts';
import { type CompanyWeights, DEFAULT_COMPANY_WEIGHTS, DEFAULT_WEIGHTS, type Weights } from './weights.ts';

export async function findWeights(statements: Statements, companyId: string): Promise<CompanyWeights> {
  const rows = await statements.query<CompanyWeights>(
    'select version, weights from match_weights where company_id = $1',
    [companyId],
  );
  const [own] = rows;
  // A part that came later than the row has its default.
  return own === undefined
    ? DEFAULT_COMPANY_WEIGHTS
    : { version: own.version, weights: { ...DEFAULT_WEIGHTS, ...own.weights } };
}

/**
 * From the commit on all of the company's pairs are scored anew, in the background, job by job: their facts and vectors
 * stay as they are. The caller's transaction, so that the change and its record are one.
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

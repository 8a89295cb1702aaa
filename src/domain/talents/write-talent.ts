import type { Transaction } from '../../ports/database.ts';
import { TALENT_COLUMNS, type Talent } from './talent.ts';

export type TalentChange = 'created' | 'edited' | 'parsed' | 'parse-failed' | 'sent-again' | 'newer-cv';

export interface WrittenTalentChange {
  readonly what: TalentChange;
  /** Null for the CV worker. */
  readonly changedBy: string | null;
  readonly at: Date;
}

/** A new talent as its first version. */
export async function insertTalent(
  transaction: Transaction,
  talent: Talent,
  change: WrittenTalentChange,
): Promise<Talent> {
  const rows = await transaction.query<Talent>(
    `insert into talents (id, company_id, status, name, email, phone, headline, profile, evidence, document, engine,
       problem, created_by, created_at, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9::text::jsonb, $10, $11, $12, $13, $14, $14)
     returning ${TALENT_COLUMNS}`,
    [talent.id, talent.companyId, ...valuesOf(talent), talent.createdBy, change.at],
  );
  return await withVersion(transaction, rows[0], change);
}

/** Writes every field of a locked talent as its next version. */
export async function writeTalent(
  transaction: Transaction,
  next: Talent,
  change: WrittenTalentChange,
): Promise<Talent> {
  const rows = await transaction.query<Talent>(
    `update talents set version = version + 1, status = $3, name = $4, email = $5, phone = $6, headline = $7,
       profile = $8, evidence = $9::text::jsonb, document = $10, engine = $11, problem = $12, duplicate_of = $13,
       updated_at = greatest(updated_at, $14)
     where id = $1 and company_id = $2 returning ${TALENT_COLUMNS}`,
    [next.id, next.companyId, ...valuesOf(next), next.duplicateOf, change.at],
  );
  return await withVersion(transaction, rows[0], change);
}

function valuesOf(talent: Talent) {
  const { status, name, email, phone, headline, profile, evidence, document, engine, problem } = talent;
  // As text: an array would be taken for one of PostgreSQL's.
  const evidenceText = evidence === null ? null : JSON.stringify(evidence);
  return [status, name, email, phone, headline, profile, evidenceText, document, engine, problem];
}

async function withVersion(
  transaction: Transaction,
  talent: Talent | undefined,
  { what, changedBy }: WrittenTalentChange,
): Promise<Talent> {
  if (talent === undefined) throw new Error('a talent that was written did not come back');
  await transaction.query(
    `insert into talent_versions (talent_id, version, what, profile, changed_by, changed_at)
     values ($1, $2, $3, $4, $5, $6)`,
    [talent.id, talent.version, what, talent.profile, changedBy, talent.updatedAt],
  );
  return talent;
}

/** Null for a talent of another company, as for one that does not exist. */
export async function lockTalent(
  transaction: Transaction,
  companyId: string | null,
  talentId: string,
): Promise<Talent | null> {
  const rows = await transaction.query<Talent>(
    `select ${TALENT_COLUMNS} from talents where id = $1 and ($2::uuid is null or company_id = $2) for update`,
    [talentId, companyId],
  );
  return rows[0] ?? null;
}

import type { Transaction } from '../../ports/database.ts';
import { TALENT_COLUMNS, type Talent } from './talent.ts';
import { writeTalent } from './write-talent.ts';

export type Because = 'same-file' | 'same-email' | 'same-name-and-phone';
export type Effect = 'returned' | 'updated' | 'linked';

/**
 * Looks whether a talent who has just become READY was there before, and links the two. Who was there first stays the
 * one to be matched and takes over the newer profile; where a person has edited the earlier one by hand it stays as it
 * is. Two of one company are looked at one after the other, so that of two that come at once the second finds the first.
 */
export async function recognise(transaction: Transaction, talent: Talent, at: Date): Promise<Talent> {
  await transaction.query(`select pg_advisory_xact_lock(hashtextextended('talents ' || $1::text, 0))`, [
    talent.companyId,
  ]);
  const earlier = await findEarlier(transaction, talent);
  if (earlier === null) return talent;
  const because =
    talent.email !== null && earlier.email === talent.email ? 'same-email' : 'same-name-and-phone';
  const isEdited = await wasEditedByHand(transaction, earlier.id);
  if (!isEdited) {
    const { name, email, phone, headline, profile, evidence, document, engine } = talent;
    const newer = { name, email, phone, headline, profile, evidence, document, engine };
    await writeTalent(transaction, { ...earlier, ...newer }, { what: 'newer-cv', changedBy: null, at });
  }
  const effect = isEdited ? 'linked' : 'updated';
  await writeDecision(transaction, { talentId: talent.id, earlierId: earlier.id, because, effect, at });
  const rows = await transaction.query<Talent>(
    `update talents set duplicate_of = $2 where id = $1 returning ${TALENT_COLUMNS}`,
    [talent.id, earlier.id],
  );
  return rows[0] ?? talent;
}

async function findEarlier(transaction: Transaction, talent: Talent): Promise<Talent | null> {
  const { id, companyId, email, name, phone } = talent;
  const rows = await transaction.query<Talent>(
    `select ${TALENT_COLUMNS} from talents
     where company_id = $1 and id <> $2 and status = 'READY' and duplicate_of is null
       and (email = $3 or (phone = $4 and lower(name) = lower($5)))
     order by id limit 1 for update`,
    [companyId, id, email, phone, name],
  );
  return rows[0] ?? null;
}

async function wasEditedByHand(transaction: Transaction, talentId: string): Promise<boolean> {
  const rows = await transaction.query(
    `select 1 from talent_versions where talent_id = $1 and what = 'edited' limit 1`,
    [talentId],
  );
  return rows.length > 0;
}

export interface Decision {
  readonly talentId: string;
  readonly earlierId: string;
  readonly because: Because;
  readonly effect: Effect;
  readonly at: Date;
}

export async function writeDecision(transaction: Transaction, decision: Decision): Promise<void> {
  const { talentId, earlierId, because, effect, at } = decision;
  await transaction.query(
    `insert into talent_decisions (talent_id, earlier_id, because, effect, decided_at) values ($1, $2, $3, $4, $5)`,
    [talentId, earlierId, because, effect, at],
  );
}

import type { Transaction } from '../../ports/database.ts';
import { namesAgree } from './person-names.ts';
import { proposeChange } from './proposals.ts';
import { lockTalent, TALENT_COLUMNS, type Talent, writeTalent } from './talent.ts';

type DuplicateReason = 'same-file' | 'same-email' | 'same-name-and-phone' | 'by-user';
type Effect = 'returned' | 'updated' | 'linked' | 'separated';

/** An agency sends the CVs of all its people from one address. Of more than these, the oldest are compared. */
const MOST_COMPARED = 5_000;

/**
 * Checks whether a talent that has just become READY is the same person as an earlier one, and links the two. The
 * earlier one is still the one that is matched, and gets the newer profile. If a person has edited its profile, that
 * stays and the newer one is proposed. Talents of a company are checked one after the other, so that of two concurrent
 * ones the second finds the first.
 */
export async function recognise(transaction: Transaction, talent: Talent, at: Date): Promise<Talent> {
  await lockRecognition(transaction, talent.companyId);
  const found = await findEarlier(transaction, talent);
  if (found === null) return talent;
  const { earlier, because } = found;
  const isEdited = await wasEditedByHand(transaction, earlier.id);
  if (isEdited) await proposeChange(transaction, { earlier, talent, at });
  else {
    const { name, email, phone, headline, profile, evidence, document, engine } = talent;
    const newer = { name, email, phone, headline, profile, evidence, document, engine };
    const replaced = { evidence: earlier.evidence, document: earlier.document, engine: earlier.engine };
    const from = { talentId: talent.id, replaced };
    await writeTalent(transaction, { ...earlier, ...newer }, { what: 'newer-cv', changedBy: null, at, from });
  }
  const effect = isEdited ? 'linked' : 'updated';
  await writeDecision(transaction, { talentId: talent.id, earlierId: earlier.id, because, effect, at });
  return await linkTalent(transaction, talent, earlier.id);
}

/** Who is linked to whom changes under this lock, until the transaction ends. */
export async function lockRecognition(transaction: Transaction, companyId: string): Promise<void> {
  await transaction.query(`select pg_advisory_xact_lock(hashtextextended('talents ' || $1::text, 0))`, [
    companyId,
  ]);
}

/** Null `earlierId` makes it a talent of its own. */
export async function linkTalent(
  transaction: Transaction,
  talent: Talent,
  earlierId: string | null,
): Promise<Talent> {
  const rows = await transaction.query<Talent>(
    `update talents set duplicate_of = $2 where id = $1 returning ${TALENT_COLUMNS}`,
    [talent.id, earlierId],
  );
  return rows[0] ?? talent;
}

interface Decision {
  readonly talentId: string;
  readonly earlierId: string;
  readonly because: DuplicateReason;
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

/** The ids of all that a user has said are other people than this talent, as an array. */
export const SEPARATED_FROM = (talentId: string) => `array(
  select case when said.talent_id = ${talentId} then said.earlier_id else said.talent_id end
  from talent_decisions as said
  where said.effect = 'separated' and (said.talent_id = ${talentId} or said.earlier_id = ${talentId}))`;

/**
 * An address alone names no one: families and agencies share one. So the names must agree as well, and where they do not
 * both stay as they are, for a user to compare (`readPossibleDuplicates`). An address of a duplicate leads to the talent
 * that is matched instead. A CV that fits two people is linked to neither.
 */
async function findEarlier(
  transaction: Transaction,
  talent: Talent,
): Promise<{ readonly earlier: Talent; readonly because: DuplicateReason } | null> {
  const { id, companyId, email, name, phone } = talent;
  const rows = await transaction.query<Candidate>(
    `select coalesce(duplicate_of, id) as "matchedId", name, coalesce(email = $3, false) as "isEmail" from talents
     where company_id = $1 and id <> $2 and status = 'READY'
       and (email = $3 or (phone = $4 and lower(name) = lower($5)))
       and id <> all(${SEPARATED_FROM('$2::uuid')})
     order by coalesce(duplicate_of, id), id limit ${MOST_COMPARED}`,
    [companyId, id, email, phone, name],
  );
  const fitting = rows.filter((row) => !row.isEmail || namesAgree(row.name, name));
  const [first] = fitting;
  if (first === undefined || (await areTwoPeople(transaction, first, fitting))) return null;
  const earlier = await lockTalent(transaction, companyId, first.matchedId);
  // Erased in the meantime.
  if (earlier === null) return null;
  return { earlier, because: first.isEmail ? 'same-email' : 'same-name-and-phone' };
}

interface Candidate {
  /** The talent itself, or the one that it is a duplicate of. */
  readonly matchedId: string;
  readonly name: string | null;
  readonly isEmail: boolean;
}

/** Whether their names differ, or a user has said so: "A. Byron" may be Ada or Anna. */
async function areTwoPeople(
  transaction: Transaction,
  first: Candidate,
  fitting: readonly Candidate[],
): Promise<boolean> {
  const others = fitting.filter(({ matchedId }) => matchedId !== first.matchedId);
  if (others.some(({ name }) => !namesAgree(name, first.name))) return true;
  const ids = [...new Set(fitting.map(({ matchedId }) => matchedId))];
  if (ids.length < 2) return false;
  const separated = await transaction.query(
    `select 1 from talent_decisions where effect = 'separated'
       and talent_id = any($1::uuid[]) and earlier_id = any($1::uuid[]) limit 1`,
    [ids],
  );
  return separated.length > 0;
}

async function wasEditedByHand(transaction: Transaction, talentId: string): Promise<boolean> {
  const rows = await transaction.query(
    `select 1 from talent_versions where talent_id = $1 and what = 'edited' limit 1`,
    [talentId],
  );
  return rows.length > 0;
}

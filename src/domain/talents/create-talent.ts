import type { Clock } from '../../ports/clock.ts';
import type { Transaction } from '../../ports/database.ts';
import type { JobQueue } from '../../ports/job-queue.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { CV_QUEUE } from './cv-queue.ts';
import { checkProfile, fieldsOfProfile } from './profile-fields.ts';
import { recognise, writeDecision } from './recognise.ts';
import type { Talent, TalentFile } from './talent.ts';
import { insertTalent, lockTalent, writeTalent } from './write-talent.ts';

export interface NewTalent {
  readonly companyId: string;
  readonly createdBy: string | null;
  /** A CV for the worker to read, or a profile that needs no reading. */
  readonly from: { readonly file: TalentFile } | { readonly profile: unknown };
}

export type CreatedTalent =
  /** Not new where the same file was there before. */
  | { readonly outcome: 'created'; readonly talent: Talent; readonly isNew: boolean }
  | { readonly outcome: 'invalid'; readonly message: string };

export interface CreateTalentParts {
  readonly clock: Clock;
  readonly secrets: Pick<Secrets, 'newId'>;
  readonly jobQueue: Pick<JobQueue, 'enqueue'>;
}

/** A CV waits for the worker from this transaction's commit on. */
export async function createTalent(
  transaction: Transaction,
  parts: CreateTalentParts,
  { companyId, createdBy, from }: NewTalent,
): Promise<CreatedTalent> {
  const at = new Date(parts.clock.now());
  const blank = blankTalent(parts.secrets.newId(), companyId, createdBy, at);
  const change = { what: 'created', changedBy: createdBy, at } as const;
  if ('profile' in from) {
    const checked = checkProfile(from.profile);
    if (checked.outcome === 'invalid') return checked;
    const { profile } = checked;
    const ready = { ...blank, status: 'READY', profile, ...fieldsOfProfile(profile) } as const;
    const talent = await recognise(transaction, await insertTalent(transaction, ready, change), at);
    return { outcome: 'created', talent, isNew: true };
  }
  const known = await findByFile(transaction, companyId, from.file.bytes);
  if (known !== null) return await sameFileAgain(transaction, parts, known, createdBy, at);
  const talent = await insertTalent(transaction, blank, change);
  const isKept = await keepFile(transaction, parts, talent, from.file);
  if (!isKept) {
    // Somebody has sent the same file at this very moment, and was first.
    await transaction.query('delete from talents where id = $1', [talent.id]);
    const other = await findByFile(transaction, companyId, from.file.bytes);
    if (other === null) throw new Error('a file that is there cannot be found');
    return await sameFileAgain(transaction, parts, other, createdBy, at);
  }
  await parts.jobQueue.enqueue(CV_QUEUE.name, { talentId: talent.id }, { within: transaction });
  return { outcome: 'created', talent, isNew: true };
}

/** The talent who has it already; one whose CV could not be read gets another try. */
async function sameFileAgain(
  transaction: Transaction,
  { jobQueue }: CreateTalentParts,
  talentId: string,
  changedBy: string | null,
  at: Date,
): Promise<CreatedTalent> {
  const talent = await lockTalent(transaction, null, talentId);
  if (talent === null) throw new Error('a talent with a file is gone');
  await writeDecision(transaction, {
    talentId,
    earlierId: talentId,
    because: 'same-file',
    effect: 'returned',
    at,
  });
  if (talent.status !== 'FAILED') return { outcome: 'created', talent, isNew: false };
  const again = { ...talent, status: 'PENDING', problem: null } as const;
  const waiting = await writeTalent(transaction, again, { what: 'sent-again', changedBy, at });
  await jobQueue.enqueue(CV_QUEUE.name, { talentId }, { within: transaction });
  return { outcome: 'created', talent: waiting, isNew: false };
}

async function findByFile(
  transaction: Transaction,
  companyId: string,
  bytes: Uint8Array,
): Promise<string | null> {
  const rows = await transaction.query<{ talentId: string }>(
    `select talent_id as "talentId" from talent_files where company_id = $1 and sha256 = sha256($2::bytea)`,
    [companyId, bytes],
  );
  return rows[0]?.talentId ?? null;
}

/** False where the company has this file. Waits for whoever is about to have it. */
async function keepFile(
  transaction: Transaction,
  { secrets }: CreateTalentParts,
  { id, companyId, createdAt }: Talent,
  { name, bytes }: TalentFile,
): Promise<boolean> {
  const rows = await transaction.query(
    `insert into talent_files (id, talent_id, company_id, name, sha256, bytes, created_at)
     values ($1, $2, $3, $4, sha256($5::bytea), $5, $6) on conflict (company_id, sha256) do nothing returning id`,
    [secrets.newId(), id, companyId, name, bytes, createdAt],
  );
  return rows.length === 1;
}

function blankTalent(id: string, companyId: string, createdBy: string | null, at: Date): Talent {
  const unknown = { name: null, email: null, phone: null, headline: null, profile: null } as const;
  const unread = { evidence: null, document: null, engine: null, problem: null, duplicateOf: null } as const;
  const own = { id, companyId, version: 1, createdBy, createdAt: at, updatedAt: at } as const;
  return { ...own, status: 'PENDING', ...unknown, ...unread };
}

import type { Clock } from '../../ports/clock.ts';
import type { Transaction } from '../../ports/database.ts';
import type { JobQueue, QueueDefinition } from '../../ports/job-queue.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { checkProfile, fieldsOfProfile, remainingEvidence } from './profile.ts';
import { recognise, writeDecision } from './recognise.ts';
import { insertTalent, lockTalent, type Talent, type TalentFile, writeTalent } from './talent.ts';

export interface NewTalent {
  readonly companyId: string;
  readonly createdBy: string | null;
  /** A CV for the worker to read, or a profile that needs no reading. */
  readonly from: { readonly file: TalentFile } | { readonly profile: unknown };
}

type CreatedTalent =
  /** `isNew` is false if the company already has the same file. */
  | { readonly outcome: 'created'; readonly talent: Talent; readonly isNew: boolean }
  | { readonly outcome: 'invalid'; readonly message: string };

interface CreateTalentParts {
  readonly clock: Clock;
  readonly secrets: Pick<Secrets, 'newId' | 'sha256'>;
  readonly jobQueue: Pick<JobQueue, 'enqueue'>;
}

/** A CV is queued for the worker when this transaction commits. */
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
  // Hashed here: the bytes, up to 10 MiB, go to the database once, and only if they are new.
  const sha256 = parts.secrets.sha256(from.file.bytes);
  const known = await findByFile(transaction, companyId, sha256);
  if (known !== null) return await sameFileAgain(transaction, parts, known, createdBy, at);
  const talent = await insertTalent(transaction, blank, change);
  const isKept = await storeFile(transaction, parts, talent, { ...from.file, sha256 });
  if (!isKept) {
    // A concurrent request with the same file was first.
    await transaction.query('delete from talents where id = $1', [talent.id]);
    const other = await findByFile(transaction, companyId, sha256);
    if (other === null) throw new Error('a file that is there cannot be found');
    return await sameFileAgain(transaction, parts, other, createdBy, at);
  }
  const waiting = { within: transaction, owner: companyId };
  await parts.jobQueue.enqueue(CV_QUEUE.name, { talentId: talent.id }, waiting);
  return { outcome: 'created', talent, isNew: true };
}

interface TalentEdit {
  readonly companyId: string;
  readonly talentId: string;
  readonly changedBy: string;
  /** The whole profile, which replaces the previous one. */
  readonly profile: unknown;
  /** The version that the edit is based on; if omitted, the current one is overwritten. */
  readonly version?: number | undefined;
}

type ChangedTalent =
  | { readonly outcome: 'changed'; readonly talent: Talent }
  | { readonly outcome: 'no-such-talent' }
  /** Another change was made in between: nothing is written. */
  | { readonly outcome: 'changed-since' }
  | { readonly outcome: 'invalid'; readonly message: string };

/**
 * A user's edit overrides the parsed values: a talent that was PENDING or FAILED becomes READY, and the evidence of
 * changed values is removed. A parse job in progress then has nothing to do.
 */
export async function changeTalent(
  transaction: Transaction,
  clock: Clock,
  { companyId, talentId, changedBy, profile: edited, version }: TalentEdit,
): Promise<ChangedTalent> {
  const checked = checkProfile(edited);
  if (checked.outcome === 'invalid') return checked;
  const old = await lockTalent(transaction, companyId, talentId);
  if (old === null) return { outcome: 'no-such-talent' };
  if (version !== undefined && version !== old.version) return { outcome: 'changed-since' };
  const { profile } = checked;
  const next = {
    ...old,
    status: 'READY',
    profile,
    ...fieldsOfProfile(profile),
    evidence: remainingEvidence(old.evidence, old.profile, profile),
    problem: null,
  } as const;
  const change = { what: 'edited', changedBy, at: new Date(clock.now()) } as const;
  return { outcome: 'changed', talent: await writeTalent(transaction, next, change) };
}

/**
 * CVs to be read; a job contains only the id of the talent. A run may take the reader’s 20 s and two model calls of 15
 * minutes. If the database or the reader is unavailable, it is retried for 20 to 30 minutes.
 */
export const CV_QUEUE: QueueDefinition = {
  name: 'cv',
  retries: 8,
  retryDelaySeconds: 5,
  retryDelayMaxSeconds: 600,
  runSeconds: 2_000,
  heartbeatSeconds: 30,
};

/** Longer than all tries of a CV usually take. */
const LOST_AFTER_MS = 3_600_000;

/**
 * Returns the talent that has the file. If its CV could not be read, it is queued again; also if it has waited for so long
 * that its job may be gone, such as a dead letter of a process that was killed. A second job changes nothing.
 */
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
  const { companyId: owner } = talent;
  const isLost = talent.status === 'PENDING' && at.getTime() - talent.updatedAt.getTime() > LOST_AFTER_MS;
  if (isLost) await jobQueue.enqueue(CV_QUEUE.name, { talentId }, { within: transaction, owner });
  if (talent.status !== 'FAILED') return { outcome: 'created', talent, isNew: false };
  const again = { ...talent, status: 'PENDING', problem: null } as const;
  const waiting = await writeTalent(transaction, again, { what: 'sent-again', changedBy, at });
  await jobQueue.enqueue(CV_QUEUE.name, { talentId }, { within: transaction, owner });
  return { outcome: 'created', talent: waiting, isNew: false };
}

async function findByFile(
  transaction: Transaction,
  companyId: string,
  sha256: Uint8Array,
): Promise<string | null> {
  const rows = await transaction.query<{ talentId: string }>(
    `select talent_id as "talentId" from talent_files where company_id = $1 and sha256 = $2`,
    [companyId, sha256],
  );
  return rows[0]?.talentId ?? null;
}

/** False if the company already has this file. Waits for concurrent inserts of the same file. */
async function storeFile(
  transaction: Transaction,
  { secrets }: CreateTalentParts,
  { id, companyId, createdAt }: Talent,
  { name, bytes, sha256 }: TalentFile & { readonly sha256: Uint8Array },
): Promise<boolean> {
  const rows = await transaction.query(
    `insert into talent_files (id, talent_id, company_id, name, sha256, bytes, created_at)
     values ($1, $2, $3, $4, $5, $6, $7) on conflict (company_id, sha256) do nothing returning id`,
    [secrets.newId(), id, companyId, name, sha256, bytes, createdAt],
  );
  return rows.length === 1;
}

function blankTalent(id: string, companyId: string, createdBy: string | null, at: Date): Talent {
  const unknown = { name: null, email: null, phone: null, headline: null, profile: null } as const;
  const unread = { evidence: null, document: null, engine: null, problem: null, duplicateOf: null } as const;
  const own = { id, companyId, version: 1, createdBy, createdAt: at, updatedAt: at } as const;
  return { ...own, status: 'PENDING', ...unknown, ...unread };
}

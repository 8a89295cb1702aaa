import type { Clock } from '../../ports/clock.ts';
import type { Database, Statements, Transaction } from '../../ports/database.ts';
import { fieldsOfProfile } from './profile.ts';
import { recognise } from './recognise.ts';
import { lockTalent, type Profile, type Talent, writeTalent } from './talent.ts';

/** A CV that has not been read yet. */
interface WaitingCv {
  readonly talentId: string;
  readonly companyId: string;
  readonly fileId: string;
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** The problem of a CV whose retries are used up. If its dead letter is redriven, that reading is applied. */
export const CV_GAVE_UP = 'The CV could not be parsed because of an internal error. Send it again later.';

/** Null if there is nothing to do: the CV has been read, or the talent was deleted. */
export async function findWaitingCv(statements: Statements, talentId: string): Promise<WaitingCv | null> {
  const rows = await statements.query<WaitingCv>(
    `select talent.id as "talentId", talent.company_id as "companyId", file.id as "fileId", file.name, file.bytes
     from talents as talent join talent_files as file on file.talent_id = talent.id
     where talent.id = $1 and (talent.status = 'PENDING' or talent.problem = $2) order by file.id desc limit 1`,
    [talentId, CV_GAVE_UP],
  );
  return rows[0] ?? null;
}

export type CvReading =
  | {
      readonly outcome: 'read';
      readonly text: string;
      readonly profile: Profile;
      readonly evidence: readonly unknown[];
      readonly document: Readonly<Record<string, unknown>>;
      readonly engine: 'model' | 'embedded';
    }
  /** Permanent: the sentence is shown to the sender of the CV. */
  | { readonly outcome: 'failed'; readonly problem: string; readonly text?: string };

const LONGEST_PROBLEM = 500;

/**
 * Stores the result of a reading, once: only while the talent waits for it. `also` runs in the same transaction, only
 * if the reading is applied, and charges the call that it took.
 */
export async function applyCvReading(
  { database, clock }: { readonly database: Database; readonly clock: Clock },
  { talentId, fileId }: Pick<WaitingCv, 'talentId' | 'fileId'>,
  reading: CvReading,
  also: (transaction: Transaction) => Promise<void> = async () => {},
): Promise<{ readonly outcome: 'applied'; readonly talent: Talent } | { readonly outcome: 'outdated' }> {
  return await database.transaction(async (transaction) => {
    const talent = await lockTalent(transaction, null, talentId);
    if (talent === null || !isWaiting(talent)) return { outcome: 'outdated' };
    if (reading.text !== undefined) {
      await transaction.query('update talent_files set text = $2 where id = $1', [fileId, reading.text]);
    }
    const written = await writeReading(transaction, talent, reading, new Date(clock.now()));
    // Runs last: the account that it charges is locked until the commit, and all calls of the company wait for it.
    await also(transaction);
    return { outcome: 'applied', talent: written };
  });
}

async function writeReading(
  transaction: Transaction,
  talent: Talent,
  reading: CvReading,
  at: Date,
): Promise<Talent> {
  if (reading.outcome === 'failed') {
    const problem = reading.problem.slice(0, LONGEST_PROBLEM);
    const failed = { ...talent, status: 'FAILED', problem } as const;
    return await writeTalent(transaction, failed, { what: 'parse-failed', changedBy: null, at });
  }
  const { profile, evidence, document, engine } = reading;
  const read = { profile, evidence, document, engine, ...fieldsOfProfile(profile) };
  const ready = { ...talent, status: 'READY', problem: null, ...read } as const;
  const written = await writeTalent(transaction, ready, { what: 'parsed', changedBy: null, at });
  return await recognise(transaction, written, at);
}

function isWaiting({ status, problem }: Talent): boolean {
  return status === 'PENDING' || problem === CV_GAVE_UP;
}

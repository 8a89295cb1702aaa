import { z } from 'zod';
import type { JournalEntry, JournalFile } from '../../../ports/call-journal.ts';
import type { Database, DatabaseFailure } from '../../../ports/database.ts';
import type { Log } from '../../../ports/log.ts';
import {
  type ChargedCalls,
  chargeCalls,
  countThatFits,
  type FinishedCall,
  isRefusedRow,
} from './finished-call.ts';

interface ReplayParts {
  readonly database: Database;
  readonly log: Log;
  /** After each commit, and before its calls leave the journal. */
  onCommitted(calls: readonly FinishedCall[], charged: ChargedCalls): void;
  /** A call that the database does not take and that is set aside. */
  onSetAside(id: string): void;
  /** Looked at between two commits. */
  isStopped(): boolean;
}

export type Replayed = { outcome: 'emptied' | 'stopped' } | { outcome: 'away'; error: unknown };

const MOST_AT_ONCE = 500;

/**
 * Brings what waits in a journal into the ledger. An entry leaves the journal only after its commit is known, so a
 * crash in between sends it again; the ledger drops it by its id. Rejects where the journal itself fails.
 */
export async function replayJournal(file: JournalFile, parts: ReplayParts): Promise<Replayed> {
  for (;;) {
    if (parts.isStopped()) return { outcome: 'stopped' };
    const entries = await file.oldest(MOST_AT_ONCE);
    if (entries.length === 0) return { outcome: 'emptied' };
    let calls = await readable(file, entries, parts);
    while (calls.length > 0 && !parts.isStopped()) {
      const group = calls.slice(
        0,
        countThatFits(calls, MOST_AT_ONCE, (call) => call),
      );
      calls = calls.slice(group.length);
      const replayed = await replayTogether(file, group, parts);
      if (replayed.outcome === 'away') return replayed;
    }
  }
}

type Step = { outcome: 'done' } | { outcome: 'away'; error: unknown };

async function replayTogether(
  file: JournalFile,
  calls: readonly FinishedCall[],
  parts: ReplayParts,
): Promise<Step> {
  const failed = await charge(file, calls, parts);
  if (failed === null) return { outcome: 'done' };
  const { error } = failed;
  if (isRefusedRow(error)) return await replaySingly(file, calls, parts, error);
  if (!mayBeOneCalls(error) || !(await takesAnother(file, calls, parts))) return { outcome: 'away', error };
  return await replaySingly(file, calls, parts, error);
}

/** Null once they are committed and have left the journal. */
async function charge(
  file: JournalFile,
  calls: readonly FinishedCall[],
  parts: ReplayParts,
): Promise<{ readonly error: unknown } | null> {
  let charged: ChargedCalls;
  try {
    charged = await chargeCalls(parts.database, calls);
  } catch (error) {
    return { error };
  }
  parts.onCommitted(calls, charged);
  await file.remove(calls.map(({ id }) => id));
  return null;
}

/** One call that the database does not take must not keep the others from it. */
async function replaySingly(
  file: JournalFile,
  calls: readonly FinishedCall[],
  parts: ReplayParts,
  error: unknown,
): Promise<Step> {
  const [only] = calls;
  if (calls.length === 1 && only !== undefined) {
    await setAside(file, only.id, error, parts);
    return { outcome: 'done' };
  }
  for (const call of calls) {
    const failed = await charge(file, [call], parts);
    if (failed === null) continue;
    if (!isRefusedRow(failed.error) && !mayBeOneCalls(failed.error)) return { outcome: 'away', ...failed };
    await setAside(file, call.id, failed.error, parts);
  }
  return { outcome: 'done' };
}

/** How many calls of a group are tried singly before the fault counts as the database's. */
const PROBES = 5;

/**
 * After a fault that need not be the database's as a whole: whether it takes any other call of the group. Without this
 * a damaged page of one account would send the calls of all companies to the journal until it is full.
 */
async function takesAnother(
  file: JournalFile,
  calls: readonly FinishedCall[],
  parts: ReplayParts,
): Promise<boolean> {
  if (calls.length === 1) return false;
  const count = Math.min(PROBES, calls.length);
  for (let probe = 0; probe < count; probe += 1) {
    const call = calls[Math.floor((probe * (calls.length - 1)) / (count - 1))];
    if (call !== undefined && (await charge(file, [call], parts)) === null) return true;
  }
  return false;
}

/** The server answered about this statement: not a broken tie (class 40), nor the state of its transactions (25). */
function mayBeOneCalls(error: unknown): boolean {
  const { name, reason, sqlState } = error as Partial<DatabaseFailure>;
  return name === 'DatabaseFailure' && reason === 'refused' && !/^(25|40)/.test(sqlState ?? '25');
}

async function readable(
  file: JournalFile,
  entries: readonly JournalEntry[],
  parts: ReplayParts,
): Promise<FinishedCall[]> {
  const calls: FinishedCall[] = [];
  for (const entry of entries) {
    const call = callOf(entry);
    if (call !== null) calls.push(call);
    else await setAside(file, entry.id, new Error('this version cannot read its record'), parts);
  }
  return calls;
}

async function setAside(file: JournalFile, callId: string, error: unknown, parts: ReplayParts) {
  await file.setAside(callId, error instanceof Error ? error.message.slice(0, 500) : 'unknown');
  parts.onSetAside(callId);
  parts.log.error(
    'a journaled call is not taken by the database: it is kept and tried again at the next start',
    {
      callId,
      file: file.name,
      error,
    },
  );
}

/** What is written outlives the code that wrote it: a later form gets another number, and this one stays readable. */
const RECORD_FORM = 1;

const textField = z.string().max(2_000);
const wholeNumber = z.number().int().min(0);
const tokenCounts = z.object({
  promptTokens: wholeNumber,
  cachedTokens: wholeNumber,
  completionTokens: wholeNumber,
});

/** Longer than any answer that may be kept, in base64. */
const MOST_SEALED_CHARACTERS = 32 * 1024 * 1024;
const idempotentEnding = z.object({
  idempotencyKey: z.string().max(255),
  sha256: z.string().max(64),
  contentType: textField,
  sealedAnswer: z.string().max(MOST_SEALED_CHARACTERS).nullable(),
});

const journalRecord = z.object({
  form: z.literal(RECORD_FORM),
  id: z.uuid(),
  companyId: z.uuid(),
  keyId: z.uuid().nullable(),
  requestId: textField,
  endpoint: textField,
  alias: textField.nullable(),
  targetId: textField.nullable(),
  outcome: z.enum(['SUCCEEDED', 'FAILED', 'REFUSED']),
  reason: textField.nullable(),
  httpStatus: wholeNumber,
  streamed: z.boolean(),
  tokens: tokenCounts.nullable(),
  estimatedTokens: wholeNumber,
  startedAtMs: wholeNumber,
  firstByteMs: wholeNumber.nullable(),
  durationMs: wholeNumber,
  monthlyLimitMicro: z
    .string()
    .regex(/^\d{1,19}$/)
    .nullable(),
  idempotent: idempotentEnding.optional(),
});

/** No text of a prompt or an answer is in it: a finished call has none, but for the encrypted one of a call to be repeated. */
export function entryOf(call: FinishedCall): JournalEntry {
  const monthlyLimitMicro = call.monthlyLimitMicro?.toString() ?? null;
  return { id: call.id, record: JSON.stringify({ form: RECORD_FORM, ...call, monthlyLimitMicro }) };
}

/** Null where it is none that this code can read. */
export function callOf(entry: JournalEntry): FinishedCall | null {
  const read = journalRecord.safeParse(parsedRecord(entry.record));
  if (!read.success || read.data.id !== entry.id) return null;
  const { form: _, monthlyLimitMicro, idempotent: ending, ...call } = read.data;
  return {
    ...call,
    monthlyLimitMicro: monthlyLimitMicro === null ? null : BigInt(monthlyLimitMicro),
    ...(ending === undefined ? {} : { idempotent: ending }),
  };
}

function parsedRecord(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}

import type { JournalEntry, JournalFile } from '../../../ports/call-journal.ts';
import { type Database, isOfOneStatement } from '../../../ports/database.ts';
import type { Log } from '../../../ports/log.ts';
import { type ChargedCalls, chargeCalls, countThatFits, MOST_AT_ONCE } from './charge-calls.ts';
import type { FinishedCall } from './finished-call.ts';
import { readEntry } from './journal-record.ts';
import { isRefusedRow, sendInHalves } from './refused-rows.ts';
import { storeSetAside } from './set-aside-calls.ts';

interface ReplayParts {
  readonly database: Database;
  readonly log: Log;
  /** Called after each commit, before its calls are removed from the journal. */
  onCommitted(calls: readonly FinishedCall[], charged: ChargedCalls): void;
  /** Called for a call that cannot be charged and was set aside. */
  onSetAside(id: string): void;
  /** Checked between commits. */
  isStopped(): boolean;
}

export type Replayed = { outcome: 'emptied' | 'stopped' } | DatabaseUnavailable;

interface DatabaseUnavailable {
  readonly outcome: 'unavailable';
  readonly error: unknown;
}

/** Entries of a journal that are being charged. */
interface Batch extends ReplayParts {
  readonly file: JournalFile;
  /** As read from the file, by id. */
  readonly entries: ReadonlyMap<string, JournalEntry>;
}

/**
 * Charges the calls that wait in a journal. An entry is removed from the journal only after its commit is known, so that a
 * crash in between sends it again; the ledger then ignores it by its id. Rejects if the journal itself fails.
 */
export async function replayJournal(file: JournalFile, parts: ReplayParts): Promise<Replayed> {
  for (;;) {
    if (parts.isStopped()) return { outcome: 'stopped' };
    const entries = await file.oldest(MOST_AT_ONCE);
    if (entries.length === 0) return { outcome: 'emptied' };
    const batch = { ...parts, file, entries: new Map(entries.map((entry) => [entry.id, entry])) };
    const unavailable = await replayBatch(batch);
    if (unavailable !== null) return unavailable;
  }
}

async function replayBatch(batch: Batch): Promise<DatabaseUnavailable | null> {
  let calls: FinishedCall[] = [];
  for (const entry of batch.entries.values()) {
    const read = readEntry(entry);
    if (read.outcome === 'read') calls.push(read.call);
    else {
      const unreadable = new Error(`this version cannot read it: ${read.problem}`);
      const unavailable = await setAside(batch, entry.id, unreadable);
      if (unavailable !== null) return unavailable;
    }
  }
  while (calls.length > 0 && !batch.isStopped()) {
    const count = countThatFits(calls, (call) => call);
    const unavailable = await replayGroup(batch, calls.slice(0, count));
    if (unavailable !== null) return unavailable;
    calls = calls.slice(count);
  }
  return null;
}

/** `others` is the whole group, if `calls` is a part of one that has failed. */
async function replayGroup(
  batch: Batch,
  calls: readonly FinishedCall[],
  others: readonly FinishedCall[] = calls,
): Promise<DatabaseUnavailable | null> {
  const unavailable = await charge(batch, calls);
  if (unavailable === null) return null;
  const { error } = unavailable;
  if (!isOfOneStatement(error)) return unavailable;
  if (calls.length === 1 && !isRefusedRow(error)) {
    if (!(await takesAnother(batch, others))) return unavailable;
    const again = await chargeAgain(batch, calls);
    if (again === null || !isOfOneStatement(again.error)) return again;
  }
  const replay = (some: readonly FinishedCall[]) => replayGroup(batch, some, others);
  return await sendInHalves(calls, error, replay, ({ id }) => setAside(batch, id, error));
}

/** Null once they are committed and removed from the journal. */
async function charge(batch: Batch, calls: readonly FinishedCall[]): Promise<DatabaseUnavailable | null> {
  let charged: ChargedCalls;
  try {
    charged = await chargeCalls(batch.database, calls);
  } catch (error) {
    return { outcome: 'unavailable', error };
  }
  batch.onCommitted(calls, charged);
  await batch.file.remove(calls.map(({ id }) => id));
  return null;
}

/** How many calls of a group are tried individually before the fault is attributed to the database. */
const PROBES = 5;

/**
 * After a fault that may not affect the whole database: whether it accepts any other call of the group. Otherwise a damaged
 * page of one account would send the calls of all companies to the journal until it is full.
 */
async function takesAnother(batch: Batch, calls: readonly FinishedCall[]): Promise<boolean> {
  if (calls.length === 1) return false;
  const count = Math.min(PROBES, calls.length);
  for (let probe = 0; probe < count; probe += 1) {
    const call = calls[Math.floor((probe * (calls.length - 1)) / (count - 1))];
    if (call !== undefined && (await charge(batch, [call])) === null) return true;
  }
  return false;
}

/** Faults that come and go hit any call: only one that is there each time is about this one. */
async function chargeAgain(
  batch: Batch,
  calls: readonly FinishedCall[],
): Promise<DatabaseUnavailable | null> {
  let unavailable = await charge(batch, calls);
  for (let attempt = 2; attempt <= PROBES && unavailable !== null; attempt += 1) {
    if (!isOfOneStatement(unavailable.error)) break;
    unavailable = await charge(batch, calls);
  }
  return unavailable;
}

/**
 * Sets a call aside so that it does not block the others: in the database, where every operator can see and repair it, or in
 * its file if the database refuses that too.
 */
async function setAside(batch: Batch, callId: string, error: unknown): Promise<DatabaseUnavailable | null> {
  const { file, entries, ...parts } = batch;
  const entry = entries.get(callId);
  const reason = error instanceof Error ? error.message.slice(0, 500) : 'unknown';
  if (entry === undefined) return null;
  const stored = await storeSetAside(parts.database, { ...entry, reason, journalFile: file.name });
  if (stored.outcome === 'unavailable') return stored;
  if (stored.outcome === 'kept') await file.remove([callId]);
  else await file.setAside(callId, reason);
  parts.onSetAside(callId);
  parts.log.error('a journaled call cannot be charged and was set aside: see turnpike set-aside-calls', {
    ...{ callId, file: file.name, error },
  });
  return null;
}

import type { JournalEntry } from '../../../ports/call-journal.ts';
import { type Database, isOfOneStatement, type Statements } from '../../../ports/database.ts';
import { isObject } from '../../../ports/json-object.ts';
import type { AccountLevel } from '../../credits/ledger/credit-account.ts';
import { chargeCalls } from './charge-calls.ts';
import type { FinishedCall } from './finished-call.ts';
import { parsedRecord, readEntry } from './journal-record.ts';
import { isRefusedRow } from './refused-rows.ts';

/**
 * Calls from journals that cannot be charged as they are. They are stored in the database, not in the file of one gateway, so
 * that the readiness of every process shows them and an operator can repair them from anywhere.
 *   open -> charged    by a repair: the charge and the status are one transaction
 *   open -> dropped    by an operator, with a reason; never charged
 */
export interface SetAsideCall {
  readonly id: string;
  readonly reason: string;
  readonly journalFile: string;
  readonly setAsideAt: Date;
  readonly tries: number;
  /** The fields of its record; null if that is not a JSON object. */
  readonly fields: Readonly<Record<string, unknown>> | null;
}

interface EntryToKeep extends JournalEntry {
  readonly reason: string;
  readonly journalFile: string;
}

type StoredSetAside =
  | { outcome: 'kept' }
  | { outcome: 'refused' }
  | { outcome: 'unavailable'; error: unknown };

/** An entry that an operator has resolved already stays resolved. */
export async function storeSetAside(
  statements: Statements,
  { id, record, reason, journalFile }: EntryToKeep,
): Promise<StoredSetAside> {
  try {
    await statements.query(
      `insert into set_aside_calls as present (id, record, reason, journal_file) values ($1, $2, $3, $4)
       on conflict (id) do update set reason = excluded.reason, tries = present.tries + 1
         where present.resolved_at is null`,
      [id, new TextEncoder().encode(record), reason.replaceAll('\0', ''), journalFile],
    );
    return { outcome: 'kept' };
  } catch (error) {
    return isOfOneStatement(error) ? { outcome: 'refused' } : { outcome: 'unavailable', error };
  }
}

/** Of all processes, without calls that are set aside only in the file of a journal. */
export async function countSetAside(statements: Statements): Promise<number> {
  const [row] = await statements.query<{ count: number }>(
    'select count(*)::int as count from set_aside_calls where resolved_at is null',
  );
  return row?.count ?? 0;
}

/** The oldest first. */
export async function listSetAside(statements: Statements, limit: number): Promise<SetAsideCall[]> {
  const rows = await statements.query<Omit<SetAsideCall, 'fields'> & { record: Uint8Array }>(
    `select id, record, reason, journal_file as "journalFile", set_aside_at as "setAsideAt", tries
     from set_aside_calls where resolved_at is null order by id limit $1`,
    [limit],
  );
  return rows.map(({ record, ...call }) => ({ ...call, fields: fieldsOf(textOf(record)) }));
}

export type Repaired =
  /** `level` is null if the ledger already had the call, or if it costs nothing. */
  | { readonly outcome: 'charged'; readonly level: AccountLevel | null }
  | { readonly outcome: 'still-refused'; readonly reason: string }
  /** Unknown, or already resolved. */
  | { readonly outcome: 'not-found' };

/** Replaces fields of the record before it is read. */
export type RecordChanges = Readonly<Record<string, unknown>>;

/** Rejects on a database fault; nothing has changed then. */
export async function repairSetAside(
  database: Database,
  id: string,
  changes: RecordChanges = {},
): Promise<Repaired> {
  try {
    return await database.transaction(async (transaction) => {
      const record = await lockOpen(transaction, id);
      if (record === null) return { outcome: 'not-found' };
      const read = readEntry({ id, record: changedRecord(record, changes) });
      if (read.outcome === 'unreadable') return await refuse(transaction, id, read.problem);
      const level = await chargeOne(transaction, read.call);
      await resolve(transaction, id, 'CHARGED', null);
      return { outcome: 'charged', level };
    });
  } catch (error) {
    if (!isRefusedRow(error)) throw error;
    return await refuse(database, id, (error as Error).message);
  }
}

/** False if it is unknown or already resolved. */
export async function dropSetAside(database: Database, id: string, note: string): Promise<boolean> {
  return await database.transaction(async (transaction) => {
    if ((await lockOpen(transaction, id)) === null) return false;
    await resolve(transaction, id, 'DROPPED', note);
    return true;
  });
}

async function chargeOne(statements: Statements, call: FinishedCall): Promise<AccountLevel | null> {
  return (await chargeCalls(statements, [call])).levels[0] ?? null;
}

async function lockOpen(statements: Statements, id: string): Promise<string | null> {
  const [row] = await statements.query<{ record: Uint8Array }>(
    'select record from set_aside_calls where id = $1 and resolved_at is null for update',
    [id],
  );
  return row === undefined ? null : textOf(row.record);
}

async function refuse(statements: Statements, id: string, why: string): Promise<Repaired> {
  const reason = why.slice(0, 500);
  await statements.query('update set_aside_calls set reason = $2, tries = tries + 1 where id = $1', [
    id,
    reason,
  ]);
  return { outcome: 'still-refused', reason };
}

async function resolve(
  statements: Statements,
  id: string,
  resolution: 'CHARGED' | 'DROPPED',
  note: string | null,
): Promise<void> {
  await statements.query(
    'update set_aside_calls set resolved_at = now(), resolution = $2, note = $3 where id = $1',
    [id, resolution, note],
  );
}

function textOf(record: Uint8Array): string {
  return new TextDecoder().decode(record);
}

function fieldsOf(record: string): Readonly<Record<string, unknown>> | null {
  const parsed = parsedRecord(record);
  return isObject(parsed) ? parsed : null;
}

function changedRecord(record: string, changes: RecordChanges): string {
  return Object.keys(changes).length === 0 ? record : JSON.stringify({ ...fieldsOf(record), ...changes });
}

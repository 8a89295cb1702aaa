import type { Database, Statements, Transaction } from '../../../ports/database.ts';
import { addKeySpending } from '../../credits/holds/holds.ts';
import type { AccountLevel } from '../../credits/ledger/credit-account.ts';
import { lockAccount, postTransaction } from '../../credits/ledger/ledger.ts';
import { changeInChunks } from '../../retention/change-in-chunks.ts';
import { COST_ALIAS } from '../usage/margins.ts';
import { ALL_KEYS } from '../usage/usage-report.ts';
import { addToSubjects } from '../usage/usage-subjects.ts';

/**
 * The price of usage beyond the most that an alias can read and write (decisions/0030). The statement that charges a call
 * records it, so it is recorded however a call is charged, also from a replayed journal.
 *   open -> POSTED     by an operator: charged once to the account that paid for the rest of its call
 *   open -> DROPPED    by an operator, with a reason; never charged
 */
export interface WithheldUsage {
  readonly callId: string;
  readonly companyId: string;
  /** Null if the platform made the call for the company. */
  readonly keyId: string | null;
  readonly requestId: string;
  readonly alias: string;
  readonly promptTokens: bigint;
  readonly completionTokens: bigint;
  /** The limits up to which tokens were charged. */
  readonly promptBound: bigint;
  readonly completionBound: bigint;
  readonly chargedMicro: bigint;
  readonly excessMicro: bigint;
  readonly withheldAt: Date;
  readonly resolution: 'POSTED' | 'DROPPED' | null;
  readonly resolvedAt: Date | null;
  readonly note: string | null;
}

export const LONGEST_NOTE = 500;

type Row = Omit<WithheldUsage, 'excessMicro'> & { readonly excess: string };

const COLUMNS = `call_id as "callId", company_id as "companyId", key_id as "keyId", request_id as "requestId", alias,
  prompt_tokens as "promptTokens", completion_tokens as "completionTokens", prompt_bound as "promptBound",
  completion_bound as "completionBound", charged_micro as "chargedMicro", excess_micro::text as excess,
  withheld_at as "withheldAt", resolution, resolved_at as "resolvedAt", note`;

interface WithheldPage {
  readonly limit: number;
  /** The id of the last call of the previous page. */
  readonly after: string | null;
  /** Only unresolved usage. */
  readonly onlyOpen: boolean;
  /** Only usage of this alias. */
  readonly model?: string | null;
}

/** The newest first: ids of calls increase with time. */
export async function listWithheldUsage(
  statements: Statements,
  { limit, after, onlyOpen, model = null }: WithheldPage,
): Promise<readonly WithheldUsage[]> {
  const rows = await statements.query<Row>(
    `select ${COLUMNS} from withheld_usage
     where ($1::uuid is null or call_id < $1) and ($3::text is null or alias = $3)
       ${onlyOpen ? 'and resolved_at is null' : ''}
     order by call_id desc limit $2`,
    [after, limit, model],
  );
  return rows.map(usageOf);
}

/** Unresolved usage of all companies. */
export async function countWithheldUsage(statements: Statements): Promise<number> {
  const [row] = await statements.query<{ count: number }>(
    'select count(*)::int as count from withheld_usage where resolved_at is null',
  );
  return row?.count ?? 0;
}

export type ResolvedUsage =
  | {
      readonly outcome: 'resolved';
      readonly usage: WithheldUsage;
      /** False if it already had this resolution. */
      readonly isNew: boolean;
      /** Null if the balance did not change; otherwise the caller publishes it after the commit. */
      readonly level: AccountLevel | null;
    }
  | { readonly outcome: 'resolved-otherwise'; readonly usage: WithheldUsage }
  | { readonly outcome: 'not-found' }
  | { readonly outcome: 'wrong-amount'; readonly problem: string };

const WITHHELD_SOURCE = 'withheld-usage';

interface Resolving {
  readonly callId: string;
  readonly note: string;
  readonly now: Date;
}

/** Charges withheld usage. Repeating this changes nothing. */
export async function postWithheldUsage(
  transaction: Transaction,
  { callId, note, now }: Resolving,
): Promise<ResolvedUsage> {
  const found = await lockOpen(transaction, callId, 'POSTED');
  if (found.outcome !== 'open') return found;
  const { accountId, keyId, excessMicro, day } = found.usage;
  const posted = await postTransaction(transaction, {
    accountId,
    type: 'USAGE',
    amountMicro: -excessMicro,
    contra: 'usage',
    sourceKind: WITHHELD_SOURCE,
    sourceId: callId,
    reason: note,
  });
  if (posted.outcome === 'wrong-amount') return posted;
  if (posted.outcome !== 'posted') throw new Error(`withheld usage of call ${callId}: ${posted.outcome}`);
  await countPosted(transaction, found.usage);
  if (keyId !== null) await addKeySpending(transaction, { keyId, day, chargeMicro: excessMicro });
  const usage = await resolve(transaction, { callId, note, now }, 'POSTED');
  return { outcome: 'resolved', usage, isNew: true, level: posted.level };
}

/** Drops withheld usage, which is then never charged. Repeating this changes nothing. */
export async function dropWithheldUsage(
  transaction: Transaction,
  { callId, note, now }: Resolving,
): Promise<ResolvedUsage> {
  const found = await lockOpen(transaction, callId, 'DROPPED');
  if (found.outcome !== 'open') return found;
  const usage = await resolve(transaction, { callId, note, now }, 'DROPPED');
  return { outcome: 'resolved', usage, isNew: true, level: null };
}

type OpenUsage = WithheldUsage & { readonly day: string; readonly accountId: string };

/**
 * Locks the accounts first, as all charging does, to avoid deadlocks: those of the company and of the user who pays, because
 * the sums by day are the company's.
 */
async function lockOpen(
  transaction: Transaction,
  callId: string,
  resolution: 'POSTED' | 'DROPPED',
): Promise<{ outcome: 'open'; usage: OpenUsage } | ResolvedUsage> {
  const [place] = await transaction.query<{ accountId: string; companyId: string }>(
    `select coalesce(payer_id, company_id) as "accountId", company_id as "companyId" from withheld_usage
     where call_id = $1`,
    [callId],
  );
  if (place === undefined) return { outcome: 'not-found' };
  for (const id of [...new Set([place.accountId, place.companyId])].sort())
    await lockAccount(transaction, id);
  const [row] = await transaction.query<Row & { day: string }>(
    `select ${COLUMNS}, to_char(day, 'YYYY-MM-DD') as day from withheld_usage where call_id = $1 for update`,
    [callId],
  );
  if (row === undefined) return { outcome: 'not-found' };
  const usage = usageOf(row);
  if (usage.resolution === null) {
    return { outcome: 'open', usage: { ...usage, day: row.day, ...place } };
  }
  if (usage.resolution === resolution) return { outcome: 'resolved', usage, isNew: false, level: null };
  return { outcome: 'resolved-otherwise', usage };
}

/** Adds it to the call's row and the usage of its day; for a call past its retention, to the sums that replace its row. */
async function countPosted(transaction: Transaction, usage: OpenUsage): Promise<void> {
  const { callId, companyId, keyId, day, alias, excessMicro } = usage;
  const changed = await transaction.query(ADD_TO_CALL, [callId, excessMicro]);
  const sum = [companyId, keyId === null ? [ALL_KEYS] : [ALL_KEYS, keyId], day, alias, excessMicro];
  await transaction.query(`update usage_days ${ADD_TO_SUMS}`, sum);
  if (changed.length === 0) await transaction.query(`update retired_usage ${ADD_TO_SUMS}`, sum);
  else await addToSubjects(transaction, callId, excessMicro);
}

/** Also adds it to the revenue of its model, if the cost of the call is known. */
const ADD_TO_CALL = `with call as (
    update calls set charge_micro = charge_micro + $2 where id = $1
    returning id, company_id, (started_at at time zone 'utc')::date as day, ${COST_ALIAS} as served,
      coalesce(target_id, '') as target, cost_micro),
  costed as (
    update cost_days as day set charge_micro = day.charge_micro + $2 from call
    where call.cost_micro is not null and day.company_id = call.company_id and day.day = call.day
      and day.alias = call.served and day.target_id = call.target)
  select id from call`;

const ADD_TO_SUMS = `set charge_micro = charge_micro + $5
  where company_id = $1 and key_id = any ($2::uuid[]) and day = $3::date and alias = $4`;

async function resolve(
  transaction: Transaction,
  { callId, note, now }: Resolving,
  resolution: 'POSTED' | 'DROPPED',
): Promise<WithheldUsage> {
  const [row] = await transaction.query<Row>(
    `update withheld_usage set resolved_at = $2, resolution = $3, note = $4 where call_id = $1 returning ${COLUMNS}`,
    [callId, now, resolution, note.slice(0, LONGEST_NOTE)],
  );
  if (row === undefined) throw new Error(`withheld usage of call ${callId} is not there any more`);
  return usageOf(row);
}

/** Resolved usage is stored as long as its call, because the audit needs it to explain the call's charge. */
export async function purgeResolvedUsage(database: Database, signal?: AbortSignal): Promise<void> {
  await changeInChunks(database, {
    sql: `delete from withheld_usage where call_id = any (array(
       select call_id from withheld_usage
       where resolved_at is not null and call_id < (select before_id from calls_retirement)
       order by call_id limit 1000 for update skip locked))`,
    values: [],
    signal,
  });
}

function usageOf({ excess, ...row }: Row): WithheldUsage {
  const { day: _, ...usage } = row as Row & { day?: string };
  return { ...usage, excessMicro: BigInt(excess) } as WithheldUsage;
}

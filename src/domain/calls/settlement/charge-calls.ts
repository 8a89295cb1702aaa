import type { Statements } from '../../../ports/database.ts';
import type { BudgetSpending } from '../../credits/budgets/call-budgets.ts';
import type { AccountLevel } from '../../credits/ledger/credit-account.ts';
import { callRowOf, callsText, isPlain } from './call-rows.ts';
import { budgetSpendingOf } from './charged-budgets.ts';
import type { FinishedCall, ResponseRecord } from './finished-call.ts';

/**
 * For refusals and reads, which are never charged and are in no total. A call that is already stored is not changed, unless
 * it now counts more refusals. The rows are sent as one JSON text: writing eighteen array literals took this process four
 * times as long.
 */
export async function insertCalls(statements: Statements, calls: readonly FinishedCall[]): Promise<void> {
  await statements.query(
    `insert into calls (id, company_id, key_id, request_id, endpoint, alias, target_id, outcome, reason, http_status,
       streamed, prompt_tokens, cached_tokens, completion_tokens, estimated_tokens, started_at, first_byte_ms,
       duration_ms, end_user, tags, project, over_mcp, count)
     select distinct on (id) id, company, key, request, endpoint, alias, target, outcome, reason, status, streamed,
       prompt, cached, completion, estimated, to_timestamp(started / 1000::float8), first_byte, duration, end_user, tags,
       project, mcp, count
     from json_to_recordset($1::text::json) as given (id uuid, company uuid, key uuid, request text, endpoint text,
       alias text, target text, outcome text, reason text, status integer, streamed boolean, prompt bigint,
       cached bigint, completion bigint, estimated bigint, started bigint, first_byte integer, duration integer,
       end_user text, tags text[], project text, mcp boolean, count integer)
     order by id, count desc nulls last
     on conflict (id) do update set count = excluded.count, duration_ms = excluded.duration_ms
       where calls.outcome = 'REFUSED' and excluded.count > coalesce(calls.count, 1)`,
    [JSON.stringify(calls.map(callRowOf))],
  );
}

/** Rows as charge_calls_and_keep_answers reads them. */
function answerRows(calls: readonly FinishedCall[]) {
  const rows = [];
  for (const { id, keyId, outcome, httpStatus, startedAtMs, idempotent } of calls) {
    if (idempotent === undefined || keyId === null) continue;
    rows.push({
      call: id,
      key: keyId,
      idempotency: idempotent.idempotencyKey,
      sha256: idempotent.sha256,
      succeeded: outcome === 'SUCCEEDED',
      status: httpStatus,
      type: idempotent.contentType,
      sealed: idempotent.sealedAnswer,
      started: startedAtMs,
      stored_for: idempotent.storedForMs,
    });
  }
  return rows;
}

/**
 * A row as charge_call and charge_calls_and_record_responses read it; charge_call takes company, key and alias from the call.
 */
function responseRowOf({ companyId, keyId, alias }: FinishedCall, response: ResponseRecord) {
  return {
    company: companyId,
    key: keyId,
    alias,
    id: response.id,
    target: response.targetId,
    items: response.itemIds,
    charge_call: response.chargeCallId,
    sealed: response.sealedContent,
    bytes: response.contentBytes,
    created: response.createdAtMs,
    expires: response.expiresAtMs,
    max_bytes: response.maxCompanyBytes,
  };
}

/** Calls in one statement. More would delay its first call, and others of the same account, by more than they save. */
export const MOST_AT_ONCE = 500;
const MOST_ANSWER_CHARACTERS = 8 * 1024 * 1024;

/** How many of these calls, starting with the first, fit into one statement: at least one. */
export function countThatFits<T>(waiting: readonly T[], callOf: (one: T) => FinishedCall): number {
  let characters = 0;
  let count = 0;
  for (const one of waiting) {
    const { idempotent, response } = callOf(one);
    characters += (idempotent?.sealedAnswer?.length ?? 0) + (response?.sealedContent?.length ?? 0);
    if (count === MOST_AT_ONCE || (count > 0 && characters > MOST_ANSWER_CHARACTERS)) break;
    count += 1;
  }
  return count;
}

/** A statement accepts each call only once. */
export function distinctCalls(waiting: readonly { readonly call: FinishedCall }[]): readonly FinishedCall[] {
  const byId = new Map<string, FinishedCall>();
  for (const { call } of waiting) byId.set(call.id, call);
  return [...byId.values()];
}

/** What a key with a monthly spending limit has spent. */
export interface KeySpending {
  readonly keyId: string;
  /** The first day of the month, UTC: 'YYYY-MM-01'. */
  readonly month: string;
  readonly spentMicro: bigint;
  /** The version of the paying account: of two spendings, the one with the higher version is newer. */
  readonly version: bigint;
}

/** Only what these calls have changed. */
export interface ChargedCalls {
  readonly levels: readonly AccountLevel[];
  readonly spending: readonly KeySpending[];
  readonly budgets: readonly BudgetSpending[];
}

type ChargedRow = (AccountLevel & { readonly keyId: null }) | (KeySpending & { readonly accountId: string });

/**
 * Records calls and charges those that must be charged, atomically in one statement, and each call only once even if it is
 * sent again. The database function charge_calls does this, planned once per connection; charge_call for a single call
 * without extras, charge_calls_and_keep_answers if calls have idempotency keys, and charge_calls_and_record_responses if they
 * created responses. A call that cannot be charged (no account, no price, a balance beyond 64 bits) makes the whole group
 * fail.
 */
export async function chargeCalls(
  statements: Statements,
  calls: readonly FinishedCall[],
): Promise<ChargedCalls> {
  const [first] = calls;
  if (first === undefined) return { levels: [], spending: [], budgets: [] };
  const rows = await (calls.length === 1 && isPlain(first)
    ? statements.query<ChargedRow>(CHARGE_ONE, [JSON.stringify(loneRowOf(first)), accountsOf(calls)])
    : chargeGroup(statements, calls));
  const levels: AccountLevel[] = [];
  const spending: KeySpending[] = [];
  const budgets: BudgetSpending[] = [];
  for (const row of rows) {
    if (row.keyId === null) {
      const { accountId, balanceMicro, lineMicro, version } = row;
      levels.push({ accountId, balanceMicro, lineMicro, version });
    } else {
      const { keyId, month, spentMicro, version } = row;
      const ofBudget = budgetSpendingOf(row);
      if (ofBudget !== null) budgets.push(ofBudget);
      else spending.push({ keyId, month, spentMicro, version });
    }
  }
  return { levels, spending, budgets };
}

function loneRowOf(call: FinishedCall) {
  const { response, keyId } = call;
  if (response === undefined || keyId === null) return callRowOf(call);
  return { ...callRowOf(call), response: responseRowOf(call, response) };
}

function chargeGroup(statements: Statements, calls: readonly FinishedCall[]): Promise<readonly ChargedRow[]> {
  const given = [callsText(calls), accountsOf(calls)];
  const answers = jsonOf(answerRows(calls));
  const responses = jsonOf(responseRows(calls));
  if (responses !== null) return statements.query(CHARGE_AND_RECORD, [...given, answers, responses]);
  return answers === null
    ? statements.query(CHARGE, given)
    : statements.query(CHARGE_AND_KEEP, [...given, answers]);
}

function responseRows(calls: readonly FinishedCall[]) {
  const rows = [];
  for (const call of calls) {
    if (call.response === undefined || call.keyId === null) continue;
    rows.push(responseRowOf(call, call.response));
  }
  return rows;
}

/** Null if there are no rows. */
function jsonOf(rows: readonly unknown[]): string | null {
  return rows.length === 0 ? null : JSON.stringify(rows);
}

function accountsOf(calls: readonly FinishedCall[]): readonly string[] {
  const accounts = new Set<string>();
  for (const { companyId, payerId } of calls) {
    accounts.add(companyId);
    if (payerId !== undefined) accounts.add(payerId);
  }
  return [...accounts];
}

const CHARGED = `select account_id as "accountId", balance_micro as "balanceMicro", line_micro as "lineMicro", version,
  key_id as "keyId", month, spent_micro as "spentMicro"`;
/** Passed as text: otherwise the driver would encode it as a JSON string. */
const CHARGE_ONE = `${CHARGED} from charge_call($1::text::json, $2::uuid[])`;
const CHARGE = `${CHARGED} from charge_calls($1::text, $2::uuid[])`;
const CHARGE_AND_RECORD = `${CHARGED}
  from charge_calls_and_record_responses($1::text, $2::uuid[], $3::text, $4::text)`;
const CHARGE_AND_KEEP = `${CHARGED} from charge_calls_and_keep_answers($1::text, $2::uuid[], $3::text)`;

import type { Statements } from '../../ports/database.ts';
import type { AccountLevel } from '../credits/account-level.ts';
import { type FinishedCall, rowOf } from './finished-call.ts';
import { answerRows } from './idempotent-ending.ts';

/** What a key with a monthly spending limit has spent. */
export interface KeySpending {
  readonly keyId: string;
  /** Its first day, UTC: 'YYYY-MM-01'. */
  readonly month: string;
  readonly spentMicro: bigint;
  /** That of the company's account: of two spendings the one with the higher is newer. */
  readonly version: bigint;
}

/** Only what these calls have changed. */
export interface ChargedCalls {
  readonly levels: readonly AccountLevel[];
  readonly spending: readonly KeySpending[];
}

type ChargedRow = (AccountLevel & { readonly keyId: null }) | (KeySpending & { readonly accountId: string });

/**
 * Records calls and charges those that are to be charged, in one statement, so all of it or nothing, each call once
 * however often it is sent. What it does stands in the database's function charge_calls, whose plan a connection
 * makes once; where calls have idempotency keys, charge_calls_and_keep_answers. What cannot be charged (no account, no price, a balance beyond 64 bits) refuses the whole group.
 */
export async function chargeCalls(
  statements: Statements,
  calls: readonly FinishedCall[],
): Promise<ChargedCalls> {
  if (calls.length === 0) return { levels: [], spending: [] };
  const companies = [...new Set(calls.map(({ companyId }) => companyId))];
  const given = [JSON.stringify(calls.map(rowOf)), companies];
  const answers = answerRows(calls);
  const rows =
    answers.length === 0
      ? await statements.query<ChargedRow>(CHARGE, given)
      : await statements.query<ChargedRow>(CHARGE_AND_KEEP, [...given, JSON.stringify(answers)]);
  const levels: AccountLevel[] = [];
  const spending: KeySpending[] = [];
  for (const row of rows) {
    if (row.keyId === null) {
      const { accountId, balanceMicro, lineMicro, version } = row;
      levels.push({ accountId, balanceMicro, lineMicro, version });
    } else {
      const { keyId, month, spentMicro, version } = row;
      spending.push({ keyId, month, spentMicro, version });
    }
  }
  return { levels, spending };
}

const CHARGED = `select account_id as "accountId", balance_micro as "balanceMicro", line_micro as "lineMicro", version,
  key_id as "keyId", month, spent_micro as "spentMicro"`;
const CHARGE = `${CHARGED} from charge_calls($1::text, $2::uuid[])`;
const CHARGE_AND_KEEP = `${CHARGED} from charge_calls_and_keep_answers($1::text, $2::uuid[], $3::text)`;

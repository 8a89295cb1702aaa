import type { Database, Statements, Transaction } from '../../../ports/database.ts';
import { changeInChunks } from '../../retention/change-in-chunks.ts';
import { LEVEL_KEPT_MS, type SharedLevel } from '../ledger/credit-account.ts';
import type { BudgetScope, BudgetSpending, CallBudget } from './call-budgets.ts';

/** One budget in one month; `month` is its first day, UTC. */
export interface BudgetMonth {
  readonly companyId: string;
  readonly budget: CallBudget;
  readonly month: string;
}

/**
 * Named without the amount: what calls hold for a scope and subject also counts against a budget that was changed in
 * the meantime.
 */
export function budgetHoldName({ budget: { scope, subject }, month }: BudgetMonth): string {
  return `${BUDGET_HOLD}${scope} ${month} ${subject}`;
}

const BUDGET_HOLD = 'budget ';

/** The budget that a hold is for, by its name; null for a hold of something else. */
export function heldBudget<Budget extends Pick<CallBudget, 'scope' | 'subject'>>(
  holdName: string,
  budgets: readonly Budget[],
): Budget | null {
  if (!holdName.startsWith(BUDGET_HOLD)) return null;
  const scope = holdName.split(' ', 2)[1];
  return budgets.find((budget) => budget.scope === scope) ?? null;
}

/**
 * Without the amount, which a hold adds: a call that was admitted under another amount counts against a changed budget
 * as soon as it is charged.
 */
export function budgetLevelName({ budget: { scope, subject }, month }: BudgetMonth): string {
  return `budget-spent ${scope} ${month} ${subject}`;
}

/**
 * What was spent, below zero. Charges make it grow, so it serves as the version: the higher one is newer, whichever
 * account paid. A subject is charged by several accounts, whose versions cannot be compared. After a correction, which
 * lowers it, the level is right once it has aged and was read again.
 */
export function budgetLevel(of: BudgetMonth, spentMicro: bigint): SharedLevel {
  const spent = Number(spentMicro < MOST_SPENT_MICRO ? spentMicro : MOST_SPENT_MICRO);
  return { name: budgetLevelName(of), value: -spent, version: spent, ttlMs: LEVEL_KEPT_MS };
}

const MOST_SPENT_MICRO = BigInt(Number.MAX_SAFE_INTEGER);

/** The levels of a call's hard budgets, as far as its commit reports their spending. */
export function budgetLevelsAfter(
  companyId: string,
  budgets: readonly CallBudget[],
  spendings: readonly BudgetSpending[],
): SharedLevel[] {
  const levels: SharedLevel[] = [];
  for (const { scope, subject, month, spentMicro } of spendings) {
    const budget = budgets.find((one) => one.scope === scope && one.subject === subject);
    if (budget?.isHard === true) levels.push(budgetLevel({ companyId, budget, month }, spentMicro));
  }
  return levels;
}

/** Spending of a scope and subject in a month. */
export async function readBudgetSpending(
  statements: Statements,
  companyId: string,
  { scope, subject }: { readonly scope: BudgetScope; readonly subject: string },
  month: string,
): Promise<bigint> {
  const [row] = await statements.query<{ spentMicro: bigint | null }>(
    SPENT[scope],
    scope === 'KEY'
      ? [subject, month]
      : scope === 'COMPANY'
        ? [companyId, month]
        : [companyId, month, scope, subject],
  );
  return row?.spentMicro ?? 0n;
}

/** As count_attributed reads them. */
const OF_SUBJECT = `select charge_micro - returned_micro as "spentMicro" from subject_months
  where company_id = $1 and month = $2::date and scope = $3 and subject = $4`;
const SPENT: Readonly<Record<BudgetScope, string>> = {
  COMPANY: `select sum(charge_micro - returned_micro)::bigint as "spentMicro" from usage_days
    where company_id = $1 and key_id = '00000000-0000-0000-0000-000000000000' and day >= $2::date
      and day < $2::date + interval '1 month'`,
  KEY: 'select key_spending($1, $2::date) as "spentMicro"',
  PROJECT: OF_SUBJECT,
  END_USER: OF_SUBJECT,
};

/** Adds charges to a project or end user that are not calls; `month` is its first day. */
export async function addSubjectSpending(
  transaction: Transaction,
  spending: {
    readonly companyId: string;
    readonly scope: 'PROJECT' | 'END_USER';
    readonly subject: string;
    readonly month: string;
    readonly chargeMicro: bigint;
  },
): Promise<void> {
  const { companyId, scope, subject, month, chargeMicro } = spending;
  await transaction.query(
    `insert into subject_months as present (company_id, scope, month, subject, charge_micro)
     values ($1, $2, $3::date, $4, $5)
     on conflict (company_id, scope, month, subject) do update
       set charge_micro = present.charge_micro + excluded.charge_micro`,
    [companyId, scope, month, subject, chargeMicro],
  );
}

/** Gives credits of a call back to the sums that its company's, its key's and its subjects' budgets are compared with. */
export async function returnSpending(
  transaction: Transaction,
  { call, month, creditsMicro }: ReturnedSpending,
): Promise<void> {
  const { companyId, keyId, project, endUser } = call;
  if (keyId === null) return;
  await transaction.query(
    'update key_months set returned_micro = returned_micro + $3 where key_id = $1 and month = $2::date',
    [keyId, month, creditsMicro],
  );
  await transaction.query(
    `update subject_months set returned_micro = returned_micro + $5
     where company_id = $1 and month = $2::date
       and (scope = 'PROJECT' and subject = $3 or scope = 'END_USER' and subject = $4)`,
    [companyId, month, project, endUser, creditsMicro],
  );
}

interface ReturnedSpending {
  readonly call: {
    readonly companyId: string;
    readonly keyId: string | null;
    readonly project: string | null;
    readonly endUser: string | null;
  };
  /** Its first day, UTC. */
  readonly month: string;
  readonly creditsMicro: bigint;
}

const PURGED_AT_ONCE = 1_000;

/** Removes the spending of months before this day. Returns the number of rows. */
export async function purgeSubjectMonths(
  database: Database,
  before: string,
  signal: AbortSignal | undefined,
): Promise<number> {
  const sql = `delete from subject_months where ctid = any (array(
    select ctid from subject_months where month < $1::date limit ${PURGED_AT_ONCE} for update skip locked))`;
  return (await changeInChunks(database, { sql, values: [before], chunkRows: PURGED_AT_ONCE, signal })).rows;
}

import type { Statements, Transaction } from '../../../ports/database.ts';
import { isId, spendingKeyId } from '../../keys/api-key.ts';
import { findKey, findKeys } from '../../keys/key-lifecycle.ts';
import { projectNameProblem } from '../../keys/mint-key.ts';
import { type BudgetScope, EVERY_END_USER } from './call-budgets.ts';

export interface Budget {
  readonly id: string;
  readonly scope: BudgetScope;
  /** The project, the key's id, the end user or `*`; empty for COMPANY. */
  readonly subject: string;
  readonly monthlyMicro: bigint;
  readonly isHard: boolean;
  /** Incremented by each change. */
  readonly version: number;
  readonly changedAt: Date;
}

/** A budget with its spending in the current month. */
export interface BudgetWithSpending extends Budget {
  /** For `*`: the spending of the end user who has spent most, among those without a budget of their own. */
  readonly spentMicro: bigint;
  /** That end user; null for other budgets, and if no end user has spent anything. */
  readonly topEndUser: string | null;
  /** How many of these end users have used up the budget; null for other budgets. */
  readonly usedUpBy: number | null;
  /** For KEY. */
  readonly keyName: string | null;
}

export interface BudgetParams {
  readonly companyId: string;
  readonly scope: BudgetScope;
  readonly subject: string | null;
  readonly monthlyMicro: bigint;
  readonly isHard: boolean;
  /** The version that the caller has seen; null replaces any version. */
  readonly version: number | null;
}

type SetBudget =
  | { readonly outcome: 'set'; readonly budget: Budget; readonly isNew: boolean }
  | {
      readonly outcome: 'invalid';
      readonly field: 'subject' | 'monthlyCredits' | 'scope';
      readonly problem: string;
    }
  /** Another user has changed or deleted it since the caller read it. */
  | { readonly outcome: 'outdated' };

/** Every gateway reads all budgets of a company that it serves, once a second. */
const MOST_BUDGETS = 500;
const LONGEST_END_USER = 128;
/** Counted in shared state, whose amounts end at 2^53. */
const HIGHEST_BUDGET_MICRO = 9_000_000_000_000_000n;

const COLUMNS = `id, scope, subject, monthly_micro as "monthlyMicro", is_hard as "isHard", version,
  changed_at as "changedAt"`;

/**
 * Creates a budget, or changes the one of the same scope and subject. What was spent earlier in the month counts. The
 * caller announces it after the commit.
 */
export async function setBudget(
  transaction: Transaction,
  params: BudgetParams,
  { newId, now }: { readonly newId: string; readonly now: Date },
): Promise<SetBudget> {
  const { companyId, scope, monthlyMicro, isHard, version } = params;
  const found = await subjectOf(transaction, params);
  if (found.problem !== null) return { outcome: 'invalid', field: 'subject', problem: found.problem };
  const { subject } = found;
  if (monthlyMicro < 0n || monthlyMicro > HIGHEST_BUDGET_MICRO) {
    const most = HIGHEST_BUDGET_MICRO / 1_000_000n;
    return { outcome: 'invalid', field: 'monthlyCredits', problem: `0 to ${most} credits are possible` };
  }
  // Locks the account's row, so that concurrent creations are counted one after the other.
  await transaction.query('select 1 from credit_accounts where id = $1 for update', [companyId]);
  const all = await listBudgets(transaction, companyId);
  const old = all.find((one) => one.scope === scope && one.subject === subject);
  if (version !== null && old?.version !== version) return { outcome: 'outdated' };
  if (old === undefined && all.length >= MOST_BUDGETS) {
    const tooMany = `a company has at most ${MOST_BUDGETS} budgets; delete one first`;
    return { outcome: 'invalid', field: 'scope', problem: tooMany };
  }
  const [budget] = await transaction.query<Budget>(
    `insert into budgets as present (id, company_id, scope, subject, monthly_micro, is_hard, created_at, changed_at)
     values ($1, $2, $3, $4, $5, $6, $7, $7)
     on conflict (company_id, scope, subject) do update set monthly_micro = excluded.monthly_micro,
       is_hard = excluded.is_hard, version = present.version + 1, changed_at = excluded.changed_at
     returning ${COLUMNS}`,
    [newId, companyId, scope, subject, monthlyMicro, isHard, now],
  );
  if (budget === undefined) throw new Error('a budget was neither created nor changed');
  return { outcome: 'set', budget, isNew: old === undefined };
}

type FoundSubject =
  | { readonly problem: null; readonly subject: string }
  | { readonly problem: string; readonly subject?: undefined };

/** The subject as it is stored. All rotations of a key share the budget of the first. */
async function subjectOf(
  statements: Statements,
  { companyId, scope, subject: given }: BudgetParams,
): Promise<FoundSubject> {
  const subject = given?.trim() ?? '';
  if (scope === 'COMPANY') {
    if (subject === '') return { problem: null, subject };
    return { problem: 'leave it out: a budget of the company has none' };
  }
  if (scope === 'KEY') {
    const key = await findKey(statements, companyId, subject);
    if (key === null) return { problem: 'give the id of one of your keys' };
    return { problem: null, subject: spendingKeyId(key) };
  }
  const problem = scope === 'PROJECT' ? projectProblem(subject) : endUserProblem(subject);
  return problem === null ? { problem, subject } : { problem };
}

function projectProblem(project: string): string | null {
  return project === '' ? 'name the project, as its keys have it' : projectNameProblem(project);
}

function endUserProblem(endUser: string): string | null {
  if (endUser === '') return 'name the end user as your calls do in `user`, or give * for every end user';
  if (endUser.length > LONGEST_END_USER) return `an end user has at most ${LONGEST_END_USER} characters`;
  return /\p{Cc}/u.test(endUser) ? 'an end user has no control characters' : null;
}

/** Ordered by scope and subject. */
async function listBudgets(statements: Statements, companyId: string): Promise<readonly Budget[]> {
  return await statements.query<Budget>(
    `select ${COLUMNS} from budgets where company_id = $1
     order by array_position(array['COMPANY', 'PROJECT', 'KEY', 'END_USER'], scope), subject`,
    [companyId],
  );
}

/** With the spending of the month that contains `now`. */
export async function listBudgetsWithSpending(
  statements: Statements,
  companyId: string,
  now: Date,
): Promise<readonly BudgetWithSpending[]> {
  const budgets = await statements.query<Omit<BudgetWithSpending, 'keyName'>>(
    `select ${COLUMNS}, coalesce(case
         when scope = 'COMPANY' then (select sum(charge_micro - returned_micro) from usage_days as day
           where day.company_id = $1 and day.key_id = '00000000-0000-0000-0000-000000000000'
             and day.day >= this.month and day.day < this.month + interval '1 month')
         when scope = 'KEY' then key_spending(subject::uuid, this.month)
         when subject = '${EVERY_END_USER}' and scope = 'END_USER' then top.charge_micro
         else (select charge_micro - returned_micro from subject_months as own where own.company_id = $1
           and own.scope = budgets.scope and own.month = this.month and own.subject = budgets.subject)
       end, 0)::bigint as "spentMicro", top.name as "topEndUser", top.used_up::integer as "usedUpBy"
     from (select date_trunc('month', $2::timestamptz at time zone 'utc')::date as month) as this, budgets
     left join lateral (
       select max(spent) as charge_micro, count(*) filter (where spent >= budgets.monthly_micro) as used_up,
         (array_agg(subject order by spent desc))[1] as name
       from (select *, charge_micro - returned_micro as spent from subject_months) as of_month
       where of_month.company_id = $1 and of_month.scope = 'END_USER' and of_month.month = this.month
         and not exists (select 1 from budgets as own
           where own.company_id = $1 and own.scope = 'END_USER' and own.subject = of_month.subject
             and own.subject <> '${EVERY_END_USER}')) as top
       on budgets.scope = 'END_USER' and budgets.subject = '${EVERY_END_USER}'
     where company_id = $1
     order by array_position(array['COMPANY', 'PROJECT', 'KEY', 'END_USER'], scope), budgets.subject`,
    [companyId, now],
  );
  const keys = await keyNames(statements, companyId, budgets);
  return budgets.map((one) => ({ ...one, keyName: keys.get(one.subject) ?? null }));
}

/** By the id of the key. */
async function keyNames(
  statements: Statements,
  companyId: string,
  budgets: readonly Pick<Budget, 'scope' | 'subject'>[],
): Promise<ReadonlyMap<string, string>> {
  const ids = budgets.flatMap(({ scope, subject }) => (scope === 'KEY' ? [subject] : []));
  return new Map((await findKeys(statements, companyId, ids)).map(({ id, name }) => [id, name]));
}

/** The owner of each budget for display, by the id of the budget. */
export async function nameBudgets(
  statements: Statements,
  companyId: string,
): Promise<ReadonlyMap<string, string>> {
  const budgets = await listBudgets(statements, companyId);
  const keys = await keyNames(statements, companyId, budgets);
  return new Map(
    budgets.map(({ id, scope, subject }) => [id, budgetOwner(scope, subject, keys.get(subject) ?? null)]),
  );
}

/** As `the project website`. */
export function budgetOwner(scope: BudgetScope, subject: string, keyName: string | null): string {
  switch (scope) {
    case 'COMPANY':
      return 'the company';
    case 'PROJECT':
      return `the project ${subject}`;
    case 'KEY':
      return `the key ${keyName ?? subject}`;
    case 'END_USER':
      return subject === EVERY_END_USER ? 'every end user' : `the end user ${subject}`;
  }
}

/** Null if the company has no such budget. */
export async function findBudget(
  statements: Statements,
  companyId: string,
  budgetId: string,
): Promise<Budget | null> {
  if (!isId(budgetId)) return null;
  const [budget] = await statements.query<Budget>(
    `select ${COLUMNS} from budgets where company_id = $1 and id = $2`,
    [companyId, budgetId],
  );
  return budget ?? null;
}

/** Null if the company has no such budget. The caller calls `announceCompany` after the commit. */
export async function deleteBudget(
  statements: Statements,
  companyId: string,
  budgetId: string,
): Promise<Budget | null> {
  if (!isId(budgetId)) return null;
  const [budget] = await statements.query<Budget>(
    `delete from budgets where company_id = $1 and id = $2 returning ${COLUMNS}`,
    [companyId, budgetId],
  );
  return budget ?? null;
}

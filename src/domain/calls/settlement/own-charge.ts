import type { BudgetSpending } from '../../credits/budgets/call-budgets.ts';
import type { AccountLevel } from '../../credits/ledger/credit-account.ts';
import type { ChargedCalls, KeySpending } from './charge-calls.ts';
import type { FinishedCall } from './finished-call.ts';

/** What one call of a group learns from its commit; null where the commit changed nothing of it. */
export interface OwnCharge {
  readonly level: AccountLevel | null;
  readonly spending: KeySpending | null;
  /** Undefined where it was admitted under no budget. */
  readonly budgets?: readonly BudgetSpending[] | undefined;
}

export const NO_CHARGE: OwnCharge = { level: null, spending: null };

/** Of a whole group's result, each call's own part. */
export function ownCharges({ levels, spending, budgets }: ChargedCalls): (call: FinishedCall) => OwnCharge {
  const levelOf = new Map(levels.map((level) => [level.accountId, level]));
  const spendingOf = new Map(spending.map((one) => [`${one.keyId} ${one.month}`, one]));
  return (call) => {
    const { companyId, payerId, keyId, startedAtMs } = call;
    return {
      level: levelOf.get(payerId ?? companyId) ?? null,
      spending: spendingOf.size === 0 ? null : (spendingOf.get(`${keyId} ${monthOf(startedAtMs)}`) ?? null),
      budgets: budgets.length === 0 ? undefined : ownBudgets(call, monthOf(startedAtMs), budgets),
    };
  };
}

/** Its first day, UTC. */
function monthOf(timeMs: number): string {
  return `${new Date(timeMs).toISOString().slice(0, 7)}-01`;
}

/** Of a whole group's result, what concerns the budgets of one call; undefined without any. */
function ownBudgets(
  { budgets }: FinishedCall,
  month: string,
  spendings: readonly BudgetSpending[],
): readonly BudgetSpending[] | undefined {
  if (budgets === undefined) return undefined;
  return spendings.filter(
    (one) =>
      one.month === month &&
      budgets.some(({ scope, subject }) => scope === one.scope && subject === one.subject),
  );
}

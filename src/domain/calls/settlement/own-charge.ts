import { firstDayOfMonth } from '../../credits/billing-month.ts';
import type { BudgetSpending } from '../../credits/budgets/call-budgets.ts';
import type { AccountLevel } from '../../credits/ledger/credit-account.ts';
import type { ChargedCalls, KeySpending } from './charge-calls.ts';
import type { FinishedCall } from './finished-call.ts';

/** The result of a commit for one of its calls; a field is null if the commit did not change it. */
export interface OwnCharge {
  readonly level: AccountLevel | null;
  readonly spending: KeySpending | null;
  /** Undefined if the call has no budgets, or the commit changed none. */
  readonly budgets?: readonly BudgetSpending[] | undefined;
}

export const NO_CHARGE: OwnCharge = { level: null, spending: null };

/** Each call's part of a group's result. */
export function ownCharges({ levels, spending, budgets }: ChargedCalls): (call: FinishedCall) => OwnCharge {
  const levelOf = new Map(levels.map((level) => [level.accountId, level]));
  const spendingOf = new Map(spending.map((one) => [`${one.keyId} ${one.month}`, one]));
  return (call) => {
    const { companyId, payerId, keyId, startedAtMs } = call;
    return {
      level: levelOf.get(payerId ?? companyId) ?? null,
      spending:
        spendingOf.size === 0 ? null : (spendingOf.get(`${keyId} ${firstDayOfMonth(startedAtMs)}`) ?? null),
      budgets: budgets.length === 0 ? undefined : ownBudgets(call, firstDayOfMonth(startedAtMs), budgets),
    };
  };
}

/** The part of a group's result about the budgets of one call; undefined if it has none. */
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

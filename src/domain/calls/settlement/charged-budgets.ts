import { BUDGET_SCOPES, type BudgetSpending } from '../../credits/budgets/call-budgets.ts';

const MONTH_LENGTH = 'YYYY-MM-DD'.length;

/**
 * The budget spending in a row of charge_calls; null if the row is not about a budget. In such a row, the scope and the
 * subject follow the month in `month`.
 */
export function budgetSpendingOf({
  month,
  spentMicro,
}: {
  readonly month: string;
  readonly spentMicro: bigint;
}): BudgetSpending | null {
  if (month.length <= MONTH_LENGTH) return null;
  const named = month.slice(MONTH_LENGTH + 1);
  const scope = BUDGET_SCOPES.find((one) => named.startsWith(`${one} `));
  if (scope === undefined) return null;
  return { scope, subject: named.slice(scope.length + 1), month: month.slice(0, MONTH_LENGTH), spentMicro };
}

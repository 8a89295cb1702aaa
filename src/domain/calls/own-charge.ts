import type { AccountLevel } from '../credits/account-level.ts';
import type { ChargedCalls, KeySpending } from './charge-calls.ts';
import type { FinishedCall } from './finished-call.ts';

/** What one call of a group learns from its commit; null where the commit changed nothing of it. */
export interface OwnCharge {
  readonly level: AccountLevel | null;
  readonly spending: KeySpending | null;
}

export const NO_CHARGE: OwnCharge = { level: null, spending: null };

/** Of a whole group's result, each call's own part. */
export function ownCharges({ levels, spending }: ChargedCalls): (call: FinishedCall) => OwnCharge {
  const levelOf = new Map(levels.map((level) => [level.accountId, level]));
  const spendingOf = new Map(spending.map((one) => [`${one.keyId} ${one.month}`, one]));
  return ({ companyId, keyId, startedAtMs }) => ({
    level: levelOf.get(companyId) ?? null,
    spending: spendingOf.size === 0 ? null : (spendingOf.get(`${keyId} ${monthOf(startedAtMs)}`) ?? null),
  });
}

/** Its first day, UTC. */
function monthOf(timeMs: number): string {
  return `${new Date(timeMs).toISOString().slice(0, 7)}-01`;
}

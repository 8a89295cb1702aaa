import type { Log } from '../../ports/log.ts';
import type { SharedState } from '../../ports/shared-state.ts';
import { type AccountLevel, spendable } from './account-level.ts';

/** A level as shared state keeps it. */
export interface SharedLevel {
  readonly name: string;
  readonly value: number;
  readonly version: number;
  readonly ttlMs: number;
}

/** Of an account's level, under the account's id. */
export const BALANCE_LEVEL = 'balance';

/** With a company's id: its balance, its billing or its invoices have changed. */
export const COMPANIES_TOPIC = 'companies';

/** How long a level is kept, and so the longest that it can serve while the database is away. */
export const KEPT_MS = 10 * 60_000;

export function levelOf(level: AccountLevel): SharedLevel {
  return {
    name: BALANCE_LEVEL,
    value: spendable(level),
    version: Number(level.version),
    ttlMs: KEPT_MS,
  };
}

/**
 * Tells every process what a committed posting has made of an account: the first call after it goes by the new
 * balance. Only for after the commit, and it never rejects: where shared state is away the posting stands all the
 * same, and counts as soon as the level is read again, which takes seconds.
 */
export async function publishLevel(sharedState: SharedState, level: AccountLevel, log?: Log): Promise<void> {
  const { accountId } = level;
  try {
    await sharedState.settle(accountId, [{ kind: 'level', ...levelOf(level) }]);
    await sharedState.publish(COMPANIES_TOPIC, accountId);
  } catch (error) {
    log?.warn('a changed balance could not be told to the gateways; they read it within seconds', {
      accountId,
      error,
    });
  }
}

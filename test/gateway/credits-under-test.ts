import { createSystemClock } from '../../src/adapters/clock/system-clock.ts';
import { chargeDeferredIn } from '../../src/domain/calls/settlement/deferred-calls.ts';
import { createHeldCredits } from '../../src/domain/credits/holds/holds.ts';
import {
  type AccountLevel,
  publishLevel,
  readLevel,
} from '../../src/domain/credits/ledger/credit-account.ts';
import { postTransaction } from '../../src/domain/credits/ledger/ledger.ts';
import type { Database, Row } from '../../src/ports/database.ts';
import type { Secrets } from '../../src/ports/secrets.ts';
import type { SharedState } from '../../src/ports/shared-state.ts';
import { createSilentLog } from '../doubles/silent-log.ts';

interface CreditParts {
  readonly database: Database;
  readonly sharedState: SharedState;
  readonly secrets: Secrets;
}

/** A company's account as a test fills it and looks into it. */
export function creditsOf({ database, sharedState, secrets }: CreditParts, companyId: string) {
  const chargeDeferred = chargeDeferredIn(database, createSystemClock());
  const heldCredits = createHeldCredits({ sharedState, log: createSilentLog(), chargeDeferred });
  return {
    /** What running calls hold. */
    held: async (): Promise<number> => Number(await heldCredits(companyId)),
    /** Posted and published to the gateway, as a purchase is. Nothing for 0. */
    async grant(amountMicro: bigint): Promise<void> {
      if (amountMicro === 0n) return;
      const posted = await database.transaction((transaction) =>
        postTransaction(transaction, {
          accountId: companyId,
          type: 'ADJUSTMENT',
          amountMicro,
          contra: 'adjustments',
          sourceKind: 'test',
          sourceId: secrets.newId(),
        }),
      );
      if (posted.outcome !== 'posted') throw new Error(`not posted: ${posted.outcome}`);
      await publishLevel(sharedState, posted.level);
    },
    async level(): Promise<AccountLevel> {
      const level = await readLevel(database, companyId);
      if (level === null) throw new Error('there is no account');
      return level;
    },
    /** The ledger rows that charge the call, and its own row's word about it. */
    async chargesOf(callId: unknown): Promise<readonly Row[]> {
      return await database.query(
        `select posted.amount_micro, posted.type, call.charge_micro, call.price_id is not null as is_priced
         from calls as call join credit_transactions as posted
           on posted.source_kind = 'call' and posted.source_id = call.id::text
         where call.id = $1`,
        [callId as string],
      );
    },
  };
}

import { createSystemClock } from '../../src/adapters/clock/system-clock.ts';
import { chargeDeferredIn } from '../../src/domain/calls/settlement/deferred-calls.ts';
import { createHeldCredits } from '../../src/domain/credits/holds/holds.ts';
import {
  type AccountLevel,
  COMPANIES_TOPIC,
  publishLevel,
  readLevel,
} from '../../src/domain/credits/ledger/credit-account.ts';
import { postTransaction } from '../../src/domain/credits/ledger/ledger.ts';
import type { Clock } from '../../src/ports/clock.ts';
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

interface Company {
  readonly companyId: string;
  readonly parts: CreditParts & { readonly clock: Clock };
  readonly credits: ReturnType<typeof creditsOf>;
}

/** Neither balance nor credit line; what it returns restores the balance. */
export async function loseCredits({ companyId, parts, credits }: Company): Promise<() => Promise<void>> {
  await parts.database.query(
    'update credit_accounts set line_micro = 0, version = version + 1 where id = $1',
    [companyId],
  );
  const { balanceMicro } = await credits.level();
  await credits.grant(balanceMicro === 0n ? -1n : -balanceMicro);
  return () => credits.grant(balanceMicro);
}

/** An invoice that is overdue since yesterday; what it returns pays it. */
export async function oweMoney({ companyId, parts }: Company): Promise<() => Promise<void>> {
  const { database, secrets, clock, sharedState } = parts;
  const [id, due] = [secrets.newId(), new Date(clock.now() - 86_400_000)];
  const columns = 'id, company_id, kind, status, amount_minor, currency, due_at';
  await database.query(
    `insert into invoices (${columns}) values ($1, $2, 'MANUAL', 'OPEN', 100, 'usd', $3)`,
    [id, companyId, due],
  );
  await sharedState.publish(COMPANIES_TOPIC, companyId);
  return async () => {
    await database.query("update invoices set status = 'PAID' where id = $1", [id]);
    await sharedState.publish(COMPANIES_TOPIC, companyId);
  };
}

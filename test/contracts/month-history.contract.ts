import { expect, test } from 'bun:test';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { createInProcessState } from '../../src/adapters/shared-state/in-process.ts';
import { addCompany } from '../../src/domain/accounts/company.ts';
import { chargeCalls } from '../../src/domain/calls/settlement/charge-calls.ts';
import type { FinishedCall } from '../../src/domain/calls/settlement/finished-call.ts';
import { ownCharges } from '../../src/domain/calls/settlement/own-charge.ts';
import { readBudgetSpending } from '../../src/domain/credits/budgets/budget-levels.ts';
import type { CallBudget } from '../../src/domain/credits/budgets/call-budgets.ts';
import { createCreditHolds, createHeldCredits, type Payer } from '../../src/domain/credits/holds/holds.ts';
import { postTransaction } from '../../src/domain/credits/ledger/ledger.ts';
import type { CallReservation } from '../../src/domain/limits/call-reservation.ts';
import { createLimits } from '../../src/domain/limits/limits.ts';
import { runCheck } from '../../src/domain/reconciliation/audit-check.ts';
import { pricesCheck } from '../../src/domain/reconciliation/usage-checks.ts';
import type { Database } from '../../src/ports/database.ts';
import { finishedCall } from '../doubles/finished-calls.ts';
import { createManualClock } from '../doubles/manual-clock.ts';
import { createSeededRandom } from '../doubles/seeded-random.ts';
import { createSilentLog } from '../doubles/silent-log.ts';

const GRANT_MICRO = 1_000_000_000n;
const NAME = 'chat-cheap';
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

interface Running {
  readonly call: FinishedCall;
  readonly payer: Payer;
  readonly estimate: number;
  readonly month: string;
  readonly reservation: CallReservation;
}

/**
 * Calls that begin and end around the ends of months, while the key's limit, the company's budget and the price are changed,
 * against a model of a few numbers. The rows that a history leaves are compared with the model on each engine, so both
 * engines leave the same.
 */
export function monthHistories(engine: string, given: () => Database, starts: readonly string[]): void {
  for (const [seed, start] of starts.entries()) {
    test(`G-29 ${engine}: limits, budgets and prices across the months from ${start}`, async () => {
      const world = await createWorld(given(), Date.parse(start), seed + 1);
      for (let step = 0; step < 120; step += 1) await world.step();
      await world.endAll();
      await world.compareRows();
      expect(world.counts.admitted).toBeGreaterThan(10);
      expect(world.counts.refused).toBeGreaterThan(0);
      expect(world.months()).toBeGreaterThan(1);
    });
  }
}

async function createWorld(database: Database, startMs: number, seed: number) {
  const random = createSeededRandom(seed);
  const { newId } = createSystemSecrets();
  const clock = createManualClock(startMs);
  const log = createSilentLog();
  const sharedState = createInProcessState({ clock, log });
  const [companyId, keyId] = [newId(), newId()];
  await addCompany(database, { id: companyId, name: 'Acme', billingMode: 'PREPAID' });
  await database.transaction((transaction) =>
    postTransaction(transaction, {
      ...{ accountId: companyId, type: 'SUBSCRIPTION_GRANT', amountMicro: GRANT_MICRO, contra: 'grants' },
      ...{ sourceKind: 'test', sourceId: newId() },
    }),
  );
  const holds = createCreditHolds({ database, clock, log });
  const limits = createLimits({
    sharedState,
    ownState: sharedState,
    clock,
    log,
    addressRequestsPerMinute: 0,
  });
  const heldCredits = createHeldCredits({ sharedState, log });
  const key = { id: keyId, companyId, requestsPerMinute: 1e9, tokensPerMinute: 1e9, maxCallsInFlight: null };

  // The model.
  const prices = [{ fromMs: startMs - DAY_MS, completionMicro: 1_000_000n }];
  const charged: { readonly id: string; readonly startedAtMs: number; readonly micro: bigint }[] = [];
  const running: Running[] = [];
  let limitMicro = 3_000n;
  let budget: CallBudget = { id: newId(), scope: 'COMPANY', subject: '', mostMicro: 5_000, isHard: true };
  const counts = { admitted: 0, refused: 0 };
  const monthOf = (atMs: number) => `${new Date(atMs).toISOString().slice(0, 7)}-01`;
  const spentIn = (month: string) =>
    charged.reduce((sum, { startedAtMs, micro }) => (monthOf(startedAtMs) === month ? sum + micro : sum), 0n);
  const heldIn = (month: string) =>
    running.reduce((sum, call) => (call.month === month ? sum + call.estimate : sum), 0);
  const priceAt = (atMs: number) => prices.findLast(({ fromMs }) => fromMs <= atMs)?.completionMicro ?? 0n;

  async function writePrice(fromMs: number, completionMicro: bigint): Promise<void> {
    await database.query(
      `insert into model_prices (id, alias, prompt_micro, cached_micro, completion_micro, in_force_from)
       values ($1, $2, 0, 0, $3, $4)`,
      [newId(), NAME, completionMicro, new Date(fromMs)],
    );
  }

  async function begin(): Promise<void> {
    const startedAtMs = clock.now();
    const month = monthOf(startedAtMs);
    const estimate = 1 + random.below(900);
    const call = finishedCall(companyId, {
      ...{ keyId, alias: `svc/${NAME}`, startedAtMs, monthlyLimitMicro: limitMicro, budgets: [budget] },
      priceFactorMillionths: random.pick([undefined, undefined, 500_000, 2_000_000]),
      tokens: { promptTokens: random.below(50), cachedTokens: 0, completionTokens: random.below(600) },
    });
    const payer: Payer = {
      ...{ companyId, keyId, monthlyLimitMicro: limitMicro, startedAtMs, userId: null, budgets: [budget] },
    };
    const used = spentIn(month) + BigInt(heldIn(month));
    const isExpected = used < limitMicro && used < BigInt(budget.mostMicro);
    const reserved = await limits.reserve(key, call.id, 0, holds.of(payer, estimate));
    expect([month, used, reserved.outcome]).toEqual([month, used, isExpected ? 'admitted' : 'not-payable']);
    if (reserved.outcome === 'admitted') {
      counts.admitted += 1;
      running.push({ call, payer, estimate, month, reservation: reserved.reservation });
      return;
    }
    counts.refused += 1;
    if (reserved.outcome === 'not-payable') {
      expect(reserved.hold.name).toStartWith(used < limitMicro ? 'budget ' : 'spending ');
    }
  }

  /** One, or several in one commit, in any order; now and then a commit is sent twice. */
  async function end(count: number): Promise<void> {
    const ended = Array.from({ length: Math.min(count, running.length) }, () => {
      const [one] = running.splice(random.below(running.length), 1);
      return one as Running;
    });
    if (ended.length === 0) return;
    const result = await chargeCalls(
      database,
      ended.map(({ call }) => call),
    );
    if (random.below(4) === 0) {
      await chargeCalls(
        database,
        ended.map(({ call }) => call),
      );
    }
    for (const { call, payer, reservation } of ended) {
      await reservation.end(0, holds.levelsAfter(payer, ownCharges(result)(call)));
      const cost = BigInt(call.tokens?.completionTokens ?? 0) * priceAt(call.startedAtMs);
      const micro = (cost * BigInt(call.priceFactorMillionths ?? 1_000_000) + 10n ** 12n - 1n) / 10n ** 12n;
      charged.push({ id: call.id, startedAtMs: call.startedAtMs, micro });
    }
  }

  /** Mostly seconds; sometimes to the last or the first millisecond of a month, where the calls run on. */
  async function pass(): Promise<void> {
    const now = new Date(clock.now());
    const next = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
    const target = random.pick([clock.now() + random.below(4_000), clock.now() + 20_000, next - 1, next]);
    // In steps in which the holds of running calls are renewed.
    const isFar = target - clock.now() > 10 * MINUTE_MS;
    if (isFar && (running.length > 0 || random.below(3) > 0)) {
      await clock.advance(random.below(MINUTE_MS));
      return;
    }
    if (target > clock.now()) await clock.advance(target - clock.now());
  }

  async function change(): Promise<void> {
    const what = random.below(3);
    if (what === 0) limitMicro = BigInt(random.pick([500, 2_000, 4_000, 20_000]));
    else if (what === 1) budget = { ...budget, mostMicro: random.pick([700, 3_000, 9_000, 30_000]) };
    else {
      const price = {
        fromMs: clock.now() + 1 + random.below(3_000),
        completionMicro: BigInt(random.below(3_000_000)),
      };
      if (price.fromMs <= (prices.at(-1)?.fromMs ?? 0)) return;
      await writePrice(price.fromMs, price.completionMicro);
      prices.push(price);
    }
  }

  await writePrice(startMs - DAY_MS, prices[0]?.completionMicro ?? 0n);
  return {
    counts,
    months: () => new Set(charged.map(({ startedAtMs }) => monthOf(startedAtMs))).size,
    async step(): Promise<void> {
      const dice = random.below(10);
      if (dice < 4) await begin();
      else if (dice < 7) await end(1 + random.below(3));
      else if (dice < 9) await pass();
      else await change();
    },
    endAll: () => end(running.length),
    async compareRows(): Promise<void> {
      const total = charged.reduce((sum, { micro }) => sum + micro, 0n);
      const one = async (text: string) => [...(await database.query(text, [companyId]))];
      expect(await one('select balance_micro as balance from credit_accounts where id = $1')).toEqual([
        { balance: GRANT_MICRO - total },
      ]);
      const calls = await one(
        'select id, charge_micro as micro from calls where company_id = $1 order by id',
      );
      const expected = charged.map(({ id, micro }) => ({ id, micro }));
      expect(calls).toEqual(expected.sort((a, b) => (a.id < b.id ? -1 : 1)));
      const months = [...new Set(charged.map(({ startedAtMs }) => monthOf(startedAtMs)))].sort();
      const ofKey = await database.query(
        'select month::text as month, charge_micro as micro from key_months where key_id = $1 order by month',
        [keyId],
      );
      expect([...ofKey]).toEqual(
        months.map((month) => ({ month, micro: spentIn(month) })).filter(({ micro }) => micro !== 0n),
      );
      for (const month of months) {
        expect(await readBudgetSpending(database, companyId, budget, month)).toBe(spentIn(month));
      }
      expect(await heldCredits(companyId)).toBe(0n);
      expect((await runCheck(database, pricesCheck)).faults).toEqual([]);
    },
  };
}

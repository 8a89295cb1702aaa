import { describe, expect, test } from 'bun:test';
import { finishedCall } from '../../../../test/doubles/finished-calls.ts';
import { createManualClock } from '../../../../test/doubles/manual-clock.ts';
import { createSeededRandom } from '../../../../test/doubles/seeded-random.ts';
import { createSilentLog } from '../../../../test/doubles/silent-log.ts';
import { useMemoryDatabase } from '../../../../test/setup/use-memory-database.ts';
import { usePostgres } from '../../../../test/setup/use-postgres.ts';
import { describeServers, useRedis } from '../../../../test/setup/use-redis.ts';
import { createSystemClock } from '../../../adapters/clock/system-clock.ts';
import { createSystemSecrets } from '../../../adapters/secrets/system-secrets.ts';
import { createInProcessState } from '../../../adapters/shared-state/in-process.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Database } from '../../../ports/database.ts';
import type { SharedState } from '../../../ports/shared-state.ts';
import { addCompany } from '../../accounts/company.ts';
import { chargeCalls } from '../../calls/settlement/finished-call.ts';
import { ownCharges } from '../../calls/settlement/own-charge.ts';
import type { CallReservation } from '../../limits/call-reservation.ts';
import { createLimits } from '../../limits/limits.ts';
import { createCreditHolds, type Payer } from '../holds/holds.ts';
import { heldBudget } from './budget-levels.ts';
import { type BudgetScope, budgetsOfCall, type CallBudget, companyBudgets } from './call-budgets.ts';

const { newId } = createSystemSecrets();
const log = createSilentLog();
/** A process that died leaves its holds for so long after their last renewal. */
const HELD_MS = 90_000;
const RENEWED_EVERY_MS = 30_000;

interface Running {
  readonly id: string;
  readonly payer: Payer;
  readonly amount: number;
  readonly project: string | undefined;
  readonly endUser: string | undefined;
  readonly reservation: CallReservation;
}

/** What one process makes of calls, with the real holds, limits and charges. */
function openProcess(parts: {
  readonly database: Database;
  readonly sharedState: SharedState;
  readonly clock: Clock;
}) {
  const { database, sharedState, clock } = parts;
  const ownState = createInProcessState({ clock });
  const limits = createLimits({
    sharedState,
    ownState,
    clock,
    log,
    addressRequestsPerMinute: 0,
    countsAhead: true,
  });
  const holds = createCreditHolds({ database, clock, log });
  return {
    limits,
    begin: async (
      companyId: string,
      keyId: string,
      budgets: readonly CallBudget[],
      call: {
        readonly project?: string | undefined;
        readonly endUser?: string | undefined;
        readonly amount: number;
      },
    ) => {
      const { project, endUser, amount } = call;
      const own = budgetsOfCall(companyBudgets(budgets), { keyId, project: project ?? null, endUser });
      const payer: Payer = {
        ...{ companyId, keyId, monthlyLimitMicro: null, startedAtMs: clock.now(), userId: null },
        ...(own === undefined ? {} : { budgets: own }),
      };
      const id = newId();
      const key = {
        id: keyId,
        companyId,
        requestsPerMinute: 1e9,
        tokensPerMinute: 1e9,
        maxCallsInFlight: null,
      };
      const reserved = await limits.reserve(key, id, 0, holds.of(payer, amount));
      if (reserved.outcome === 'admitted') {
        const running: Running = { id, payer, amount, project, endUser, reservation: reserved.reservation };
        return { outcome: 'admitted' as const, running };
      }
      if (reserved.outcome !== 'not-payable') throw new Error(`not admitted: ${reserved.outcome}`);
      return { outcome: 'refused' as const, by: heldBudget(reserved.hold.name, own ?? []) };
    },
    /** Charged 8 + 4 times the completion tokens; a failed call nothing. */
    async end(call: Running, completionTokens: number | null): Promise<number> {
      const { id, payer, project, endUser } = call;
      const record = finishedCall(payer.companyId, {
        ...{
          id,
          keyId: payer.keyId,
          startedAtMs: payer.startedAtMs,
          budgets: payer.budgets,
          project,
          endUser,
        },
        ...(completionTokens === null
          ? { outcome: 'FAILED' as const, tokens: null }
          : { tokens: { promptTokens: 10, cachedTokens: 4, completionTokens } }),
      });
      const charged = ownCharges(await chargeCalls(database, [record]))(record);
      await call.reservation.end(null, holds.levelsAfter(payer, charged));
      return completionTokens === null ? 0 : 8 + 4 * completionTokens;
    },
  };
}

async function newCompany(database: Database): Promise<string> {
  const id = newId();
  await addCompany(database, { id, name: 'Acme', billingMode: 'POSTPAID' });
  await database.query('update credit_accounts set line_micro = null where id = $1', [id]);
  return id;
}

function budgetOf(scope: BudgetScope, subject: string, mostMicro: number): CallBudget {
  return { id: newId(), scope, subject, mostMicro, isHard: true };
}

/** Of a call whose process ends now. */
function endOfHold({ payer: { startedAtMs } }: Running, nowMs: number): number {
  const renewals = Math.floor((nowMs - startedAtMs) / RENEWED_EVERY_MS);
  return startedAtMs + renewals * RENEWED_EVERY_MS + HELD_MS;
}

/** For every subject of the call, whether it has a budget now or gets one later. */
function count(spent: Map<string, number>, { payer, project, endUser }: Running, cost: number): void {
  const subjects = [
    ['COMPANY', ''],
    ['KEY', payer.keyId],
    ['PROJECT', project],
    ['END_USER', endUser],
  ] as const;
  for (const [scope, subject] of subjects) {
    if (subject == null) continue;
    const name = `${scope} ${subject} ${monthOf(payer.startedAtMs)}`;
    spent.set(name, (spent.get(name) ?? 0) + cost);
  }
}

const nameOf = ({ scope, subject }: CallBudget, atMs: number) => `${scope} ${subject} ${monthOf(atMs)}`;
const monthOf = (atMs: number) => new Date(atMs).toISOString().slice(0, 7);

describe('budgets, in any order of calls, months and restarts', () => {
  const database = useMemoryDatabase();
  const SEEDS = 12;
  const STEPS = 60;
  const USERS = ['ada', 'bob', undefined];
  const PROJECTS = ['web', undefined];

  /**
   * Against a model: a call begins if and only if what each of its budgets has spent in its month and what its running calls
   * hold is below the budget.
   */
  async function play(seed: number): Promise<{ readonly refused: number; readonly months: number }> {
    const random = createSeededRandom(seed);
    const clock = createManualClock(Date.UTC(2030, 0, 31, 23, 59, 30));
    const sharedState = createInProcessState({ clock });
    let life = { isOver: false };
    /** The timers of a process end with it. */
    const open = () => {
      const own = { isOver: false };
      life = own;
      const after: Clock['after'] = (ms, work) => clock.after(ms, () => own.isOver || work());
      return openProcess({ database, sharedState, clock: { ...clock, after } });
    };
    let process = open();
    const companyId = await newCompany(database);
    const keys = [newId(), newId()];
    let budgets: CallBudget[] = [
      budgetOf('COMPANY', '', 1_000 + random.below(4_000)),
      budgetOf('PROJECT', 'web', random.below(2_000)),
      budgetOf('KEY', keys[0] ?? '', random.below(2_000)),
      budgetOf('END_USER', 'ada', random.below(1_000)),
      budgetOf('END_USER', '*', random.below(1_000)),
    ].filter(() => random.below(4) > 0);
    let running: Running[] = [];
    let lost: { readonly call: Running; readonly untilMs: number }[] = [];
    const spent = new Map<string, number>();
    const months = new Set<string>();
    let refused = 0;

    const usedOf = (budget: CallBudget, atMs: number) => {
      const name = nameOf(budget, atMs);
      const holding = [...running, ...lost.map(({ call }) => call)].filter(({ payer }) =>
        payer.budgets?.some((one) => nameOf(one, payer.startedAtMs) === name),
      );
      return holding.reduce((sum, { amount }) => sum + amount, spent.get(name) ?? 0);
    };
    for (let step = 0; step < STEPS; step += 1) {
      const choice = random.below(100);
      if (choice < 60) {
        const [keyId, nowMs] = [random.pick(keys), clock.now()];
        const call = {
          project: random.pick(PROJECTS),
          endUser: random.pick(USERS),
          amount: 1 + random.below(400),
        };
        const own = budgetsOfCall(companyBudgets(budgets), {
          ...{ keyId, project: call.project ?? null, endUser: call.endUser },
        });
        const full = (own ?? []).filter((budget) => usedOf(budget, nowMs) >= budget.mostMicro);
        const begun = await process.begin(companyId, keyId, budgets, call);
        const was = `seed ${seed}, step ${step}`;
        if (begun.outcome === 'admitted') {
          expect(full, `${was}: begun though a budget is used up`).toEqual([]);
          running.push(begun.running);
          months.add(monthOf(nowMs));
        } else {
          refused += 1;
          expect(begun.by, `${was}: refused by`).toEqual(full[0] ?? null);
        }
      } else if (choice < 85) {
        const call = running.splice(random.below(running.length), 1)[0];
        if (call !== undefined) {
          count(spent, call, await process.end(call, random.below(4) === 0 ? null : random.below(120)));
        }
      } else if (choice < 93) {
        await clock.advance(random.below(20_000));
      } else if (choice < 96 && budgets.length > 0) {
        // An admin changes one, up or down.
        const at = random.below(budgets.length);
        budgets = budgets.map((one, place) =>
          place === at ? { ...one, mostMicro: random.below(3_000) } : one,
        );
      } else {
        // The process is killed: its calls end nowhere, what they hold ends by itself.
        life.isOver = true;
        lost.push(...running.map((call) => ({ call, untilMs: endOfHold(call, clock.now()) })));
        running = [];
        process = open();
      }
      lost = lost.filter(({ untilMs }) => clock.now() < untilMs);
    }
    return { refused, months: months.size };
  }

  test('no call begins once a budget is used up, and none is refused before', async () => {
    let [refused, months] = [0, 0];
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const played = await play(seed);
      refused += played.refused;
      months = Math.max(months, played.months);
    }
    expect(refused).toBeGreaterThan(SEEDS * 3);
    expect(months).toBe(2);
  });
});

describeServers('budgets of several processes on PostgreSQL and Redis', () => {
  const database = usePostgres();
  const redis = useRedis();
  const AMOUNT = 48;

  test('calls at once, by several keys, begin only while the budget of their end user covers them', async () => {
    const clock = createSystemClock();
    const prefix = redis.newPrefix();
    const states = await Promise.all([
      redis.open({ prefix }),
      redis.open({ prefix }),
      redis.open({ prefix }),
    ]);
    const processes = states.map((sharedState) => openProcess({ database, sharedState, clock }));
    const companyId = await newCompany(database);
    const keys = [newId(), newId(), newId(), newId()];
    const budgets = [budgetOf('END_USER', '*', AMOUNT * 10), budgetOf('COMPANY', '', AMOUNT * 25)];
    const begin = (n: number, endUser: string) =>
      processes[n % processes.length]?.begin(companyId, keys[n % keys.length] ?? '', budgets, {
        ...{ endUser, amount: AMOUNT },
      });
    const wave = async (endUser: string, calls: number) => {
      const begun = await Promise.all(Array.from({ length: calls }, (_, n) => begin(n, endUser)));
      return begun.flatMap((one) => (one?.outcome === 'admitted' ? [one.running] : []));
    };
    const ofAda = await wave('ada', 40);
    expect(ofAda).toHaveLength(10);
    const ofBob = await wave('bob', 40);
    expect(ofBob).toHaveLength(10);
    expect(await begin(0, 'ada')).toMatchObject({ outcome: 'refused', by: { scope: 'END_USER' } });
    // Five more are left in the company's budget, whoever they are for.
    const ofCy = await wave('cy', 40);
    expect(ofCy).toHaveLength(5);
    expect(await begin(1, 'dee')).toMatchObject({ outcome: 'refused', by: { scope: 'COMPANY' } });
    const all = [...ofAda, ...ofBob];
    await Promise.all(all.map((call, n) => processes[n % processes.length]?.end(call, 10)));
    // A call that fails gives back what it held, and spends nothing.
    await Promise.all(ofCy.map((call, n) => processes[n % processes.length]?.end(call, null)));
    // Each of the others cost exactly what it held.
    expect(await begin(2, 'ada')).toMatchObject({ outcome: 'refused', by: { scope: 'END_USER' } });
    const [spent] = await database.query<{ spent: bigint }>(
      "select charge_micro as spent from subject_months where company_id = $1 and subject = 'ada'",
      [companyId],
    );
    expect(spent?.spent).toBe(BigInt(AMOUNT * 10));
  });
});

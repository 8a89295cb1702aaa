import { describe, expect, test } from 'bun:test';
import { finishedCall } from '../../../../test/doubles/finished-calls.ts';
import { createManualClock } from '../../../../test/doubles/manual-clock.ts';
import { createSeededRandom } from '../../../../test/doubles/seeded-random.ts';
import { createSilentLog } from '../../../../test/doubles/silent-log.ts';
import { useDatabase } from '../../../../test/setup/use-database.ts';
import { createSystemClock } from '../../../adapters/clock/system-clock.ts';
import { createSystemSecrets } from '../../../adapters/secrets/system-secrets.ts';
import { createInProcessState } from '../../../adapters/shared-state/in-process.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Database } from '../../../ports/database.ts';
import type { SharedState } from '../../../ports/shared-state.ts';
import { addCompany } from '../../accounts/company.ts';
import { chargeCalls } from '../../calls/settlement/charge-calls.ts';
import type { FinishedCall } from '../../calls/settlement/finished-call.ts';
import { ownCharges } from '../../calls/settlement/own-charge.ts';
import { spendingKeyId } from '../../keys/api-key.ts';
import { rotateKey } from '../../keys/key-lifecycle.ts';
import { mintKey } from '../../keys/mint-key.ts';
import type { CallReservation } from '../../limits/call-reservation.ts';
import { createLimits } from '../../limits/limits.ts';
import { createCreditHolds, type Payer } from '../holds/holds.ts';
import { heldBudget } from './budget-levels.ts';
import { type BudgetScope, budgetsOfCall, type CallBudget, companyBudgets } from './call-budgets.ts';

const secrets = createSystemSecrets();
const { newId } = secrets;
const log = createSilentLog();
/** A process that died leaves its holds for so long after their last renewal. */
const HELD_MS = 90_000;
const RENEWED_EVERY_MS = 30_000;

/** What is known of a key; those that it was rotated from and to have the same root. */
interface TestKey {
  readonly id: string;
  readonly rootId: string;
  readonly limitMicro: number | null;
}

interface Running {
  readonly id: string;
  readonly key: TestKey;
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
      testKey: TestKey,
      budgets: readonly CallBudget[],
      call: {
        readonly project?: string | undefined;
        readonly endUser?: string | undefined;
        readonly amount: number;
      },
    ) => {
      const { project, endUser, amount } = call;
      const { id: keyId, rootId, limitMicro } = testKey;
      const own = budgetsOfCall(companyBudgets(budgets), {
        ...{ keyId: rootId, project: project ?? null, endUser },
      });
      const monthlyLimitMicro = limitMicro === null ? null : BigInt(limitMicro);
      const payer: Payer = {
        ...{ companyId, keyId, monthlyLimitMicro, startedAtMs: clock.now(), userId: null },
        ...(rootId === keyId ? {} : { spendingKeyId: rootId }),
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
        const running = { id, key: testKey, payer, amount, project, endUser };
        return {
          outcome: 'admitted' as const,
          running: { ...running, reservation: reserved.reservation } as Running,
        };
      }
      if (!('hold' in reserved)) throw new Error(`not admitted: ${reserved.outcome}`);
      const { name } = reserved.hold;
      const by = name.startsWith('spending ') ? ('limit' as const) : heldBudget(name, own ?? []);
      return { outcome: 'refused' as const, by };
    },
    /** In one commit. */
    async end(ended: readonly Ended[]): Promise<void> {
      const records = ended.map(recordOf);
      const chargesOf = ownCharges(await chargeCalls(database, records));
      for (const [at, { call }] of ended.entries()) {
        const record = records[at];
        if (record === undefined) throw new Error('a call has no record');
        await call.reservation.end(null, holds.levelsAfter(call.payer, chargesOf(record)));
      }
    },
  };
}

interface Ended {
  readonly call: Running;
  /** Null: it failed. */
  readonly completionTokens: number | null;
}

function recordOf({ call: { id, payer, project, endUser }, completionTokens }: Ended): FinishedCall {
  const { keyId, startedAtMs, budgets, monthlyLimitMicro } = payer;
  return finishedCall(payer.companyId, {
    ...{ id, keyId, startedAtMs, budgets, monthlyLimitMicro, project, endUser },
    ...(completionTokens === null
      ? { outcome: 'FAILED' as const, tokens: null }
      : { tokens: { promptTokens: 10, cachedTokens: 4, completionTokens } }),
  });
}

/** 8 and 4 times the completion tokens; a failed call costs nothing. */
function costOf({ completionTokens }: Ended): number {
  return completionTokens === null ? 0 : 8 + 4 * completionTokens;
}

async function newCompany(database: Database): Promise<string> {
  const id = newId();
  await addCompany(database, { id, name: 'Acme', billingMode: 'POSTPAID' });
  await database.query('update credit_accounts set line_micro = null where id = $1', [id]);
  return id;
}

async function newKey(database: Database, companyId: string, limitMicro: number | null): Promise<TestKey> {
  const monthlySpendingLimitMicro = limitMicro === null ? null : BigInt(limitMicro);
  const wanted = { companyId, name: 'key', createdBy: null, monthlySpendingLimitMicro };
  const minted = await mintKey({ database, secrets, clock: createSystemClock() }, wanted);
  if (minted.outcome !== 'minted') throw new Error(minted.outcome);
  return { id: minted.key.id, rootId: minted.key.id, limitMicro };
}

async function rotated(database: Database, companyId: string, old: TestKey, clock: Clock): Promise<TestKey> {
  const made = await rotateKey({ database, clock, secrets }, { companyId, keyId: old.id, createdBy: null });
  if (made.outcome !== 'rotated') throw new Error(made.outcome);
  expect(spendingKeyId(made.key)).toBe(old.rootId);
  return { ...old, id: made.key.id };
}

function budgetOf(scope: BudgetScope, subject: string, mostMicro: number): CallBudget {
  return { id: newId(), scope, subject, mostMicro, isHard: true };
}

/** Of a call whose process ends now. */
function endOfHold({ payer: { startedAtMs } }: Running, nowMs: number): number {
  const renewals = Math.floor((nowMs - startedAtMs) / RENEWED_EVERY_MS);
  return startedAtMs + renewals * RENEWED_EVERY_MS + HELD_MS;
}

/** What is held and spent, by whom: every subject of a call, whether it has a budget now or gets one later. */
function createModel() {
  const running: Running[] = [];
  let lost: { readonly call: Running; readonly untilMs: number }[] = [];
  const spent = new Map<string, number>();
  const used = (name: string, isOf: (call: Running) => boolean) =>
    [...running, ...lost.map(({ call }) => call)]
      .filter(isOf)
      .reduce((sum, { amount }) => sum + amount, spent.get(name) ?? 0);
  return {
    running,
    /** What refuses such a call now; null where it may begin. */
    refusalOf(
      key: TestKey,
      budgets: readonly CallBudget[],
      { project, endUser }: Pick<Running, 'project' | 'endUser'>,
      atMs: number,
    ): CallBudget | 'limit' | null {
      const month = monthOf(atMs);
      const isOfKey = (call: Running) =>
        call.key.rootId === key.rootId && monthOf(call.payer.startedAtMs) === month;
      if (key.limitMicro !== null && used(`KEY ${key.rootId} ${month}`, isOfKey) >= key.limitMicro)
        return 'limit';
      const call = { keyId: key.rootId, project: project ?? null, endUser };
      const isUsedUp = (budget: CallBudget) => {
        const name = nameOf(budget, atMs);
        const isHeldFor = ({ payer }: Running) =>
          payer.budgets?.some((one) => nameOf(one, payer.startedAtMs) === name) === true;
        return used(name, isHeldFor) >= budget.mostMicro;
      };
      return budgetsOfCall(companyBudgets(budgets), call)?.find(isUsedUp) ?? null;
    },
    count(ended: Ended): void {
      const { payer, key, project, endUser } = ended.call;
      const subjects = [
        ['COMPANY', ''],
        ['KEY', key.rootId],
        ['PROJECT', project],
        ['END_USER', endUser],
      ] as const;
      for (const [scope, subject] of subjects) {
        if (subject == null) continue;
        const name = `${scope} ${subject} ${monthOf(payer.startedAtMs)}`;
        spent.set(name, (spent.get(name) ?? 0) + costOf(ended));
      }
    },
    loseRunning(nowMs: number): void {
      lost.push(...running.splice(0).map((call) => ({ call, untilMs: endOfHold(call, nowMs) })));
    },
    releaseLost(nowMs: number): void {
      lost = lost.filter(({ untilMs }) => nowMs < untilMs);
    },
  };
}

function drawBudgets(random: ReturnType<typeof createSeededRandom>, keys: readonly TestKey[]): CallBudget[] {
  return [
    budgetOf('COMPANY', '', 1_000 + random.below(4_000)),
    budgetOf('PROJECT', 'web', random.below(2_000)),
    budgetOf('KEY', random.pick(keys).id, random.below(2_000)),
    budgetOf('END_USER', 'ada', random.below(1_000)),
    budgetOf('END_USER', '*', random.below(1_000)),
  ].filter(() => random.below(4) > 0);
}

/** Of the keys that have one: they are rotated from each other. */
function changeLimits(keys: TestKey[], limitMicro: number): void {
  for (const [at, one] of keys.entries()) if (one.limitMicro !== null) keys[at] = { ...one, limitMicro };
}

const nameOf = ({ scope, subject }: CallBudget, atMs: number) => `${scope} ${subject} ${monthOf(atMs)}`;
const monthOf = (atMs: number) => new Date(atMs).toISOString().slice(0, 7);

describe('budgets, in any order of calls, months and restarts', () => {
  const database = useDatabase();
  const SEEDS = 12;
  const STEPS = 60;
  const USERS = ['ada', 'bob', undefined];
  const PROJECTS = ['web', undefined];
  /** The end of a month, of a year, of a February, and the day before a leap day. */
  const STARTS = ['2030-01-31', '2029-12-31', '2027-02-28', '2028-02-28'];

  /**
   * Against a model: a call begins if and only if what each of its budgets has spent in its month and what its running calls
   * hold is below the budget, and the same of its key's own limit. A key counts with those that it was rotated from and to.
   */
  async function play(seed: number) {
    const random = createSeededRandom(seed);
    const clock = createManualClock(Date.parse(`${STARTS[seed % STARTS.length]}T23:59:30Z`));
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
    const keys = [
      await newKey(database, companyId, 500 + random.below(2_000)),
      await newKey(database, companyId, null),
    ];
    let budgets = drawBudgets(random, keys);
    const model = createModel();
    const { running } = model;
    const months = new Set<string>();
    const refused = { all: 0, byRotatedKeys: 0 };
    for (let step = 0; step < STEPS; step += 1) {
      const choice = random.below(100);
      if (choice < 60) {
        const [key, nowMs] = [random.pick(keys), clock.now()];
        const call = {
          project: random.pick(PROJECTS),
          endUser: random.pick(USERS),
          amount: 1 + random.below(400),
        };
        const expected = model.refusalOf(key, budgets, call, nowMs);
        const begun = await process.begin(companyId, key, budgets, call);
        const was = `seed ${seed}, step ${step}`;
        if (begun.outcome === 'admitted') {
          expect(expected, `${was}: begun though something is used up`).toBeNull();
          running.push(begun.running);
          months.add(monthOf(nowMs));
        } else {
          refused.all += 1;
          if (keys.length > 2 && (begun.by === 'limit' || begun.by?.scope === 'KEY'))
            refused.byRotatedKeys += 1;
          expect(begun.by, `${was}: refused by`).toEqual(expected);
        }
      } else if (choice < 85) {
        const ended = running
          .splice(random.below(running.length), 1 + random.below(3))
          .map(
            (call): Ended => ({ call, completionTokens: random.below(4) === 0 ? null : random.below(120) }),
          );
        if (ended.length > 0) await process.end(ended);
        for (const one of ended) model.count(one);
      } else if (choice < 90) {
        keys.push(await rotated(database, companyId, random.pick(keys), clock));
      } else if (choice < 93) {
        await clock.advance(random.below(20_000));
      } else if (choice < 94) {
        changeLimits(keys, 500 + random.below(2_000));
      } else if (choice < 97 && budgets.length > 0) {
        // An admin changes one, up or down.
        const at = random.below(budgets.length);
        budgets = budgets.map((one, place) =>
          place === at ? { ...one, mostMicro: random.below(3_000) } : one,
        );
      } else {
        // The process is killed: its calls end nowhere, what they hold ends by itself.
        life.isOver = true;
        model.loseRunning(clock.now());
        process = open();
      }
      model.releaseLost(clock.now());
    }
    return { refused, months: months.size };
  }

  test('no call starts once a budget is used up, and none is refused before', async () => {
    const seen = { refused: 0, byRotatedKeys: 0, months: 0 };
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const { refused, months } = await play(seed);
      seen.refused += refused.all;
      seen.byRotatedKeys += refused.byRotatedKeys;
      seen.months = Math.max(seen.months, months);
    }
    expect(seen.refused).toBeGreaterThan(SEEDS * 3);
    expect(seen.byRotatedKeys).toBeGreaterThan(SEEDS);
    expect(seen.months).toBe(2);
  });
});

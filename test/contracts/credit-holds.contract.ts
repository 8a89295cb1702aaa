import { expect, test } from 'bun:test';
import { createCreditHolds, createHeldCredits } from '../../src/domain/credits/holds/holds.ts';
import { publishLevel } from '../../src/domain/credits/ledger/credit-account.ts';
import type { CallReservation } from '../../src/domain/limits/call-reservation.ts';
import { createLimits } from '../../src/domain/limits/limits.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Statements } from '../../src/ports/database.ts';
import type { SharedState } from '../../src/ports/shared-state.ts';
import { createManualClock, type ManualClock } from '../doubles/manual-clock.ts';
import { createSeededRandom } from '../doubles/seeded-random.ts';
import { createSilentLog } from '../doubles/silent-log.ts';

const HELD_MS = 90_000;
const RENEWED_EVERY_MS = 30_000;
const MOST_ESTIMATE = 100;

interface RunningCall {
  readonly id: string;
  readonly process: number;
  readonly estimate: number;
  readonly reservation: CallReservation;
  /** What its commit took, once it is committed; its hold may live on for a while. */
  charged: number | null;
  /** When the hold of a killed process ends at the latest; it may have been renewed long before. */
  diesAtMs: number | null;
}

/** A state for the test, whose time moves with the clock given. */
type HoldsState = (clock: ManualClock) => Promise<{ state: SharedState; advance(ms: number): void }>;

/**
 * Random calls, ends, kills, top-ups and late messages on several processes that share one state, against a model of
 * what is held. Costs never exceed estimates here, so the balance less what runs never falls below minus one
 * estimate.
 */
export function holdsSimulation(
  name: string,
  openState: HoldsState,
  seeds: readonly number[],
  steps: number,
) {
  for (const seed of seeds) {
    test(`G-29 ${name}: the limit is never exceeded, a single call never refused, nothing held at the end (seed ${seed})`, async () => {
      const world = await createWorld(openState, seed);
      for (let step = 0; step < steps; step += 1) await world.step();
      await world.endAll();
      expect(await world.held()).toBe(0);
      expect(world.counts.admitted).toBeGreaterThan(steps / 20);
      expect(world.counts.refused).toBeGreaterThan(0);
    });
  }
}

async function createWorld(openState: HoldsState, seed: number) {
  const random = createSeededRandom(seed);
  const clock = createManualClock();
  const { state, advance } = await openState(clock);
  const companyId = `company-${seed}-${clock.now()}-${random.text(8)}`;
  const account = { balance: 0, version: 0 };
  const level = () => ({
    accountId: companyId,
    balanceMicro: BigInt(account.balance),
    lineMicro: 0n,
    version: BigInt(account.version),
  });
  const database = { query: async () => [level()] } as unknown as Statements;
  const holds = createCreditHolds({ database, clock, log: createSilentLog() });
  const processes = [0, 1, 2].map(() => startProcess(clock, state));
  const calls = new Map<string, RunningCall>();
  const untold: ReturnType<typeof level>[] = [];
  const counts = { admitted: 0, refused: 0, calls: 0 };
  const payer = { companyId, keyId: null, monthlyLimitMicro: null, startedAtMs: 0, userId: null };
  const key = { id: 'key', companyId, requestsPerMinute: 1e9, tokensPerMinute: 1e9, maxCallsInFlight: null };

  const living = () =>
    [...calls.values()].filter(({ diesAtMs }) => diesAtMs === null || diesAtMs > clock.now());
  const isSurelyHeld = ({ diesAtMs }: RunningCall) =>
    diesAtMs === null || diesAtMs - RENEWED_EVERY_MS > clock.now();
  const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);
  const some = (wanted: (call: RunningCall) => boolean) => {
    const found = living().filter((call) => call.diesAtMs === null && wanted(call));
    return found.length === 0 ? null : random.pick(found);
  };

  async function start(): Promise<void> {
    const at = random.below(processes.length);
    const id = `call-${counts.calls}`;
    counts.calls += 1;
    const estimate = 1 + random.below(MOST_ESTIMATE);
    const heldBefore = sum(living().map((call) => call.estimate));
    const surelyHeld = sum(
      living()
        .filter(isSurelyHeld)
        .map((call) => call.estimate),
    );
    const unreleased = sum(living().map(({ charged }) => charged ?? 0));
    const reserved = await processes[at]?.limits.reserve(key, id, 0, holds.of(payer, estimate));
    if (reserved?.outcome === 'admitted') {
      counts.admitted += 1;
      const { reservation } = reserved;
      expect(account.balance + unreleased - surelyHeld).toBeGreaterThan(0);
      calls.set(id, { id, process: at, estimate, reservation, charged: null, diesAtMs: null });
    } else {
      counts.refused += 1;
      expect(['held', 'not-payable']).toContain(reserved?.outcome ?? '');
      // So a lone call, with nothing held, is refused only where there is nothing left.
      if (untold.length === 0) expect(account.balance - heldBefore).toBeLessThanOrEqual(0);
    }
    const uncommitted = living().filter(({ charged, diesAtMs }) => charged === null && diesAtMs === null);
    expect(account.balance - sum(uncommitted.map((call) => call.estimate))).toBeGreaterThan(-MOST_ESTIMATE);
  }

  function commit(call: RunningCall): void {
    call.charged = random.below(call.estimate + 1);
    if (call.charged === 0) return;
    account.balance -= call.charged;
    account.version += 1;
  }

  /** The level that the commit returned may be old by the time it is published. */
  async function release(call: RunningCall): Promise<void> {
    await call.reservation.end(0, holds.levelsAfter(payer, { level: level(), spending: null }));
    calls.delete(call.id);
  }

  async function journal(call: RunningCall): Promise<void> {
    const committed = Promise.withResolvers<void>();
    await call.reservation.end(
      0,
      committed.promise.then(() => holds.levelsAfter(payer, { level: level(), spending: null })),
    );
    if (random.below(2) === 0) await pass(20_000);
    if (call.diesAtMs !== null) return;
    commit(call);
    committed.resolve();
    await until(async () => !(await isHeld(call)));
    calls.delete(call.id);
  }

  const isHeld = async (call: RunningCall) =>
    (await held()) >
    sum(
      living()
        .filter((one) => one !== call)
        .map(({ estimate }) => estimate),
    );
  const heldCredits = createHeldCredits({ sharedState: state, log: createSilentLog() });
  const held = async () => Number(await heldCredits(companyId));

  function kill(at: number): void {
    processes[at]?.kill();
    processes[at] = startProcess(clock, state);
    for (const call of calls.values()) {
      if (call.process === at && call.diesAtMs === null) call.diesAtMs = clock.now() + HELD_MS + 1;
    }
  }

  async function pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 10_000) {
      const slice = Math.min(left, 10_000);
      advance(slice);
      await clock.advance(slice);
    }
  }

  async function step(): Promise<void> {
    const call = some(() => true);
    const committed = some(({ charged }) => charged !== null);
    switch (random.below(12)) {
      case 0:
        account.balance += random.below(110);
        account.version += 1;
        untold.push(level());
        return;
      case 1:
      case 2: {
        const [late] = untold.splice(random.below(untold.length), 1);
        if (late !== undefined) await publishLevel(state, late);
        return;
      }
      case 3:
        return await pass(random.below(30_000));
      case 4:
        if (random.below(4) === 0) kill(random.below(processes.length));
        return;
      case 5:
        if (call?.charged === null) commit(call);
        return;
      case 6:
        if (committed !== null) await release(committed);
        return;
      case 7:
        if (call?.charged === null) await journal(call);
        return;
      case 8:
        if (call?.charged === null) {
          await call.reservation.end(null, []);
          calls.delete(call.id);
        }
        return;
      default:
        return await start();
    }
  }

  async function endAll(): Promise<void> {
    for (const call of [...calls.values()]) if (call.diesAtMs === null) await release(call);
    await pass(HELD_MS + 1_000);
  }

  return { step, endAll, held, counts };
}

/** With a clock of its own, whose timers die with it. */
function startProcess(clock: ManualClock, sharedState: SharedState) {
  let isDead = false;
  const own: Clock = {
    ...clock,
    after: (delayMs, work) => clock.after(delayMs, () => (isDead ? undefined : work())),
  };
  const parts = { sharedState, ownState: sharedState, clock: own, log: createSilentLog() };
  const limits = createLimits({ ...parts, addressRequestsPerMinute: 0 });
  return {
    limits,
    kill: () => {
      isDead = true;
    },
  };
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  for (let turn = 0; turn < 1_000; turn += 1) {
    if (await holds()) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error('a hold was not given back');
}

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  type PausableRedis,
  startPausableRedis,
} from '../../../test/adapters/shared-state/pausable-redis.ts';
import { createSilentLog } from '../../../test/doubles/silent-log.ts';
import { until } from '../../../test/doubles/until.ts';
import { createSystemClock } from '../../adapters/clock/system-clock.ts';
import { createInProcessState } from '../../adapters/shared-state/in-process.ts';
import { openRedisState } from '../../adapters/shared-state/redis.ts';
import type { SharedState } from '../../ports/shared-state.ts';
import type { CreditHold, HeldLevel } from './claims.ts';
import { createLimits, type Limits } from './limits.ts';

const isInstalled = Bun.which('redis-server') !== null;
if (!isInstalled && process.env.CI)
  throw new Error('these tests need redis-server on the PATH: install Redis');

const PROCESSES = 4;
/** Each call costs exactly what it holds. */
const COST = 10;
/** The bound holds where every process answers in time: a busy machine gets as much more of it. */
const SLOWER = 5;
/** How many calls are admitted before everything is lost: twice in a row, then after a while again. */
const ADMITTED_BETWEEN_FLUSHES = [60, 4];

describe.skipIf(!isInstalled)(
  'G-29 Redis loses its content under load (skipped without redis-server)',
  () => {
    const system = createSystemClock();
    const clock: typeof system = {
      ...system,
      after: (delayMs, work) => system.after(delayMs * SLOWER, work),
    };
    const log = createSilentLog();
    let server: PausableRedis;
    const opened: SharedState[] = [];
    beforeAll(async () => {
      server = await startPausableRedis();
    });
    afterAll(async () => {
      for (const state of opened) await state.close();
      await server.remove();
    });

    async function openProcesses(): Promise<readonly Limits[]> {
      const all: Limits[] = [];
      for (let made = 0; made < PROCESSES; made += 1) {
        // Far above what a busy machine takes: a step that times out is counted by its process alone, which is not tested here.
        const sharedState = await openRedisState({ url: server.url, log, timeoutMs: 30_000 });
        opened.push(sharedState);
        const ownState = createInProcessState({ clock });
        const limits = createLimits({ sharedState, ownState, clock, log, addressRequestsPerMinute: 0 });
        await limits.listen(crypto.randomUUID());
        all.push(limits);
      }
      return all;
    }

    /** A company whose calls are as many as it may run, each for some tens of milliseconds, on all processes at once. */
    function companyOf(processes: readonly Limits[], affordable: number) {
      const account = { balance: affordable * COST, version: 1 };
      const companyId = crypto.randomUUID();
      const level = (): HeldLevel => {
        return { name: 'balance', value: account.balance, version: account.version, ttlMs: 600_000 };
      };
      const hold: CreditHold = {
        ...{ name: 'balance', level: 'balance', amount: COST, maxAgeMs: 5_000, graceMs: 600_000 },
        read: async () => level(),
      };
      const key = {
        id: companyId,
        companyId,
        requestsPerMinute: 1e9,
        tokensPerMinute: 1e9,
        maxCallsInFlight: 1e6,
      };
      const seen = { admitted: 0, unknown: 0 };

      async function call(limits: Limits, runsMs: number): Promise<void> {
        const reserved = await limits.reserve(key, crypto.randomUUID(), 0, [hold]);
        if (reserved.outcome === 'unknown-level') seen.unknown += 1;
        if (reserved.outcome !== 'admitted') return;
        seen.admitted += 1;
        await Bun.sleep(runsMs);
        account.balance -= COST;
        account.version += 1;
        await reserved.reservation.end(0, [level()]);
      }
      async function client(limits: Limits, at: number): Promise<void> {
        while (account.balance > 0) {
          await call(limits, (100 + at * 10) * SLOWER);
          await Bun.sleep(5);
        }
      }
      return {
        account,
        seen,
        /** Thirty clients of every process, each with a call after the other, until the money is gone. */
        async spendAll(): Promise<void> {
          await Promise.all(
            processes.flatMap((limits) => Array.from({ length: 30 }, (_, at) => client(limits, at))),
          );
        },
      };
    }

    test('FLUSHALL, repeated: the overdraft is at most one call, as if nothing had been lost', async () => {
      const processes = await openProcesses();
      const company = companyOf(processes, 300);
      const spending = company.spendAll();
      let flushes = 0;
      while (company.account.balance > 0) {
        const next = company.seen.admitted + (ADMITTED_BETWEEN_FLUSHES[flushes % 2] ?? 0);
        await until(() => company.seen.admitted >= next || company.account.balance <= 0);
        await server.command('FLUSHALL');
        flushes += 1;
      }
      await spending;
      const restored = processes.reduce((sum, limits) => sum + limits.restoredHolds(), 0);
      console.log(
        `${flushes} flushes, ${restored} holds restored, balance ${company.account.balance} of 3000 left`,
      );
      expect(flushes).toBeGreaterThan(1);
      expect(restored).toBeGreaterThan(0);
      expect(company.account.balance).toBeGreaterThan(-2 * COST);
      expect(company.seen.unknown).toBe(0);
    });
  },
);

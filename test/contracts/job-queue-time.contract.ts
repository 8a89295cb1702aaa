import { expect, test } from 'bun:test';
import type { Job } from '../../src/ports/job-queue.ts';
import { until } from '../doubles/until.ts';
import { defineOwn, type TimedJobQueue } from './job-queue-probes.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** What depends on time, which here passes only when the test says so. */
export function timeContract(given: () => TimedJobQueue): void {
  delaysAreKept(given);
  cronLinesEnqueue(given);
  oldJobsAreRemoved(given);
}

function delaysAreKept(given: () => TimedJobQueue): void {
  test('retry delays double each time, with jitter, up to the maximum', async () => {
    const { queue, clock } = given();
    const name = await defineOwn(queue, { retries: 3, retryDelaySeconds: 10, retryDelayMaxSeconds: 35 });
    let attempts = 0;
    await queue.work(name, { concurrency: 1 }, async () => {
      attempts += 1;
      throw new Error('again');
    });
    await queue.enqueue(name, {});
    const delays: number[] = [];
    for (let tries = 1; tries <= 3; tries += 1) {
      await until(async () => attempts === tries && (await queue.counts(name)).waiting === 1);
      const failedAt = clock.now();
      while (attempts === tries && clock.now() < failedAt + 60_000) await clock.tick(500);
      delays.push((clock.now() - failedAt) / 1000);
    }
    await until(async () => (await queue.counts(name)).dead === 1);
    expect(delays[0]).toBeWithin(10, 20.6);
    expect(delays[1]).toBeWithin(20, 35.6);
    expect(delays[2]).toBeWithin(35, 35.6);
    expect(await queue.counts(name)).toEqual({ waiting: 0, active: 0, dead: 1 });
  });

  test('a job with a start time begins then and not before, also when enqueued in a transaction', async () => {
    const { queue, clock, under } = given();
    const name = await defineOwn(queue);
    const done: unknown[] = [];
    await queue.work(name, { concurrency: 1 }, async (job) => void done.push(job.data.n));
    await queue.enqueue(name, { n: 1 }, { startAfter: new Date(clock.now() + 3_000) });
    await under.database.transaction(async (within) => {
      await queue.enqueue(name, { n: 2 }, { within, startAfter: new Date(clock.now() + 5_000) });
    });
    // Jobs that are due at once are enqueued last, so the others would begin first if they were due as well.
    await queue.enqueue(name, { n: 'at 0 s' });
    await until(() => done.length === 1);
    await clock.tick(2_900);
    await queue.enqueue(name, { n: 'at 2.9 s' });
    await until(() => done.length === 2);
    expect(done).toEqual(['at 0 s', 'at 2.9 s']);
    await clock.tick(200);
    await until(() => done.length === 3);
    await clock.tick(2_000);
    await until(() => done.length === 4);
    expect(done.slice(2)).toEqual([1, 2]);
  });
}

function cronLinesEnqueue(given: () => TimedJobQueue): void {
  test('a cron schedule enqueues once for all processes, and can be replaced and removed', async () => {
    const { queue, other, clock } = given();
    const name = await defineOwn(queue);
    await defineOwn(other, { name });
    await queue.schedule(name, '* * * * *', { v: 'old' });
    await other.schedule(name, '* * * * *', { v: 'new' });
    const runs: Job[] = [];
    await queue.work(name, { concurrency: 2 }, async (job) => void runs.push(job));
    const isEmpty = async () => Bun.deepEquals(await queue.counts(name), { waiting: 0, active: 0, dead: 0 });
    for (let minute = 1; minute <= 6; minute += 1) {
      await clock.tick(60_000);
      // A pass looks back one minute, so what is due at either end may be in or out.
      await until(() => runs.length >= minute - 1);
      await until(isEmpty);
    }
    expect(runs.length).toBeWithin(5, 8);
    expect(new Set(runs.map((job) => job.data.v))).toEqual(new Set(['new']));
    await other.unschedule(name);
    await clock.tick(60_000);
    await until(isEmpty);
    const before = runs.length;
    await clock.tick(150_000);
    await until(isEmpty);
    expect(runs).toHaveLength(before);
  });

  test('of the occurrences missed while no process ran, one is run', async () => {
    const { queue, clock } = given();
    const name = await defineOwn(queue);
    const halfPast = Math.ceil(clock.now() / HOUR_MS) * HOUR_MS + HOUR_MS / 2;
    await clock.setTime(halfPast);
    await queue.schedule(name, '0 * * * *', {});
    let runs = 0;
    await queue.work(name, { concurrency: 1 }, async () => {
      runs += 1;
    });
    await clock.tick(60_000);
    await clock.setTime(halfPast + 3 * HOUR_MS);
    await clock.tick(60_000);
    await until(() => runs === 1);
    await clock.tick(120_000);
    await until(async () => (await queue.counts(name)).waiting + (await queue.counts(name)).active === 0);
    expect(runs).toBe(1);
    await queue.unschedule(name);
  });
}

function oldJobsAreRemoved(given: () => TimedJobQueue): void {
  test('a finished job is kept for a day, a dead letter for 90, and a waiting one is never removed', async () => {
    const { queue, under, clock } = given();
    const name = await defineOwn(queue);
    const later = await defineOwn(queue);
    const kept = async () => {
      const rows = await under.database.query<{ name: string; state: string }>(
        "select name, state::text from pgboss.job where name in ($1, $1 || '.dead', $2) order by name, state",
        [name, later],
      );
      return rows
        .map((row) => `${row.name.replace(name, 'own').replace(later, 'later')} ${row.state}`)
        .sort();
    };
    await queue.enqueue(later, {});
    await queue.enqueue(name, { fails: true });
    await queue.enqueue(name, { fails: false });
    await queue.work(name, { concurrency: 1 }, async (job) => {
      if (job.data.fails) throw new Error('no');
    });
    const all = ['later created', 'own completed', 'own failed', 'own.dead created'];
    await until(async () => (await kept()).join() === all.join());
    const atDays = async (days: number) => {
      await clock.setTime(clock.now() + days * DAY_MS);
      await clock.tick(1_000);
    };
    await atDays(0.9);
    expect(await kept()).toEqual(all);
    await atDays(0.2);
    await until(async () => (await kept()).length === 2);
    await atDays(85);
    expect(await kept()).toEqual(['later created', 'own.dead created']);
    await atDays(10);
    await until(async () => (await kept()).join() === 'later created');
  });
}

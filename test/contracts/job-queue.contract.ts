import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { TestClock } from 'pg-boss';
import type { Job } from '../../src/ports/job-queue.ts';
import { until } from '../doubles/until.ts';
import { failingContract } from './job-queue-failing.contract.ts';
import { lostContract } from './job-queue-lost.contract.ts';
import {
  createHeldHandler,
  cuttable,
  defineOwn,
  type JobQueuePair,
  type OpenUnderTest,
  rejectionOf,
  type TimedJobQueue,
} from './job-queue-probes.ts';
import { timeContract } from './job-queue-time.contract.ts';

/** What every job queue keeps. `open` gives one on an empty database. */
export function jobQueueContract(name: string, open: OpenUnderTest): void {
  describe(`job-queue contract: ${name}`, () => {
    let given: JobQueuePair;
    beforeAll(async () => {
      const under = await open();
      given = { under, queue: await under.open(), other: await under.open() };
    });
    afterAll(async () => {
      await given.under.close();
    });

    jobsAreDone(() => given);
    ownersTakeTurns(() => given);
    equalJobsAreEnqueuedOnce(() => given);
    wrongInputIsRefused(() => given);
    stoppingLosesNothing(() => given);
    failingContract(() => given);
  });

  describe(`job-queue contract over time: ${name}`, () => {
    let given: TimedJobQueue;
    beforeAll(async () => {
      const clock = new TestClock('2031-03-01T12:00:30Z');
      const under = await open(clock);
      given = { under, queue: await under.open(), other: await under.open(), clock };
    });
    afterAll(async () => {
      await given.under.close();
      expect(given.under.logged.filter((entry) => entry.level === 'error')).toEqual([]);
    });
    lostContract(() => given);
    timeContract(() => given);
  });
}

function jobsAreDone(given: () => JobQueuePair): void {
  test('a job reaches a worker of another process at once, with its id and data, on its first attempt', async () => {
    const { queue, under } = given();
    const watched = cuttable(under.database);
    const other = await under.open(watched);
    const name = await defineOwn(queue);
    await defineOwn(other, { name });
    const jobs: Job[] = [];
    await other.work(name, { concurrency: 1 }, async (job) => void jobs.push(job));
    // The first look is over, so what comes now comes by notice.
    await until(watched.isIdle);
    const began = performance.now();
    const data = { text: 'é€😀 \' " \\', list: [1, null, { deep: true }], nothing: null };
    const id = await queue.enqueue(name, data);
    await until(() => jobs.length === 1);
    // A look would find it only after half a minute.
    expect(performance.now() - began).toBeLessThan(25_000);
    expect(jobs[0]).toMatchObject({ id: String(id), data, attempt: 1 });
    expect(jobs[0]?.signal.aborted).toBe(false);
    await until(async () => (await queue.counts(name)).active === 0);
    expect(await queue.counts(name)).toEqual({ waiting: 0, active: 0, dead: 0 });
  });

  test('jobs enqueued before any worker starts are all done, within the allowed concurrency', async () => {
    const { queue } = given();
    const name = await defineOwn(queue);
    const ids = await Promise.all(Array.from({ length: 40 }, (_, n) => queue.enqueue(name, { n })));
    expect(await queue.counts(name)).toEqual({ waiting: 40, active: 0, dead: 0 });
    const done: string[] = [];
    let running = 0;
    let most = 0;
    const worker = await queue.work(name, { concurrency: 3 }, async (job) => {
      running += 1;
      most = Math.max(most, running);
      // As many at once as there can be.
      await until(() => running >= Math.min(3, 40 - done.length));
      running -= 1;
      done.push(job.id);
    });
    await until(() => done.length === 40);
    expect(most).toBe(3);
    expect(done.toSorted()).toEqual(ids.map(String).toSorted());
    await until(() => worker.status().active === 0);
    expect(worker.status()).toEqual({ state: 'running', active: 0, idle: 3 });
  });

  test('a job enqueued in a transaction exists if and only if it commits, and is not seen before', async () => {
    const { queue, under } = given();
    const name = await defineOwn(queue);
    const seen: unknown[] = [];
    await queue.work(name, { concurrency: 1 }, async (job) => void seen.push(job.data.n));
    const undone = under.database.transaction(async (within) => {
      expect(await queue.enqueue(name, { n: 'undone' }, { within })).toBeString();
      throw new Error('undone');
    });
    expect(await rejectionOf(undone)).toBe('undone');
    const justDefined = await defineOwn(queue);
    await under.database.transaction(async (within) => {
      await queue.enqueue(name, { n: 'kept' }, { within });
      expect(await queue.enqueue(justDefined, {}, { within })).toBeString();
      // The embedded engine runs nothing else during a transaction. PostgreSQL does, and this job is the later one.
      if (under.database.engine === 'postgres') {
        await queue.enqueue(name, { n: 'later' });
        await until(() => seen.length > 0);
        expect(seen.splice(0)).toEqual(['later']);
      }
      expect(seen).toEqual([]);
    });
    await until(() => seen.length > 0);
    expect(seen).toEqual(['kept']);
    expect(await queue.counts(justDefined)).toMatchObject({ waiting: 1 });
  });

  test('many processes may define one queue at once, and the last settings apply', async () => {
    const { queue, other } = given();
    const name = await defineOwn(queue);
    await Promise.all([queue, other, queue, other].map((each) => defineOwn(each, { name, runSeconds: 60 })));
    await defineOwn(queue, { name, runSeconds: 77, retries: 4, retryDelayMaxSeconds: 9 });
    const [row] = await given().under.database.query(
      'select expire_seconds, retry_limit, retry_delay_max, heartbeat_seconds from pgboss.queue where name = $1',
      [name],
    );
    expect(row).toEqual({ expire_seconds: 77, retry_limit: 4, retry_delay_max: 9, heartbeat_seconds: 10 });
    expect(queue.names().filter((each) => each === name)).toEqual([name]);
    expect(queue.names()).not.toContain('never-defined');
  });
}

function ownersTakeTurns(given: () => JobQueuePair): void {
  test('owners take turns: a flood of one delays another by a job, not by the flood', async () => {
    const { queue } = given();
    const name = await defineOwn(queue);
    for (let n = 0; n < 30; n += 1) await queue.enqueue(name, { of: 'flood', n }, { owner: 'flood' });
    for (const n of [0, 1, 2]) await queue.enqueue(name, { of: 'late', n }, { owner: 'late' });
    for (const n of [0, 1]) await queue.enqueue(name, { of: 'later', n }, { owner: 'later' });
    await queue.enqueue(name, { of: 'nobody', n: 0 });
    const order: string[] = [];
    await queue.work(name, { concurrency: 1, perOwner: 1 }, async ({ data }) => {
      order.push(`${data.of} ${data.n}`);
    });
    await until(() => order.length === 36);
    const at = (job: string) => order.indexOf(job);
    expect(at('late 0')).toBeLessThan(3);
    expect(at('later 0')).toBeLessThan(4);
    expect(at('late 2')).toBeLessThan(10);
    expect(at('later 1')).toBeLessThan(8);
    expect(at('nobody 0')).toBeLessThan(10);
    const flood = order.filter((job) => job.startsWith('flood'));
    expect(flood).toEqual(Array.from({ length: 30 }, (_, n) => `flood ${n}`));
  });

  test('an owner has a maximum of concurrent jobs; a job of another owner then begins at once', async () => {
    const { queue, other } = given();
    const name = await defineOwn(queue);
    await defineOwn(other, { name });
    const held = createHeldHandler();
    const worker = await other.work(name, { concurrency: 3, perOwner: 2 }, held.handler);
    for (let n = 0; n < 5; n += 1) await queue.enqueue(name, { of: 'flood', n }, { owner: 'flood' });
    await until(() => worker.status().active === 2);
    await queue.enqueue(name, { of: 'late' }, { owner: 'late' });
    await until(() => worker.status().active === 3);
    expect((await queue.counts(name)).waiting).toBe(3);
    held.release();
    const released = performance.now();
    await until(async () => (await queue.counts(name)).waiting + (await queue.counts(name)).active === 0);
    // A look would find the rest only after half a minute.
    expect(performance.now() - released).toBeLessThan(25_000);
  });
}

function equalJobsAreEnqueuedOnce(given: () => JobQueuePair): void {
  test('of 20 jobs with one key, enqueued at once by two processes, there is one', async () => {
    const { queue, other } = given();
    const name = await defineOwn(queue);
    await defineOwn(other, { name });
    const enqueue = (n: number) => (n % 2 ? queue : other).enqueue(name, { n }, { dedupeKey: 'same' });
    const ids = await Promise.all(Array.from({ length: 20 }, (_, n) => enqueue(n)));
    expect(ids.filter((id) => id !== null)).toHaveLength(1);
    expect(await queue.counts(name)).toMatchObject({ waiting: 1 });
  });

  test('a key is in use while its job waits and runs, and free again when it is done', async () => {
    const { queue } = given();
    const name = await defineOwn(queue);
    const equal = { dedupeKey: 'k' };
    const { begun, handler, release } = createHeldHandler();
    expect(await queue.enqueue(name, {}, equal)).toBeString();
    expect(await queue.enqueue(name, {}, equal)).toBeNull();
    expect(await queue.enqueue(name, {}, { dedupeKey: 'another' })).toBeString();
    await queue.work(name, { concurrency: 5 }, handler);
    await until(() => begun.length === 2);
    expect(await queue.enqueue(name, {}, equal)).toBeNull();
    expect(await Promise.all([1, 2, 3].map((n) => queue.enqueue(name, { n })))).not.toContain(null);
    await until(() => begun.length === 5);
    release();
    await until(async () => (await queue.counts(name)).active === 0);
    expect(await queue.enqueue(name, {}, equal)).toBeString();
  });
}

function wrongInputIsRefused(given: () => JobQueuePair): void {
  test('a job of more than 256 KiB is refused with a clear error, a smaller one is not', async () => {
    const { queue } = given();
    const name = await defineOwn(queue);
    const bytes = (count: number) => ({ text: 'é'.repeat((count - '{"text":""}'.length - 1) / 2) });
    expect(await queue.enqueue(name, bytes(256 * 1024))).toBeString();
    expect(await rejectionOf(queue.enqueue(name, bytes(256 * 1024 + 4)))).toContain('262144 bytes');
    expect(await queue.counts(name)).toMatchObject({ waiting: 1 });
  });

  test('names and settings out of bounds are rejected, and so is an undefined queue', async () => {
    const { queue } = given();
    for (const name of ['', "a'b", 'A', 'a b', 'a/b', 'orders.dead', '__pgboss__send-it', 'x'.repeat(61)]) {
      expect(await rejectionOf(defineOwn(queue, { name }))).toContain('cannot name a queue');
    }
    expect(await rejectionOf(defineOwn(queue, { heartbeatSeconds: 9 }))).toContain('heartbeatSeconds');
    expect(await rejectionOf(defineOwn(queue, { retries: -1 }))).toContain('retries');
    expect(await rejectionOf(defineOwn(queue, { runSeconds: 0.5 }))).toContain('runSeconds');
    expect(await rejectionOf(queue.enqueue('never-defined', {}))).toContain('has not been defined');
    const name = await defineOwn(queue);
    expect(await rejectionOf(queue.work(name, { concurrency: 0 }, async () => {}))).toContain('concurrency');
    expect(await rejectionOf(queue.enqueue(name, {}, { dedupeKey: 'x'.repeat(501) }))).toContain('dedupeKey');
    expect(await rejectionOf(queue.schedule(name, 'every full moon', {}))).not.toBe('nothing was rejected');
  });
}

function stoppingLosesNothing(given: () => JobQueuePair): void {
  test('a stop lets running jobs finish, and takes no new ones', async () => {
    const { under, queue } = given();
    const leaving = await under.open();
    const name = await defineOwn(queue);
    await defineOwn(leaving, { name });
    const { begun, handler, release } = createHeldHandler();
    await leaving.work(name, { concurrency: 1 }, handler);
    await queue.enqueue(name, {});
    await until(() => begun.length === 1);
    const stopped = leaving.stop(60_000);
    await queue.enqueue(name, {});
    release();
    await stopped;
    expect(begun[0]?.signal.aborted).toBe(false);
    expect(begun).toHaveLength(1);
    expect(await queue.counts(name)).toEqual({ waiting: 1, active: 0, dead: 0 });
    const taken: Job[] = [];
    await queue.work(name, { concurrency: 1 }, async (job) => void taken.push(job));
    await until(() => taken.length === 1);
    expect(begun).toHaveLength(1);
    expect(await rejectionOf(leaving.work(name, { concurrency: 1 }, handler))).toContain('stopped');
  });

  test('a job that runs past the deadline of a stop is aborted and goes to another process at once, not as a failure', async () => {
    const { under, queue } = given();
    const leaving = await under.open();
    const name = await defineOwn(queue);
    await defineOwn(leaving, { name });
    const { begun, handler } = createHeldHandler();
    await leaving.work(name, { concurrency: 1 }, handler);
    await queue.enqueue(name, { n: 1 });
    await until(() => begun.length === 1);
    const taken: Job[] = [];
    await queue.work(name, { concurrency: 1 }, async (job) => void taken.push(job));
    await leaving.stop(20);
    expect(begun[0]?.signal.aborted).toBe(true);
    await until(() => taken.length === 1);
    expect(taken[0]).toMatchObject({ id: begun[0]?.id ?? '', attempt: 1, data: { n: 1 } });
    await until(async () => (await queue.counts(name)).active === 0);
    expect(await queue.counts(name)).toEqual({ waiting: 0, active: 0, dead: 0 });
  });
}

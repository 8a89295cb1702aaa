import { expect, test } from 'bun:test';
import type { Job } from '../../src/ports/job-queue.ts';
import { until } from '../doubles/until.ts';
import { createHeldHandler, cuttable, defineOwn, type TimedJobQueue } from './job-queue-probes.ts';

/**
 * Runs and notices that got lost are missed, and what they were for is done. A tick ends when no queue has a statement
 * under way, and so does a tick of 0.
 */
export function lostContract(given: () => TimedJobQueue): void {
  lostRunsAreFound(given);
  lostNoticesAreMadeUpFor(given);
}

function lostRunsAreFound(given: () => TimedJobQueue): void {
  test('a run past its time limit is aborted and failed; its later result is ignored', async () => {
    const { queue, clock } = given();
    const name = await defineOwn(queue, { runSeconds: 30 });
    const { begun, handler, release } = createHeldHandler();
    await queue.work(name, { concurrency: 1 }, handler);
    await queue.enqueue(name, {});
    await until(() => begun.length === 1);
    await clock.tick(29_000);
    expect(begun[0]?.signal.aborted).toBe(false);
    await clock.tick(1_500);
    expect(begun[0]?.signal.aborted).toBe(true);
    await until(async () => (await queue.counts(name)).dead === 1);
    release();
    await clock.tick(0);
    expect(await queue.deadLetters(name, 1)).toMatchObject([{ error: 'it ran longer than 30 s' }]);
  });

  test('a long run keeps its claim for as long as its worker lives', async () => {
    const { queue, other, clock } = given();
    const name = await defineOwn(queue, { retries: 3, heartbeatSeconds: 10, runSeconds: 600 });
    await defineOwn(other, { name, retries: 3, heartbeatSeconds: 10, runSeconds: 600 });
    const { begun, handler, release } = createHeldHandler();
    await queue.work(name, { concurrency: 1 }, handler);
    await queue.enqueue(name, {});
    await until(() => begun.length === 1);
    await other.work(name, { concurrency: 1 }, handler);
    await clock.tick(120_000);
    expect(begun).toHaveLength(1);
    expect(begun[0]?.signal.aborted).toBe(false);
    release();
    await until(async () => (await queue.counts(name)).active === 0);
    expect(begun).toHaveLength(1);
  });

  test('the job of an unresponsive worker goes to another, and the first is notified when it is back', async () => {
    const { under, queue, clock } = given();
    const wire = cuttable(under.database);
    const silent = await under.open(wire);
    const name = await defineOwn(silent, { retries: 1 });
    await defineOwn(queue, { name, retries: 1 });
    const first = createHeldHandler();
    const second = createHeldHandler();
    await silent.work(name, { concurrency: 1 }, first.handler);
    const id = await queue.enqueue(name, {});
    await until(() => first.begun.length === 1);
    wire.cut();
    await queue.work(name, { concurrency: 1 }, second.handler);
    await clock.tick(9_000);
    expect(second.begun).toEqual([]);
    await clock.tick(1_500);
    await until(() => second.begun.length === 1);
    expect(second.begun[0]).toMatchObject({ id: String(id), attempt: 2 });
    wire.mend();
    await clock.tick(4_000);
    await until(() => first.begun[0]?.signal.aborted === true);
    first.release();
    await clock.tick(0);
    expect(await queue.counts(name)).toMatchObject({ active: 1 });
    second.release();
    await until(async () => (await queue.counts(name)).active === 0);
    expect(await queue.counts(name)).toEqual({ waiting: 0, active: 0, dead: 0 });
    await silent.stop(0);
  });

  test('a job whose worker is lost each time ends as a dead letter', async () => {
    const { under, queue, clock } = given();
    const wire = cuttable(under.database);
    const silent = await under.open(wire);
    const name = await defineOwn(silent);
    await defineOwn(queue, { name });
    const { begun, handler } = createHeldHandler();
    await silent.work(name, { concurrency: 1 }, handler);
    await queue.enqueue(name, {});
    await until(() => begun.length === 1);
    wire.cut();
    await queue.work(name, { concurrency: 1 }, handler);
    await clock.tick(11_000);
    await until(async () => (await queue.counts(name)).dead === 1);
    expect(await queue.deadLetters(name, 1)).toMatchObject([{ error: 'its worker went silent' }]);
    expect(begun).toHaveLength(1);
    wire.mend();
    await silent.stop(0);
  });
}

function lostNoticesAreMadeUpFor(given: () => TimedJobQueue): void {
  test('without any failure, a job whose notification was lost is found within half a minute', async () => {
    const { under, queue, clock } = given();
    const wire = cuttable(under.database);
    const deaf = await under.open(wire);
    const name = await defineOwn(deaf);
    await defineOwn(queue, { name });
    const done: Job[] = [];
    await deaf.work(name, { concurrency: 1 }, async (job) => void done.push(job));
    await clock.tick(0);
    wire.cut();
    wire.mend();
    await queue.enqueue(name, {});
    await until(() => wire.lost.includes(name));
    await clock.tick(0);
    expect(done).toEqual([]);
    await clock.tick(30_100);
    await until(() => done.length === 1);
    await deaf.stop(0);
  });
}

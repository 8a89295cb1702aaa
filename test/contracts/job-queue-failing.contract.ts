import { expect, test } from 'bun:test';
import type { Job, JobHandler, JobQueue } from '../../src/ports/job-queue.ts';
import { until } from '../doubles/until.ts';
import { defineOwn, type JobQueuePair } from './job-queue-probes.ts';

/** What becomes of jobs that fail. */
export function failingContract(given: () => JobQueuePair): void {
  failuresAreKept(given);
  deadLettersAreGivenAnotherRun(given);
}

/** Works on a queue until `count` of its jobs are dead letters. */
async function bury(queue: JobQueue, name: string, handler: JobHandler, count: number): Promise<void> {
  const worker = await queue.work(name, { concurrency: 10 }, handler);
  await until(async () => (await queue.counts(name)).dead === count);
  await worker.stop();
}

function failuresAreKept(given: () => JobQueuePair): void {
  test('a failing job is retried as often as allowed, then becomes a dead letter', async () => {
    const { queue } = given();
    const name = await defineOwn(queue, { retries: 2 });
    const attempts: number[] = [];
    const began = new Date();
    const id = await queue.enqueue(name, { n: 7 }, { dedupeKey: 'k' });
    const failing: JobHandler = async (job) => {
      attempts.push(job.attempt);
      throw new Error(`no. ${job.attempt}`);
    };
    await bury(queue, name, failing, 1);
    expect(attempts).toEqual([1, 2, 3]);
    const [letter] = await queue.deadLetters(name, 10);
    expect(letter).toMatchObject({ id: String(id), data: { n: 7 }, error: 'no. 3' });
    expect(letter?.failedAt.getTime()).toBeGreaterThan(began.getTime() - 1_000);
    expect(await queue.counts(name)).toEqual({ waiting: 0, active: 0, dead: 1 });
    expect(await queue.enqueue(name, {}, { dedupeKey: 'k' })).toBeString();
  });

  const circular: { self?: unknown } = {};
  circular.self = circular;
  const unreadable = Object.defineProperty(new Error(), 'message', {
    get: () => {
      throw new Error('no');
    },
  });
  const thrown: [string, unknown, string][] = [
    ['undefined', undefined, 'the handler rejected with undefined'],
    ['an object', { code: 7 }, 'the handler rejected with {"code":7}'],
    ['a circle', circular, 'cannot be written down'],
    ['an unreadable error', unreadable, 'cannot be written down'],
    ['an error with a name', new TypeError('wrong'), 'TypeError: wrong'],
    ['an empty error', new Error(), 'an Error without a message'],
    ['the character 0', new Error('a\u0000b'), 'ab'],
    ['half a pair', new Error('a\ud83d'), 'a\ufffd'],
    ['a million characters', new Error('😀'.repeat(500_000)), '😀😀😀'],
    ['a text', 'just text', 'just text'],
    ['a symbol', Symbol('s'), 'the handler rejected with Symbol(s)'],
  ];

  test('any value thrown by a handler becomes an error text of at most 2,000 characters', async () => {
    const { queue } = given();
    const name = await defineOwn(queue);
    for (const [what] of thrown) await queue.enqueue(name, { what });
    const throwing = (job: Job): Promise<void> => {
      // Not a rejection: a handler may also throw before it has made its promise.
      throw thrown.find(([what]) => what === job.data.what)?.[1];
    };
    await bury(queue, name, throwing, thrown.length);
    const letters = await queue.deadLetters(name, 100);
    expect(letters).toHaveLength(thrown.length);
    for (const [what, , text] of thrown) {
      const error = letters.find((letter) => letter.data.what === what)?.error ?? '';
      expect(error).toContain(text);
      expect(error.length).toBeLessThanOrEqual(2_000);
    }
  });
}

function deadLettersAreGivenAnotherRun(given: () => JobQueuePair): void {
  async function buried(count: number, retries = 0): Promise<{ name: string; ids: string[] }> {
    const { queue, other } = given();
    const name = await defineOwn(queue, { retries });
    await defineOwn(other, { name, retries });
    const ids: string[] = [];
    for (let n = 0; n < count; n += 1) {
      ids.push(String(await queue.enqueue(name, { n }, { dedupeKey: `${n}` })));
    }
    await bury(queue, name, () => Promise.reject(new Error('first life')), count);
    return { name, ids };
  }

  test('two concurrent redrives give each dead letter one run, under its old id, with all tries again', async () => {
    const { queue, other } = given();
    const { name, ids } = await buried(30, 1);
    const counts = await Promise.all([queue.redrive(name), other.redrive(name)]);
    expect(counts[0] + counts[1]).toBe(30);
    const runs: string[] = [];
    await queue.work(name, { concurrency: 5 }, async ({ id, attempt, data }) => {
      runs.push(`${id} ${attempt}`);
      if (data.n === 0) throw new Error('second life');
    });
    await until(async () => (await queue.counts(name)).dead === 1);
    await until(() => runs.length === 31);
    expect(runs.toSorted()).toEqual([...ids.map((id) => `${id} 1`), `${ids[0]} 2`].toSorted());
    expect(await queue.deadLetters(name, 10)).toMatchObject([{ id: ids[0] ?? '', error: 'second life' }]);
  });

  test('a redrive of given ids leaves the others, wakes the workers, and ignores unknown ids', async () => {
    const { queue, other } = given();
    const { name, ids } = await buried(3);
    const done: string[] = [];
    await other.work(name, { concurrency: 1 }, async (job) => void done.push(job.id));
    const second = ids[1] ?? '';
    expect(await queue.redrive(name, [crypto.randomUUID(), 'no such job'])).toBe(0);
    expect(await queue.redrive(name, [second])).toBe(1);
    await until(() => done.length === 1);
    expect(done).toEqual([second]);
    expect(await queue.redrive(name, [second])).toBe(0);
    const left = (await queue.deadLetters(name, 5)).map((letter) => letter.id);
    expect(left.toSorted()).toEqual([ids[0], ids[2]].map(String).toSorted());
    expect(await queue.deadLetters(name, 1)).toHaveLength(1);
  });

  test('dead letters are listed in pages, and discarded ones are deleted', async () => {
    const { queue } = given();
    const { name, ids } = await buried(5);
    const seen: string[] = [];
    for (let page = await queue.deadLetters(name, 2); page.length > 0; ) {
      seen.push(...page.map((letter) => letter.id));
      const last = page.at(-1);
      // What goes away meanwhile shifts nothing.
      if (seen.length === 2) expect(await queue.discard(name, [String(seen[1])])).toBe(1);
      page = last === undefined ? [] : await queue.deadLetters(name, 2, last);
    }
    expect(seen.toSorted()).toEqual(ids.toSorted());
    expect(await queue.discard(name, [String(seen[1]), crypto.randomUUID(), 'no such job'])).toBe(0);
    expect(await queue.discard(name, ids.slice(0, 5))).toBe(4);
    expect(await queue.counts(name)).toEqual({ waiting: 0, active: 0, dead: 0 });
    expect(await queue.redrive(name)).toBe(0);
  });

  test('a dead letter whose key is in use stays one until the key is free', async () => {
    const { queue } = given();
    const { name, ids } = await buried(2);
    expect(await queue.enqueue(name, {}, { dedupeKey: '0' })).toBeString();
    expect(await queue.redrive(name)).toBe(1);
    expect(await queue.counts(name)).toEqual({ waiting: 2, active: 0, dead: 1 });
    const done: string[] = [];
    await queue.work(name, { concurrency: 1 }, async (job) => void done.push(job.id));
    await until(async () => (await queue.counts(name)).waiting + (await queue.counts(name)).active === 0);
    expect(await queue.redrive(name)).toBe(1);
    await until(() => done.length === 3);
    expect(done[2]).toBe(String(ids[0]));
  });
}

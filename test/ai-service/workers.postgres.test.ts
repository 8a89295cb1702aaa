import { beforeAll, expect, test } from 'bun:test';
import { openJobQueue } from '../../src/adapters/job-queue/pg-boss.ts';
import { listTalents } from '../../src/domain/talents/talent.ts';
import { CV_QUEUE, createTalent } from '../../src/domain/talents/talent-changes.ts';
import type { JobQueue } from '../../src/ports/job-queue.ts';
import { createSilentLog } from '../doubles/silent-log.ts';
import { until } from '../doubles/until.ts';
import { describePostgres, usePostgres } from '../setup/use-postgres.ts';
import { CV_TEXT, openWorkers, type WorkersUnderTest } from './workers-under-test.ts';

const QUICK = { ...CV_QUEUE, retryDelaySeconds: 0, retryDelayMaxSeconds: 0 };
const GOOD = 12;

describePostgres('two processes with a server', () => {
  const database = usePostgres({
    beforeClose: async () => {
      for (const queue of queues) await queue.stop(1_000);
      await workers?.close();
    },
  });
  let workers: WorkersUnderTest;
  const queues: JobQueue[] = [];

  beforeAll(async () => {
    const log = createSilentLog();
    workers = await openWorkers({ database });
    for (const _ of [1, 2]) {
      const queue = await openJobQueue({ database, log });
      await queue.define(QUICK);
      queues.push(queue);
    }
  });

  test('A-13 failing and flaky documents among good ones: each is done once and charged once', async () => {
    const [first] = queues;
    if (first === undefined) throw new Error('there is no queue');
    const { companyId, clock, secrets } = workers;
    const { read } = workers.scripted;
    const stumbled = new Set<string>();
    workers.scripted.read = (text) => {
      if (text.startsWith('poison'))
        return { outcome: 'unreadable', reason: 'broken', message: 'It is damaged.' };
      // As if the process had died: nothing is known of the run but that it did not end well.
      if (text.includes('Number 3') && !stumbled.has(text)) {
        stumbled.add(text);
        throw new Error('killed');
      }
      return read(text);
    };
    const before = (await workers.credits.level()).balanceMicro;
    for (let number = 0; number < GOOD + 3; number += 1) {
      const text =
        number % 5 === 4
          ? `poison ${number}`
          : `${CV_TEXT.replaceAll('ada', `ada${number}`)}\nNumber ${number}`;
      const from = { file: { name: 'cv.txt', bytes: new TextEncoder().encode(text) } };
      await database.transaction((transaction) =>
        createTalent(transaction, { clock, secrets, jobQueue: first }, { companyId, createdBy: null, from }),
      );
    }
    for (const queue of queues)
      await queue.work(QUICK.name, { concurrency: 3 }, workers.handlersOn(database).cv);
    const all = () => listTalents(database, companyId, { limit: 100, after: null });
    await until(async () => (await all()).every(({ status }) => status !== 'PENDING'));
    const statuses = (await all()).map(({ status }) => status);
    expect([statuses.filter((status) => status === 'READY').length, statuses.length]).toEqual([
      GOOD,
      GOOD + 3,
    ]);
    expect(stumbled.size).toBe(1);
    const calls = await workers.calls();
    expect(calls.length).toBe(GOOD);
    const charged = calls.reduce((sum, call) => sum + (call.charge_micro as bigint), 0n);
    expect(before - (await workers.credits.level()).balanceMicro).toBe(charged);
    const versions = await database.query(`select 1 from talent_versions where what = 'parsed'`);
    expect(versions.length).toBe(GOOD);
    await until(async () => (await first.counts(QUICK.name)).waiting === 0);
    expect((await first.counts(QUICK.name)).dead).toBe(0);
  });
});

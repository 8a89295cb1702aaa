import { describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createRecordingLog } from '../../../test/doubles/recording-log.ts';
import { until } from '../../../test/doubles/until.ts';
import { useMemoryDatabase } from '../../../test/setup/use-database.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import type { Statements } from '../../ports/database.ts';
import type { Job, JobHandler, JobQueue } from '../../ports/job-queue.ts';
import { createJobRates } from './job-rates.ts';
import {
  isReady,
  listProcesses,
  type ProcessReport,
  type ServiceName,
  startProcessHeartbeat,
} from './service-processes.ts';

const database = useMemoryDatabase();

const WELL: ProcessReport = {
  parts: [{ name: 'database', status: 'up', latencyMs: 1 }],
  cpuSeconds: 1.5,
  residentBytes: 100_000_000,
  eventLoopDelayMs: 2,
  workers: null,
  breakers: { 'models.example': { state: 'closed', failuresInARow: 2, lastError: null, nextTryAtMs: null } },
  jobRates: {},
};

function begin(services: readonly ServiceName[], statements: Statements = database) {
  const clock = createManualClock();
  const { log, entries } = createRecordingLog();
  let report = WELL;
  const name = {
    ...{ id: createSystemSecrets().newId(), services, host: 'a-host', pid: 7, version: '1.2.3' },
    startedAt: new Date(clock.now()),
  };
  const beat = startProcessHeartbeat({ database: statements, clock, log, name, report: async () => report });
  return {
    clock,
    entries,
    beat,
    name,
    become(next: ProcessReport) {
      report = next;
    },
    found: async (nowMs = clock.now()) =>
      (await listProcesses(database, nowMs)).find(({ id }) => id === name.id) ?? null,
  };
}

describe('the heartbeat of a process', () => {
  test('P-15 is written at once and every five seconds; a clean stop deletes the row', async () => {
    const process = begin(['gateway']);
    await until(async () => (await process.found()) !== null);
    expect(await process.found()).toMatchObject({ ...process.name, isStale: false, report: WELL });
    process.become({ ...WELL, parts: [{ name: 'cache', status: 'down', latencyMs: 1_000 }] });
    await process.clock.advance(5_000);
    await until(async () => (await process.found())?.report.parts[0]?.name === 'cache');
    const row = await process.found();
    expect(row === null ? null : isReady(row)).toBe(false);
    await process.beat.close();
    expect(await process.found()).toBeNull();
    expect(process.clock.pendingTimers()).toBe(0);
  });

  test('P-15 a process without a heartbeat is stale after 20 seconds, and removed by the others after an hour', async () => {
    const dead = begin(['ai-service']);
    await until(async () => (await dead.found()) !== null);
    const diedAtMs = dead.clock.now();
    expect((await dead.found(diedAtMs + 20_000))?.isStale).toBe(false);
    expect((await dead.found(diedAtMs + 20_001))?.isStale).toBe(true);
    const longAgo = new Date(diedAtMs - 3_600_001);
    await database.query('update service_processes set seen_at = $1 where id = $2', [longAgo, dead.name.id]);
    const other = begin(['backend']);
    await until(async () => (await other.found()) !== null);
    await other.clock.advance(5_000);
    const isLeft = 'select id from service_processes where id = $1';
    await until(async () => (await database.query(isLeft, [dead.name.id])).length === 0);
    await Promise.all([dead.beat.close(), other.beat.close()]);
  });

  test('P-15 an unavailable database is logged once, and heartbeats resume when it is back', async () => {
    let isUnavailable = true;
    const steered: Statements = {
      ...database,
      query: (text, values) =>
        isUnavailable ? Promise.reject(new Error('away')) : database.query(text, values),
    };
    const process = begin(['backend'], steered);
    await process.clock.advance(20_000);
    expect(process.entries.map(({ level }) => level)).toEqual(['warn']);
    isUnavailable = false;
    await process.clock.advance(5_000);
    await until(async () => (await process.found()) !== null);
    expect(process.entries.map(({ level }) => level)).toEqual(['warn', 'info']);
    await process.beat.close();
  });

  test('P-15 a database that does not answer delays the end of a process by at most two seconds', async () => {
    const silent: Statements = { ...database, query: () => new Promise(() => {}) };
    const process = begin(['backend'], silent);
    const closing = process.beat.close();
    await process.clock.advance(2_000);
    await closing;
    expect(process.clock.pendingTimers()).toBe(0);
  });
});

describe('the rate of jobs', () => {
  test('A-13 successful and failed runs are counted by queue, and dropped after five minutes', async () => {
    const clock = createManualClock();
    const rates = createJobRates(clock);
    const handlers: JobHandler[] = [];
    const queue = rates.counted({
      work: async (_name: string, _options: object, handler: JobHandler) => void handlers.push(handler),
    } as unknown as JobQueue);
    const job = (isGood: boolean) => ({ data: { isGood } }) as unknown as Job;
    await queue.work('mail', { concurrency: 1 }, async ({ data }) => {
      if (data.isGood !== true) throw new Error('no');
    });
    expect(rates.read()).toEqual({ mail: { donePerMinute: 0, failedPerMinute: 0 } });
    const run = handlers[0] as JobHandler;
    for (let count = 0; count < 6; count += 1) await run(job(true));
    const failed = await run(job(false)).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(Error);
    // In its first minute it is no faster than it was.
    expect(rates.read()).toEqual({ mail: { donePerMinute: 6, failedPerMinute: 1 } });
    await clock.advance(120_000);
    expect(rates.read()).toEqual({ mail: { donePerMinute: 3, failedPerMinute: 0.5 } });
    await clock.advance(240_000);
    expect(rates.read()).toEqual({ mail: { donePerMinute: 0, failedPerMinute: 0 } });
  });
});

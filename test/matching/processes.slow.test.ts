import { afterEach, expect, test } from 'bun:test';
import { join } from 'node:path';
import { queueSize, readMetrics } from '../../src/domain/matching/generator/generator-status.ts';
import { until } from '../doubles/until.ts';
import { describePostgres, usePostgres } from '../setup/use-postgres.ts';
import { addJob, addTalent, addTestCompany, scoresOf } from './matching-world.ts';

const PROGRAM = join(import.meta.dir, 'generator-process.ts');
const JOBS = 12;
const TALENTS = 40;

describePostgres('with a server', () => {
  const database = usePostgres();

  const children: { kill(signal: 'SIGKILL'): void; readonly exited: Promise<number> }[] = [];
  afterEach(async () => {
    for (const child of children.splice(0)) {
      child.kill('SIGKILL');
      await child.exited;
    }
  });

  /** A process that runs the generator; `lines` grows while it runs. */
  function startProcess(leaseMs: number, ...mode: string[]) {
    const child = Bun.spawn([process.execPath, PROGRAM, database.url(), String(leaseMs), ...mode], {
      stdout: 'pipe',
      stderr: 'inherit',
    });
    children.push(child);
    const lines: string[] = [];
    const reading = (async () => {
      let rest = '';
      for await (const chunk of child.stdout) {
        const parts = (rest + new TextDecoder().decode(chunk)).split('\n');
        rest = parts.pop() ?? '';
        lines.push(...parts);
      }
    })();
    return {
      lines,
      pairs: () => lines.filter((line) => line.includes(' ')),
      async end(signal: 'SIGTERM' | 'SIGKILL') {
        child.kill(signal);
        await child.exited;
        await reading;
      },
    };
  }

  async function fill(): Promise<string> {
    const companyId = await addTestCompany(database);
    for (let n = 0; n < JOBS; n += 1) await addJob(database, companyId, { title: `Engineer ${n}` });
    for (let n = 0; n < TALENTS; n += 1) await addTalent(database, companyId, { months: n });
    return companyId;
  }

  for (const count of [2, 4]) {
    test(`A-12 ${count} processes share the work, and score no pair twice`, async () => {
      const processes = Array.from({ length: count }, () => startProcess(60_000));
      await until(() => processes.every(({ lines }) => lines.includes('ready')));
      const companyId = await fill();
      await until(async () => (await scoresOf(database, companyId)).length === JOBS * TALENTS);
      await until(async () => (await queueSize(database)) === 0);
      const scrape = { nowMs: Date.now(), own: null, breakerState: 'closed' } as const;
      await until(async () => (await readMetrics(database, scrape)).processes.length >= count);
      await Promise.all(processes.map((one) => one.end('SIGTERM')));
      const pairs = processes.flatMap((one) => one.pairs());
      expect(new Set(pairs).size).toBe(JOBS * TALENTS);
      expect(pairs).toHaveLength(JOBS * TALENTS);
      expect(processes.filter((one) => one.pairs().length > 0).length).toBeGreaterThan(1);
      expect((await readMetrics(database, scrape)).processes).toEqual([]);
    });
  }

  test('A-12 what a killed process held is scored by another one, and nothing is lost or stored twice', async () => {
    const killed = startProcess(1_500, 'hang');
    await until(() => killed.lines.includes('ready'));
    const companyId = await fill();
    await until(() => killed.lines.includes('hanging'));
    await killed.end('SIGKILL');
    const before = (await scoresOf(database, companyId)).length;
    expect(before).toBeLessThan(JOBS * TALENTS);
    const next = startProcess(60_000);
    await until(async () => (await scoresOf(database, companyId)).length === JOBS * TALENTS);
    await until(async () => (await queueSize(database)) === 0);
    await next.end('SIGTERM');
    expect(new Set(next.pairs()).size).toBe(next.pairs().length);
    expect(next.pairs().length).toBe(JOBS * TALENTS - before);
  });
});

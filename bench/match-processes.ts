import { join } from 'node:path';
import { migrate } from '../src/adapters/database/migrate.ts';
import { openPostgres } from '../src/adapters/database/postgres.ts';
import { createSystemSecrets } from '../src/adapters/secrets/system-secrets.ts';
import { SCORER_VERSION } from '../src/domain/matching/facts/facts.ts';
import type { Database } from '../src/ports/database.ts';
import { createSilentLog } from '../test/doubles/silent-log.ts';
import type { BenchContext, Measurement, Row } from './frame/measurement.ts';
import { fillCompany } from './matching-world.ts';

const PROGRAM = join(import.meta.dir, '../test/matching/generator-process.ts');
const SIZE = { talents: 400, jobs: 50 };
const PROCESSES = [1, 2, 4];

export const matchProcesses: Measurement = {
  name: 'match-processes',
  what: 'matches a second of the generator, stored with their words in PostgreSQL, by the number of processes',
  async run(context) {
    const rows: Row[] = [];
    for (const count of PROCESSES) {
      const value = await matchesASecond(context, count);
      const [first] = rows;
      const beside =
        first === undefined ? {} : { beside: { reference: '1 process', ratio: value / first.value } };
      rows.push({ label: `${count} ${count === 1 ? 'process' : 'processes'}`, value, unit: '/s', ...beside });
    }
    return rows;
  },
};

async function matchesASecond(context: BenchContext, count: number): Promise<number> {
  const url = await context.emptyDatabase();
  const bounds = { poolSize: 2, maxWaiting: 100, connectTimeoutMs: 5_000, statementTimeoutMs: 60_000 };
  const database = await openPostgres({ ...bounds, url, log: createSilentLog(), applicationName: 'bench' });
  context.whenEnding(database.close);
  await migrate(database);
  const companyId = await fillCompany(database, createSystemSecrets(), SIZE);
  const children = Array.from({ length: count }, () => {
    const child = Bun.spawn([process.execPath, PROGRAM, url, '60000', 'quick'], {
      stdout: 'pipe',
      stderr: 'inherit',
    });
    context.whenEnding(async () => {
      child.kill('SIGKILL');
      await child.exited;
    });
    return child;
  });
  for (const child of children) await child.stdout.getReader().read();
  const begun = performance.now();
  await enqueueAll(database, companyId);
  const wanted = SIZE.talents * SIZE.jobs;
  while (!context.signal.aborted) {
    const [row] = await database.query<{ count: bigint }>('select count(*) from match_scores');
    if (Number(row?.count ?? 0n) === wanted) break;
    await Bun.sleep(20);
  }
  const tookMs = performance.now() - begun;
  for (const child of children) {
    child.kill('SIGTERM');
    await child.exited;
  }
  return (wanted * 1_000) / tookMs;
}

async function enqueueAll(database: Database, companyId: string): Promise<void> {
  await database.query(
    `insert into match_pairs (job_id, talent_id, company_id, job_version, talent_version, scorer_version, weights_version)
     select j.subject_id, t.subject_id, $1, 1, 1, ${SCORER_VERSION}, 0 from match_subjects as j, match_subjects as t
     where j.kind = 'job' and t.kind = 'talent' and j.company_id = $1 and t.company_id = $1`,
    [companyId],
  );
  await database.query(`select pg_notify('match_changes', '')`);
}

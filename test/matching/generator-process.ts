/**
 * A process of its own that runs the generator and writes a line for each pair it scores. With `hang` it stops for ever
 * in the middle of its first batch of pairs, for a test to kill; with `quick` it writes nothing and works in batches of the
 * usual size. Usage: generator-process URL LEASE-MS [hang | quick]
 */
import { createSystemClock } from '../../src/adapters/clock/system-clock.ts';
import { openPostgres } from '../../src/adapters/database/postgres.ts';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { createSkillVocabulary } from '../../src/domain/matching/facts/qualifications.ts';
import { createCompanyIndexes } from '../../src/domain/matching/generator/company-index.ts';
import { startGenerator } from '../../src/domain/matching/generator/generator.ts';
import { scorePair } from '../../src/domain/matching/scoring/score-pair.ts';
import { createSilentLog } from '../doubles/silent-log.ts';
import { letterVectors } from './matching-world.ts';

const [url = '', lease = '60000', mode = ''] = process.argv.slice(2);
const [log, clock, secrets] = [createSilentLog(), createSystemClock(), createSystemSecrets()];
const bounds = { poolSize: 3, maxWaiting: 100, connectTimeoutMs: 60_000, statementTimeoutMs: 100_000 };
const database = await openPostgres({ ...bounds, url, log, applicationName: 'generator-process' });
let scored = 0;
const generator = await startGenerator({
  database,
  log,
  secrets,
  clock,
  indexes: createCompanyIndexes({ database, clock }),
  vocabulary: createSkillVocabulary(),
  modelCalls: letterVectors,
  pace:
    mode === 'quick'
      ? {}
      : { changesAtOnce: 3, pairsAtOnce: 25, pauseMs: 1, idleMs: 50, leaseMs: Number(lease) },
  score(talent, job, weights) {
    if (mode === 'quick') return scorePair(talent, job, weights);
    scored += 1;
    process.stdout.write(`${talent.id} ${talent.version} ${job.id} ${job.version}\n`);
    if (mode === 'hang' && scored > 10) {
      process.stdout.write('hanging\n');
      for (;;) Bun.sleepSync(1_000);
    }
    return scorePair(talent, job, weights);
  },
});
process.on('SIGTERM', async () => {
  await generator.close(5_000);
  await database.close();
  process.exit(0);
});
process.stdout.write('ready\n');

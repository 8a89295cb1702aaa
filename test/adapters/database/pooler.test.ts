import { describe, expect, test } from 'bun:test';
import { migrate } from '../../../src/adapters/database/migrate.ts';
import { openPostgres } from '../../../src/adapters/database/postgres.ts';
import { databaseContract } from '../../contracts/database.contract.ts';
import { createRecordingLog } from '../../doubles/recording-log.ts';
import { freshDatabase } from '../../services/fresh-database.ts';
import { givenDatabase } from '../../services/given.ts';
import { findPooler, startPrivatePooler } from '../../services/private-pooler.ts';

const settings = { poolSize: 6, maxWaiting: 1_000, connectTimeoutMs: 60_000, statementTimeoutMs: 100_000 };

/** Where PgBouncer is installed, through it; elsewhere only as if. */
async function openPooled() {
  const fresh = await freshDatabase();
  const program = findPooler();
  const pooler = program === null ? null : await startPrivatePooler(program, fresh.url);
  const { log, entries } = createRecordingLog();
  const url = pooler?.url ?? fresh.url;
  const database = await openPostgres({
    ...settings,
    log,
    applicationName: 'test',
    url,
    directUrl: fresh.url,
  });
  const close = async () => {
    await database.close();
    await pooler?.stop();
    await fresh.drop();
  };
  return { database, entries, close };
}

describe.skipIf(givenDatabase() === null)('behind a pooler in transaction mode', () => {
  databaseContract('PostgreSQL behind a pooler', openPooled);

  test('migrates; 120 clients share fewer connections and each gets its own rows; missing time-outs are logged', async () => {
    const { database, entries, close } = await openPooled();
    expect((await migrate(database)).length).toBeGreaterThan(0);
    const asked = Array.from({ length: 120 }, async (_, n) => {
      const [alone] = await database.query(`select $1::integer + ${n % 9} as sum, $2::text as word`, [
        n,
        `${n}`,
      ]);
      const within = await database.transaction(async (transaction) => {
        await transaction.query('select pg_advisory_xact_lock($1)', [n % 3]);
        return await transaction.query('select $1::bigint * 2 as double', [BigInt(n)]);
      });
      expect([alone, ...within]).toEqual([{ sum: n + (n % 9), word: `${n}` }, { double: BigInt(n * 2) }]);
    });
    await Promise.all(asked);
    const warnings = entries.filter(({ level }) => level === 'warn').map(({ message }) => message);
    expect(warnings).toEqual([
      'behind a pooler the database may compile statements for longer than they run: turn jit off for its role',
      'behind a pooler the database ends no statement by itself: set both time-outs for its role',
    ]);
    await close();
  });
});

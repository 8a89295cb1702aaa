import { describe, expect, test } from 'bun:test';
import { openPostgres } from '../../../src/adapters/database/postgres.ts';
import { databaseContract, failureOf } from '../../contracts/database.contract.ts';
import { startForwarder, through } from '../../doubles/forwarder.ts';
import { createManualClock } from '../../doubles/manual-clock.ts';
import { createSilentLog } from '../../doubles/silent-log.ts';
import { until } from '../../doubles/until.ts';
import { freshDatabase } from '../../services/fresh-database.ts';
import { givenDatabase } from '../../services/given.ts';

const settings = {
  log: createSilentLog(),
  applicationName: 'turnpike-test',
  poolSize: 4,
  maxWaiting: 1_000,
  connectTimeoutMs: 60_000,
  statementTimeoutMs: 100_000,
};

async function openFresh(changes: Partial<typeof settings> = {}) {
  const { url, drop } = await freshDatabase();
  const database = await openPostgres({ ...settings, ...changes, url });
  const close = async () => {
    await database.close();
    await drop();
  };
  return { database, close, url };
}

describe.skipIf(givenDatabase() === null)('PostgreSQL', () => {
  databaseContract('PostgreSQL', openFresh);

  test('a statement past the time-out is ended by the server', async () => {
    const { database, close } = await openFresh({ statementTimeoutMs: 1_000 });
    const failure = await failureOf(database.query('select pg_sleep(30)'));
    expect(failure).toMatchObject({ reason: 'time-out', sqlState: '57014' });
    await close();
  });

  test('no statement is JIT-compiled by the server, whatever the cost of its plan', async () => {
    const { database, close } = await openFresh();
    expect(await database.query('show jit')).toEqual([{ jit: 'off' }]);
    await close();
  });

  test('a server that drops every connection fails the running statement only', async () => {
    const { database, close, url } = await openFresh();
    const other = await openPostgres({ ...settings, url });
    const running = failureOf(database.query('select pg_sleep(30)'));
    const drop = `select count(pg_terminate_backend(pid)) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and query like '%pg_sleep%'`;
    await until(async () => (await other.query<{ count: bigint }>(drop))[0]?.count === 1n);
    expect((await running).reason).toBe('unavailable');
    expect(await database.query('select 1 as a')).toEqual([{ a: 1 }]);
    await other.close();
    await close();
  });

  test('a connection that does not respond is closed and replaced', async () => {
    const { database, close } = await openFresh({ statementTimeoutMs: 1_000, poolSize: 1 });
    const [row] = await database.query<{ pid: number }>('select pg_backend_pid() as pid');
    const pid = row?.pid ?? 0;
    process.kill(pid, 'SIGSTOP');
    try {
      expect((await failureOf(database.query('select 1'))).reason).toBe('time-out');
      expect(await database.query('select 2 as a')).toEqual([{ a: 2 }]);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await close();
  });

  test('a server that answers nothing: statements fail within two seconds, then at once, until it answers', async () => {
    const { database: direct, close, url } = await openFresh();
    const toDatabase = startForwarder(Number(new URL(url).port || 5432));
    const clock = createManualClock();
    const watched = { ...settings, url: through(url, toDatabase), poolSize: 1, clock, isWatched: true };
    const database = await openPostgres(watched);
    toDatabase.hold();
    const running = failureOf(database.query('select 1', [], { failsFast: true }));
    const inLine = failureOf(database.query('select 2'));
    await clock.advance(2_000);
    expect([(await running).reason, (await inLine).reason]).toEqual(['unavailable', 'unavailable']);
    expect((await failureOf(database.query('select 3'))).message).toContain('does not answer');
    expect((await failureOf(database.transaction(async () => {}))).reason).toBe('unavailable');
    toDatabase.release();
    await until(() => database.query('select 4').then(Boolean, () => false));
    await database.close();
    toDatabase.close();
    await direct.close();
    await close();
  });

  test('what the server refuses for a reason of its own is known until the same statement succeeds', async () => {
    const { database, close } = await openFresh();
    await database.query('create table things (id int)');
    expect(database.trouble?.()).toBeNull();
    await database.query('select no_such_column from things').catch(() => {});
    const read = () => database.transaction((transaction) => transaction.query('select 1 from gone'));
    await read().catch(() => {});
    expect(database.trouble?.()).toContain('no_such_column');
    await database.query('alter table things add column no_such_column int');
    await database.query('select no_such_column from things');
    expect(database.trouble?.()).toBe('relation "gone" does not exist');
    await database.query('create table gone (id int)');
    await read();
    expect(database.trouble?.()).toBeNull();
    await close();
  });

  test('past the bound of waiting statements the next one is rejected at once', async () => {
    const { database, close } = await openFresh({ poolSize: 2, maxWaiting: 3 });
    const running = Array.from({ length: 5 }, () => database.query('select pg_sleep(0.1)'));
    expect((await failureOf(database.query('select 1'))).reason).toBe('busy');
    await Promise.all(running);
    expect(await database.query('select 1 as a')).toEqual([{ a: 1 }]);
    await close();
  });

  test('an unreachable server is reported in one sentence without the password', async () => {
    const url = 'postgres://someone:hunter2@127.0.0.1:1/nothing';
    const failure = await failureOf(openPostgres({ ...settings, url }));
    expect(failure.reason).toBe('unavailable');
    expect(failure.message).not.toContain('hunter2');
  });

  test('whatever keeps a connection from being opened is the server’s fault: TLS, its name, the file of the password', async () => {
    const notTls = Bun.listen({
      ...{ hostname: '127.0.0.1', port: 0 },
      socket: { data: (socket) => void socket.end('Snot TLS') },
    });
    const unreadable = () => {
      throw new Error('the file is gone');
    };
    for (const changes of [
      { url: `postgres://someone@127.0.0.1:${notTls.port}/nothing?sslmode=require` },
      { url: 'postgres://someone@no-such-host.invalid/nothing' },
      { url: 'postgres://someone@127.0.0.1:1/nothing', password: unreadable },
    ]) {
      const failure = await failureOf(openPostgres({ ...settings, ...changes }));
      expect([failure.name, failure.reason]).toEqual(['DatabaseFailure', 'unavailable']);
    }
    notTls.stop(true);
  });

  test('a database of another encoding than UTF8 is refused', async () => {
    for (const encoding of ['LATIN1', 'SQL_ASCII']) {
      const { url, drop } = await freshDatabase(encoding);
      const failure = await failureOf(openPostgres({ ...settings, url }));
      expect(failure.message).toStartWith(`its database has the encoding ${encoding}: create it with UTF8`);
      await drop();
    }
  });
});

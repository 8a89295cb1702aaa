import { expect, test } from 'bun:test';
import { SQL } from 'bun';
import { freshDatabase } from '../services/fresh-database.ts';
import { givenDatabase, givenRedis } from '../services/given.ts';
import { describePostgres } from '../setup/use-postgres.ts';
import { describeServers } from '../setup/use-redis.ts';
import { emptyDataFolder, preparedDataFolder, startProcess, startSystem } from './running-system.ts';

/** One clear line on standard error, exit code 1, nothing else. */
async function refusal(env: Record<string, string>, file = 'everything.ts'): Promise<string> {
  const { folder, remove } = await emptyDataFolder();
  const running = startProcess(file, [], { DATA_DIR: folder, ...env });
  expect(await running.exited).toBe(1);
  expect(running.errors().trimEnd().split('\n')).toHaveLength(1);
  expect(running.output()).not.toContain('ready');
  await remove();
  return running.errors();
}

test('a port in use is one clear line, and nothing is damaged: the next start works', async () => {
  const { folder, remove } = await preparedDataFolder();
  const taken = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } });
  const env = { DATA_DIR: folder, BACKEND_PORT: String(taken.port) };
  expect(await refusal(env)).toBe(
    `turnpike: port ${taken.port} is in use: stop what uses it, or set BACKEND_PORT to another one\n`,
  );
  taken.stop();
  const system = await startSystem(folder, env);
  system.signal('SIGTERM');
  expect(await system.exited).toBe(0);
  await remove();
});

test('settings that cannot be used are all reported at once', async () => {
  const running = startProcess('everything.ts', [], {
    MODEL_CONFIG: '/nowhere/x.json',
    GATEWAY_PROCESSES: '2',
  });
  expect(await running.exited).toBe(1);
  const [first, ...problems] = running.errors().trimEnd().split('\n');
  expect(first).toBe('turnpike: cannot start, 3 settings need a change:');
  expect(problems.map((line) => line.split(' ')[1])).toEqual(['DATABASE_URL', 'REDIS_URL', 'MODEL_CONFIG:']);
});

test('a pooler without DATABASE_DIRECT_URL', async () => {
  // What PgBouncer answers to a connection that sets what it does not track.
  const fields = 'SFATAL\0C08P01\0Munsupported startup parameter: jit\0\0';
  const answer = Buffer.concat([Buffer.from('E'), Buffer.alloc(4), Buffer.from(fields)]);
  answer.writeUInt32BE(answer.length - 1, 1);
  const pooler = Bun.listen({
    ...{ hostname: '127.0.0.1', port: 0 },
    socket: { data: (socket) => void socket.end(answer) },
  });
  const at = `127.0.0.1:${pooler.port}`;
  const servers = { DATABASE_URL: `postgres://turnpike@${at}/turnpike`, REDIS_URL: 'redis://127.0.0.1:1' };
  expect(await refusal(servers)).toBe(
    `turnpike: DATABASE_URL: PostgreSQL at ${at} cannot be used: unsupported startup parameter: jit: ` +
      'behind a pooler, set DATABASE_DIRECT_URL to PostgreSQL itself\n',
  );
  pooler.stop(true);
});

test.each([
  ['DATABASE_URL', 'postgres://me:hunter2@127.0.0.1:1/x', 'PostgreSQL at 127.0.0.1:1 cannot be used'],
  ['REDIS_URL', 'redis://me:hunter2@127.0.0.1:1', '127.0.0.1:1'],
])('an unreachable server of %s, without its password', async (name, url, problem) => {
  const line = await refusal({ [name]: url });
  expect(line).toStartWith(`turnpike: ${name}: `);
  expect(line).toContain(problem);
  expect(line).not.toContain('hunter2');
});

describePostgres('a database that cannot be used: what to do', () => {
  test('it does not exist', async () => {
    const url = new URL(givenDatabase() ?? '');
    url.pathname = '/turnpike_none';
    const line = await refusal({ DATABASE_URL: url.href });
    expect(line).toContain('database "turnpike_none" does not exist: create it (create database … owner …');
  });

  test.each([
    [
      'the user may not create tables in it',
      'alter database NAME set role pg_monitor',
      /cannot be migrated: permission denied for schema public: the user must own the database/,
    ],
    [
      'it takes no writes',
      'alter database NAME set default_transaction_read_only = on',
      /cannot be migrated: .*read-only transaction: it must be a server that takes writes/,
    ],
    [
      'it has tables of another program',
      'create table companies (id integer)',
      /cannot be migrated: migration 0001_accounts failed: .* already exists: use a database of its own/,
    ],
    [
      'it is newer than the code',
      `create table schema_migrations (number integer primary key, name text, applied_at timestamptz);
       insert into schema_migrations values (9999, '9999_from_the_future', now())`,
      /the database is newer than this code: it has 9999_from_the_future/,
    ],
  ])('%s', async (_why, statement, message) => {
    const { url, drop } = await freshDatabase();
    const sql = new SQL({ url, max: 1 });
    await sql.unsafe(statement.replace('NAME', new URL(url).pathname.slice(1)));
    await sql.close();
    expect(await refusal({ DATABASE_URL: url })).toMatch(message);
    await drop();
  });
});

describeServers('on PostgreSQL and Redis', () => {
  test.each(['192.0.2.1', 'host.invalid'])('a HOST that is not of this machine: %s', async (HOST) => {
    const { url, drop } = await freshDatabase();
    const servers = { DATABASE_URL: url, REDIS_URL: givenRedis() ?? '' };
    const alone = { DEMO_WORLD: 'off', PAYMENT_SANDBOX: 'off', GATEWAY_PORT: '0' };
    expect(await refusal({ ...alone, ...servers, HOST }, 'gateway.ts')).toBe(
      `turnpike: GATEWAY_PORT 0 on HOST ${HOST} cannot be opened (not an address of this machine): ` +
        'set HOST to an address of this machine, such as 127.0.0.1 or 0.0.0.0\n',
    );
    await drop();
  });

  test('production runs with no demo world, no sandbox and nothing generated', async () => {
    const { folder, remove } = await emptyDataFolder();
    const { url, drop } = await freshDatabase();
    // Commands on a server need no folder of their own, and no Redis.
    const lacking = {
      DATA_DIR: '/dev/null/data',
      DATABASE_URL: url,
      REDIS_URL: 'redis://me:hunter2@127.0.0.1:1',
    };
    const command = startProcess('turnpike.ts', ['audit'], lacking);
    expect(await command.exited).toBe(0);
    expect(command.output()).toContain('the books balance');
    expect(command.errors()).toMatch(/^turnpike: REDIS_URL: .* goes on without it: running services notice/);
    expect(command.errors()).not.toContain('hunter2');
    const secret = (n: number) => `${n}k3J9xQ0vTz7LmPw2RbYc5NdHs8GfAu1E`;
    const system = await startSystem(folder, {
      NODE_ENV: 'production',
      DATABASE_URL: url,
      REDIS_URL: givenRedis() ?? '',
      JWT_SECRET: secret(1),
      INTERNAL_TOKEN: secret(2),
      WEBHOOK_SECRET: secret(3),
      MASTER_KEY: secret(4),
      // Nothing answers there: what the start requests of its own servers does not go through it.
      HTTP_PROXY: 'http://127.0.0.1:1',
    });
    expect(system.output()).not.toContain('payment sandbox');
    expect(system.demo).toThrow();
    const sql = new SQL(url);
    expect((await sql`select count(*)::int as n from companies`)[0].n).toBe(0);
    await sql.close();
    system.signal('SIGTERM');
    expect(await system.exited).toBe(0);
    await drop();
    await remove();
  });
});

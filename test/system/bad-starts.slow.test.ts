import { describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { SQL } from 'bun';
import { prepareDataFolder } from '../../src/start/processes/data-folder.ts';
import { freshDatabase, migratedDatabase } from '../services/fresh-database.ts';
import { givenDatabase, givenRedis } from '../services/given.ts';
import { emptyDataFolder, preparedDataFolder, startProcess, startSystem } from './running-system.ts';

const hasServers = givenDatabase() !== null && givenRedis() !== null;

/** One clear line on standard error, exit code 1, nothing else. */
async function refusal(env: Record<string, string>, file = 'everything.ts'): Promise<string> {
  const running = startProcess(file, [], env);
  expect(await running.exited).toBe(1);
  expect(running.errors().trimEnd().split('\n')).toHaveLength(1);
  expect(running.output()).not.toContain('ready');
  return running.errors();
}

describe('a bad start is one clear line and an exit code', () => {
  test('a port in use, and nothing is damaged: the next start works', async () => {
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

  test.skipIf(!hasServers)('a HOST that is not of this machine', async () => {
    const { folder, remove } = await emptyDataFolder();
    const { url, drop } = await migratedDatabase();
    const alone = { DATA_DIR: folder, DEMO_WORLD: 'off', PAYMENT_SANDBOX: 'off' };
    const servers = { DATABASE_URL: url, REDIS_URL: givenRedis() ?? '' };
    for (const HOST of ['192.0.2.1', 'host.invalid']) {
      expect(await refusal({ ...alone, ...servers, HOST, GATEWAY_PORT: '0' }, 'gateway.ts')).toBe(
        `turnpike: GATEWAY_PORT 0 on HOST ${HOST} cannot be opened (not an address of this machine): ` +
          'set HOST to an address of this machine, such as 127.0.0.1 or 0.0.0.0\n',
      );
    }
    await drop();
    await remove();
  });

  test('a pooler without DATABASE_DIRECT_URL', async () => {
    const { folder, remove } = await emptyDataFolder();
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
    expect(await refusal({ DATA_DIR: folder, ...servers })).toBe(
      `turnpike: DATABASE_URL: PostgreSQL at ${at} cannot be used: unsupported startup parameter: jit: ` +
        'behind a pooler, set DATABASE_DIRECT_URL to PostgreSQL itself\n',
    );
    pooler.stop(true);
    await remove();
  });

  test('a DATA_DIR that cannot be written', async () => {
    const { folder, remove } = await emptyDataFolder();
    writeFileSync(folder, 'a file, not a folder');
    expect(await refusal({ DATA_DIR: join(folder, 'data') })).toContain('cannot be written');
    await remove();
  });

  test('no free disk', async () => {
    const { folder, remove } = await emptyDataFolder();
    expect(() => prepareDataFolder(folder, [], Number.MAX_SAFE_INTEGER)).toThrow(
      'MiB of free disk: at least',
    );
    await remove();
  });

  test('a damaged secrets file', async () => {
    const { folder, remove } = await preparedDataFolder();
    writeFileSync(join(folder, 'secrets.json'), '{"jwtSecret": "x"');
    expect(await refusal({ DATA_DIR: folder })).toContain(
      'secrets.json is damaged: restore it, or remove it',
    );
    await remove();
  });

  test('a broken configuration file, with all other problems at once', async () => {
    const { folder, remove } = await emptyDataFolder();
    await mkdir(dirname(folder), { recursive: true });
    writeFileSync(`${folder}.json`, '{');
    const env = { DATA_DIR: folder, MODEL_CONFIG: `${folder}.json`, GATEWAY_PROCESSES: '2' };
    const running = startProcess('everything.ts', [], env);
    expect(await running.exited).toBe(1);
    const lines = running.errors().trimEnd().split('\n');
    expect(lines[0]).toBe('turnpike: cannot start, 3 settings need a change:');
    expect(lines.slice(1).map((line) => line.split(' ')[1])).toEqual([
      'DATABASE_URL',
      'REDIS_URL',
      'MODEL_CONFIG:',
    ]);
    await remove();
  });

  test('an unreachable PostgreSQL, without its password', async () => {
    const { folder, remove } = await emptyDataFolder();
    const line = await refusal({ DATA_DIR: folder, DATABASE_URL: 'postgres://me:hunter2@127.0.0.1:1/x' });
    expect(line).toStartWith('turnpike: DATABASE_URL: PostgreSQL at 127.0.0.1:1 cannot be used');
    expect(line).toEndWith(': check that it runs, and the host and port of the URL\n');
    expect(line).not.toContain('hunter2');
    await remove();
  });

  test('an unreachable Redis, without its password', async () => {
    const { folder, remove } = await preparedDataFolder();
    const line = await refusal({ DATA_DIR: folder, REDIS_URL: 'redis://me:hunter2@127.0.0.1:1' });
    expect(line).toStartWith('turnpike: REDIS_URL:');
    expect(line).toContain('127.0.0.1:1');
    expect(line).not.toContain('hunter2');
    await remove();
  });

  test.skipIf(givenDatabase() === null)('a newer database than the code, which is not changed', async () => {
    const { folder, remove } = await emptyDataFolder();
    const { url, drop } = await freshDatabase();
    const sql = new SQL(url);
    await sql`create table schema_migrations (number integer primary key, name text, applied_at timestamptz)`;
    await sql`insert into schema_migrations values (9999, '9999_from_the_future', now())`;
    const line = await refusal({ DATA_DIR: folder, DATABASE_URL: url });
    expect(line).toContain('the database is newer than this code: it has 9999_from_the_future');
    const tables = await sql`select count(*)::int as n from pg_tables where schemaname = 'public'`;
    expect(tables[0].n).toBe(1);
    await sql.close();
    await drop();
    await remove();
  });

  test.skipIf(givenDatabase() === null)('a database that does not exist: how to create it', async () => {
    const { folder, remove } = await emptyDataFolder();
    const url = new URL(givenDatabase() ?? '');
    url.pathname = '/turnpike_none';
    const line = await refusal({ DATA_DIR: folder, DATABASE_URL: url.href });
    expect(line).toContain('database "turnpike_none" does not exist: create it (create database … owner …');
    await remove();
  });

  describe.skipIf(givenDatabase() === null)('a database that cannot be migrated: advice', () => {
    const cases: readonly (readonly [why: string, statement: string, message: RegExp])[] = [
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
    ];
    test.each(cases)('%s', async (_why, statement, message) => {
      const { folder, remove } = await emptyDataFolder();
      const { url, drop } = await freshDatabase();
      const name = new URL(url).pathname.slice(1);
      const sql = new SQL({ url, max: 1 });
      await sql.unsafe(statement.replace('NAME', name));
      await sql.close();
      const line = await refusal({ DATA_DIR: folder, DATABASE_URL: url });
      expect(line).toStartWith(`turnpike: DATABASE_URL: the database at ${new URL(url).host} cannot`);
      expect(line).toMatch(message);
      await drop();
      await remove();
    });
  });

  test('production without secrets names them all', async () => {
    const running = startProcess('everything.ts', [], { NODE_ENV: 'production', DEMO_WORLD: 'on' });
    expect(await running.exited).toBe(1);
    for (const name of ['JWT_SECRET', 'INTERNAL_TOKEN', 'MASTER_KEY', 'WEBHOOK_SECRET', 'DEMO_WORLD']) {
      expect(running.errors()).toContain(`- ${name} `);
    }
  });

  test('a single service without PostgreSQL and Redis reports that it needs both', async () => {
    for (const file of ['gateway.ts', 'backend.ts', 'ai-service.ts']) {
      const running = startProcess(file, [], {});
      expect(await running.exited).toBe(1);
      expect(running.errors()).toContain('- DATABASE_URL is missing');
      expect(running.errors()).toContain('- REDIS_URL is missing');
    }
  });
});

describe.skipIf(!hasServers)('production', () => {
  test('runs on PostgreSQL and Redis with no demo world, no sandbox and nothing generated', async () => {
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

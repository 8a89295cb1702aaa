import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SQL } from 'bun';
import { describePostgres } from '../setup/use-postgres.ts';
import { givenDatabase } from './given.ts';
import { hostTag } from './run-name.ts';
import { isTestRunner, sweepStaleFolders } from './sweep.ts';
import { dropDatabasesOf, sweepStaleDatabases } from './template-database.ts';

describe('folders that a killed run has left', () => {
  let parent = '';
  beforeEach(() => {
    parent = mkdtempSync(join(tmpdir(), 'sweep-'));
  });
  afterEach(() => rmSync(parent, { recursive: true, force: true }));

  test('are removed with their content, and so is one of this process’s own number; others of runners that run stay', () => {
    mkdirSync(join(parent, 'turnpike-test-4242-aBc123', 'postgresql', 'data'), { recursive: true });
    mkdirSync(join(parent, `turnpike-test-${process.pid}-aBc123`));
    mkdirSync(join(parent, 'turnpike-test-4243-aBc123'));
    expect(sweepStaleFolders([parent], (pid) => pid !== 4242)).toHaveLength(2);
    expect(readdirSync(parent)).toEqual(['turnpike-test-4243-aBc123']);
  });

  test('builds of single runs go once they are a day old', () => {
    for (const name of ['turnpike-built-0-aaaaaaaa', 'turnpike-built-0-bbbbbbbb'])
      mkdirSync(join(parent, name));
    const yesterday = Date.now() / 1_000 - 25 * 60 * 60;
    utimesSync(join(parent, 'turnpike-built-0-aaaaaaaa'), yesterday, yesterday);
    sweepStaleFolders([parent], () => true);
    expect(readdirSync(parent)).toEqual(['turnpike-built-0-bbbbbbbb']);
  });

  test('everything with another name stays, files and links too', () => {
    for (const name of ['turnpike-test-', 'turnpike-test-x-abc', 'turnpike-test-12', 'other-12-abc'])
      mkdirSync(join(parent, name));
    writeFileSync(join(parent, 'turnpike-test-12-file'), '');
    symlinkSync('/', join(parent, 'turnpike-test-12-link'));
    expect(sweepStaleFolders([parent, join(parent, 'nowhere')], () => false)).toEqual([]);
    expect(readdirSync(parent)).toHaveLength(6);
  });

  test('a bare run of tests is a runner; a process id that now belongs to another program is none', () => {
    expect(isTestRunner(process.pid)).toBe(true);
    const other = spawn('sleep', ['60']);
    expect(isTestRunner(other.pid ?? 0)).toBe(false);
    other.kill('SIGKILL');
  });
});

describePostgres('databases that a run has left', () => {
  const server = givenDatabase() ?? '';
  /** Process ids end far below these. */
  const dead = 1_000_000_001;
  const alive = 1_000_000_002;

  async function withDatabases(names: readonly string[], work: (sql: SQL) => Promise<void>): Promise<void> {
    const sql = new SQL({ url: server, max: 1 });
    for (const name of names)
      await sql.unsafe(`create database ${name} template template0 strategy file_copy`);
    await work(sql);
    for (const name of names) await sql.unsafe(`drop database if exists ${name}`);
    await sql.close();
  }

  test('are dropped where their runner was on this machine and has ended, and no others', async () => {
    const id = crypto.randomUUID().slice(0, 8);
    const stale = [
      `turnpike_template_${hostTag()}_${dead}_${id}`,
      `turnpike_test_${hostTag()}_${dead}_${id}`,
    ];
    const others = [`turnpike_test_${hostTag()}_${alive}_${id}`, `turnpike_test_00000000_${dead}_${id}`];
    await withDatabases([...stale, ...others], async () => {
      expect(await sweepStaleDatabases(server, (pid) => pid !== dead)).toEqual(stale);
    });
  });

  test('are dropped by their own runner at its end', async () => {
    const run = `${hostTag()}_${dead}`;
    const names = ['aaaaaaaa', 'bbbbbbbb'].map((id) => `turnpike_test_${run}_${id}`);
    await withDatabases(names, async (sql) => {
      await dropDatabasesOf(server, run);
      const left = await sql`select datname from pg_database where datname like ${`turnpike_test_${run}%`}`;
      expect(left).toHaveLength(0);
    });
  });
});

describe('a server that is not given', () => {
  const names = ['TEST_DATABASE_URL', 'CI'];
  const before = new Map(names.map((name) => [name, process.env[name]]));
  afterEach(() => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  });

  test('is null, so that tests are skipped; in CI, where a skipped test would look like a passed one, it is an error', () => {
    for (const name of names) delete process.env[name];
    expect(givenDatabase()).toBeNull();
    process.env.CI = 'true';
    expect(givenDatabase).toThrow('set TEST_DATABASE_URL');
  });
});

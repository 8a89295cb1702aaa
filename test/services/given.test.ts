import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { SQL } from 'bun';
import { freshDatabase } from './fresh-database.ts';
import { givenDatabase, givenRedis } from './given.ts';

describe('a server that is not given', () => {
  const names = ['TEST_DATABASE_URL', 'TEST_REDIS_URL', 'CI'];
  const before = new Map(names.map((name) => [name, process.env[name]]));
  beforeEach(() => {
    for (const name of names) delete process.env[name];
  });
  afterEach(() => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  });

  test('is null, so that tests are skipped', () => {
    expect(givenDatabase()).toBeNull();
    expect(givenRedis()).toBeNull();
  });

  test('is an error in CI that says what to do', () => {
    process.env.CI = 'true';
    expect(givenDatabase).toThrow('set TEST_DATABASE_URL');
    expect(givenRedis).toThrow('set TEST_REDIS_URL');
  });
});

describe.skipIf(givenDatabase() === null)('a fresh database', () => {
  test('is empty, its own, and gone after the drop although somebody is connected', async () => {
    const one = await freshDatabase();
    const other = await freshDatabase();
    const sql = new SQL({ url: one.url, max: 1 });
    await sql`CREATE TABLE mark (id integer)`;
    const elsewhere = new SQL({ url: other.url, max: 1 });
    const tables = await elsewhere`SELECT 1 FROM pg_tables WHERE tablename = 'mark'`;
    expect(tables).toHaveLength(0);
    await elsewhere.close();
    await Promise.all([one.drop(), other.drop()]);
    expect(Promise.resolve(sql`SELECT 1`)).rejects.toThrow();
    await sql.close();
  });
});

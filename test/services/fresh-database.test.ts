import { describe, expect, test } from 'bun:test';
import { SQL } from 'bun';
import { freshDatabase, migratedDatabase } from './fresh-database.ts';
import { givenDatabase } from './given.ts';
import { hostTag } from './run-name.ts';
import { dropDatabasesOf, ensureTemplate, sweepStaleDatabases } from './template-database.ts';

describe.skipIf(givenDatabase() === null)('a fresh database', () => {
  test('is empty and separate, and is dropped although a client is connected', async () => {
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

describe.skipIf(givenDatabase() === null)('a migrated database', () => {
  const server = givenDatabase() ?? '';

  test('has the schema, and rows written to it are in no other one', async () => {
    const [one, other] = await Promise.all([migratedDatabase(), migratedDatabase()]);
    const sqls = [one, other].map(({ url }) => new SQL({ url, max: 1 }));
    await sqls[0]?.unsafe('create table mark (id integer)');
    const counts = await Promise.all(
      sqls.map(async (sql) => {
        const [row] = await sql`select (select count(*)::int from companies) as companies,
          (select count(*)::int from pg_tables where tablename = 'mark') as marks`;
        return { ...row };
      }),
    );
    expect(counts).toEqual([
      { companies: 0, marks: 1 },
      { companies: 0, marks: 0 },
    ]);
    await Promise.all(sqls.map((sql) => sql.close()));
    await Promise.all([one.drop(), other.drop()]);
  });

  test('is the copy of a template that accepts no connections', async () => {
    const sql = new SQL({ url: server, max: 1 });
    const name = await ensureTemplate(server);
    const [row] = await sql`select datallowconn from pg_database where datname = ${name}`;
    expect(row?.datallowconn).toBe(false);
    await sql.close();
  });
});

describe.skipIf(givenDatabase() === null)('databases of finished runs', () => {
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

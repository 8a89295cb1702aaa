import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Database, DatabaseFailure } from '../../src/ports/database.ts';

interface DatabaseUnderTest {
  database: Database;
  close(): Promise<void>;
}

/** What every database adapter keeps. `open` gives one that is empty. */
export function databaseContract(name: string, open: () => Promise<DatabaseUnderTest>): void {
  describe(`database contract: ${name}`, () => {
    let under: DatabaseUnderTest;
    let database: Database;
    beforeAll(async () => {
      under = await open();
      database = under.database;
      await database.script('create table things (id integer primary key, name text unique, tags text[])');
    });
    afterAll(async () => {
      await under.close();
    });

    valuesComeBackAsTheyWent(() => database);
    transactionsAreWholeOrNothing(() => database);
    failuresSayWhatTheyAre(() => database);
    messagesArrive(() => database);
  });
}

export async function failureOf(work: Promise<unknown>): Promise<DatabaseFailure> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toMatchObject({ name: 'DatabaseFailure' });
  return error as DatabaseFailure;
}

function valuesComeBackAsTheyWent(given: () => Database): void {
  test('every type of value is returned as the port documents', async () => {
    const [row] = await given().query(
      `select 1::bigint as big, count(*) as counted, 9007199254740993::bigint as huge,
      2::integer as whole, 0.5::float8 as real, 1.10::numeric as exact, true as yes, null as nothing, 'é€😀' as text,
      timestamptz '2024-02-29 12:00:00.123+02' as at, '{"a":[1,null]}'::jsonb as json, '\\x0001ff'::bytea as bytes,
      array['p','q"r','s,t',null] as texts, array[1,2]::bigint[] as bigs,
      array[3,4]::integer[] as wholes, array[3,null]::integer[] as some, array[5]::smallint[] as smalls,
      array[0.5,2]::float4[] as singles, array[0.5,2]::float8[] as reals, '{}'::integer[] as none,
      '7b0e9d8e-5f0c-4f57-9d3e-2a1b3c4d5e6f'::uuid as id where $1::integer = 1`,
      [1],
    );
    expect(new Uint8Array(row?.bytes as Uint8Array)).toEqual(new Uint8Array([0, 1, 255]));
    // As JSON too, which a typed array is not a list in.
    expect(JSON.stringify([row?.wholes, row?.some, row?.none, row?.singles])).toBe(
      '[[3,4],[3,null],[],[0.5,2]]',
    );
    expect<unknown>({ ...row, bytes: null }).toEqual({
      big: 1n,
      counted: 1n,
      huge: 9007199254740993n,
      whole: 2,
      real: 0.5,
      exact: '1.10',
      yes: true,
      nothing: null,
      text: 'é€😀',
      at: new Date('2024-02-29T10:00:00.123Z'),
      json: { a: [1, null] },
      bytes: null,
      texts: ['p', 'q"r', 's,t', null],
      bigs: [1n, 2n],
      wholes: [3, 4],
      some: [3, null],
      smalls: [5],
      singles: [0.5, 2],
      none: [],
      reals: [0.5, 2],
      id: '7b0e9d8e-5f0c-4f57-9d3e-2a1b3c4d5e6f',
    });
  });

  test('every type of value is accepted as a parameter', async () => {
    const at = new Date('2031-01-01T00:00:00.001Z');
    const [row] = await given().query(
      `select $1::bigint as big, $2::text as text, $3::timestamptz as at, $4::bytea as bytes, $5::jsonb as json,
        $6::jsonb as list, $7::boolean as no, $8::text as nothing, $9::float8 as real, $10::uuid as id,
        $11::text[] as texts, $12::timestamptz[] as times`,
      [
        9007199254740993n,
        "'; drop table things; --",
        at,
        new Uint8Array([0, 255]),
        { a: 'ü' },
        [1, 'x'],
        false,
        null,
        1.5,
        '7b0e9d8e-5f0c-4f57-9d3e-2a1b3c4d5e6f',
        ['a', 'b"c'],
        [at],
      ],
    );
    expect(new Uint8Array(row?.bytes as Uint8Array)).toEqual(new Uint8Array([0, 255]));
    expect<unknown>({ ...row, bytes: null }).toEqual({
      big: 9007199254740993n,
      text: "'; drop table things; --",
      at,
      bytes: null,
      json: { a: 'ü' },
      list: [1, 'x'],
      no: false,
      nothing: null,
      real: 1.5,
      id: '7b0e9d8e-5f0c-4f57-9d3e-2a1b3c4d5e6f',
      texts: ['a', 'b"c'],
      times: [at],
    });
  });

  test('a script runs several statements and returns all their rows', async () => {
    const rows = await given().script("select 1 as a; select 2 as a where false; select 'x' as b");
    expect(rows).toEqual([{ a: 1 }, { b: 'x' }]);
  });
}

function transactionsAreWholeOrNothing(given: () => Database): void {
  const names = async () =>
    (await given().query<{ name: string }>('select name from things order by id')).map((row) => row.name);
  const clear = () => given().query('delete from things');

  test('a transaction commits when its work resolves and returns its result', async () => {
    await clear();
    const result = await given().transaction(async (transaction) => {
      await transaction.query('insert into things (id, name) values (1, $1)', ['one']);
      await transaction.script("insert into things (id, name) values (2, 'two')");
      return (await transaction.query('select 1 from things')).length;
    });
    expect(result).toBe(2);
    expect(await names()).toEqual(['one', 'two']);
  });

  test('a transaction whose work rejects is rolled back, and the error reaches the caller', async () => {
    await clear();
    const work = given().transaction(async (transaction) => {
      await transaction.query("insert into things (id, name) values (1, 'one')");
      throw new Error('changed my mind');
    });
    expect(await work.catch((error: Error) => error.message)).toBe('changed my mind');
    expect(await names()).toEqual([]);
  });

  test('a transaction with a failed statement cannot commit, even if the failure was swallowed', async () => {
    await clear();
    const failure = await failureOf(
      given().transaction(async (transaction) => {
        await transaction.query("insert into things (id, name) values (1, 'one')");
        await transaction.query('select 1 / 0').catch(() => {});
      }),
    );
    expect(failure.sqlState).toBe('25P02');
    expect(await names()).toEqual([]);
  });

  test('concurrent transactions each see only their own statements', async () => {
    await clear();
    await Promise.all(
      Array.from({ length: 40 }, (_, id) =>
        given().transaction(async (transaction) => {
          await transaction.query('insert into things (id, name) values ($1, $2)', [id, `n${id}`]);
          await transaction.query("update things set name = name || '!' where id = $1", [id]);
        }),
      ),
    );
    expect((await names()).every((name) => name.endsWith('!'))).toBe(true);
    expect(await names()).toHaveLength(40);
  });

  test('a transaction used after its end fails instead of running outside it', async () => {
    await clear();
    let leaked: Parameters<Parameters<Database['transaction']>[0]>[0] | null = null;
    await given().transaction(async (transaction) => {
      leaked = transaction;
    });
    const late = async () => await leaked?.query("insert into things (id, name) values (9, 'late')");
    expect((await failureOf(late())).reason).toBe('refused');
    expect(await names()).toEqual([]);
  });

  test('a transaction that takes too long is rolled back and the next one runs', async () => {
    await clear();
    const failure = await failureOf(
      given().transaction(
        async (transaction) => {
          await transaction.query("insert into things (id, name) values (1, 'one')");
          await new Promise(() => {});
        },
        { timeoutMs: 50 },
      ),
    );
    expect(failure.reason).toBe('time-out');
    expect(await names()).toEqual([]);
  });
}

function failuresSayWhatTheyAre(given: () => Database): void {
  test('a failed statement reports its state and constraint, and the next one runs', async () => {
    await given().query("insert into things (id, name) values (70, 'x') on conflict do nothing");
    const twice = await failureOf(given().query("insert into things (id, name) values (71, 'x')"));
    expect(twice).toMatchObject({ reason: 'refused', sqlState: '23505', constraint: 'things_name_key' });
    const wrong = await failureOf(given().query('select from from things'));
    expect(wrong).toMatchObject({ reason: 'refused', sqlState: '42601' });
    const missing = await failureOf(given().query('select no_such_column from things'));
    expect(missing).toMatchObject({ reason: 'unavailable', sqlState: '42703' });
    const broken = await failureOf(given().script('begin; select 1 / 0; commit'));
    expect(broken.sqlState).toBe('22012');
    expect(await given().query('select 1 as a')).toEqual([{ a: 1 }]);
  });

  test('the pool reports its state', async () => {
    const slow = Promise.all(Array.from({ length: 5 }, () => given().query('select pg_sleep(0.05)')));
    expect(given().pool().busy).toBeGreaterThan(0);
    await slow;
    expect(given().pool()).toMatchObject({ busy: 0, waiting: 0 });
  });
}

function messagesArrive(given: () => Database): void {
  test('a notification reaches its listener once its transaction has committed', async () => {
    const payloads: string[] = [];
    let subscribed = 0;
    const arrived = Promise.withResolvers<void>();
    const listener = await given().listen(
      'news',
      (payload) => {
        payloads.push(payload);
        if (payload === 'last') arrived.resolve();
      },
      () => {
        subscribed += 1;
      },
    );
    await given()
      .transaction(async (transaction) => {
        await transaction.query("select pg_notify('news', 'rolled back')");
        throw new Error('no');
      })
      .catch(() => {});
    await given().transaction(async (transaction) => {
      await transaction.query("select pg_notify('news', 'last')");
    });
    await arrived.promise;
    expect(payloads).toEqual(['last']);
    expect(subscribed).toBe(1);
    await listener.close();
  });
}

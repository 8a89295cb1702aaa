import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { openPglite, openSharedPglite } from '../../../src/adapters/database/pglite/pglite.ts';
import { connectChannel } from '../../../src/adapters/request-channel/unix-socket.ts';
import type { RequestChannel } from '../../../src/ports/request-channel.ts';
import { databaseContract, failureOf } from '../../contracts/database.contract.ts';
import { embeddedFolder } from '../../doubles/embedded-folder.ts';
import { createSilentLog } from '../../doubles/silent-log.ts';
import { useResource } from '../../setup/use-resource.ts';

const THREAD = new URL('../../../src/start/wiring/embedded-database-thread.ts', import.meta.url);

/** The embedded database in this process, and the way that another process has to it. */
async function openBoth(maxWaiting = 1_000) {
  const { folder, remove } = await embeddedFolder();
  const path = join(folder, 'database.sock');
  const bounds = { log: createSilentLog(), statementTimeoutMs: 100_000, maxWaiting };
  const own = await openPglite({
    ...bounds,
    folder: join(folder, 'database'),
    shared: { path, thread: THREAD },
  });
  const channels: RequestChannel[] = [];
  const database = await openSharedPglite({
    ...bounds,
    async connect(onEvent) {
      const channel = await connectChannel({ path, onEvent, onClosed() {} });
      channels.push(channel);
      return channel;
    },
  });
  const close = async () => {
    await database.close();
    await own.close();
    await remove();
  };
  return { own, database, close, cut: () => channels.at(-1)?.close() };
}

databaseContract('PGlite of another process', openBoth);

const both = useResource(() => openBoth());
const EMPTY_TABLE = 'drop table if exists n; create table n (v integer);';

test('large values pass in both directions, complete', async () => {
  const { database } = both;
  const large = Buffer.from(crypto.getRandomValues(new Uint8Array(60_000)).toHex().repeat(25));
  const [row] = await database.query<{ same: Uint8Array }>('select $1::bytea as same', [large]);
  expect(Bun.hash(row?.same ?? new Uint8Array())).toBe(Bun.hash(large));
});

test('a transaction of one side waits for the other’s, and a statement for at most one turn of the other', async () => {
  const { own, database } = both;
  await own.script(`${EMPTY_TABLE} insert into n values (0)`);
  const add = (side: typeof own) =>
    side.transaction(async (transaction) => {
      const [row] = await transaction.query<{ v: number }>('select v from n');
      await transaction.query('update n set v = $1', [(row?.v ?? 0) + 1]);
    });
  const order: string[] = [];
  const long = Array.from({ length: 20 }, () => add(database).then(() => void order.push('other')));
  await own.query('select 1').then(() => order.push('own'));
  await Promise.all(long);
  expect(order.indexOf('own')).toBeLessThan(3);
  await Promise.all(Array.from({ length: 20 }, (_, at) => add(at % 2 === 0 ? own : database)));
  expect(await own.query('select v from n')).toEqual([{ v: 40 }]);
});

test('open transactions of a process are rolled back when it ends, and the other side continues', async () => {
  const { own, database, cut } = both;
  await own.script(EMPTY_TABLE);
  const failed = failureOf(
    database.transaction(async (transaction) => {
      await transaction.query('insert into n values (1)');
      cut();
      await transaction.query('insert into n values (2)');
    }),
  );
  expect(await failed).toMatchObject({ reason: 'unavailable' });
  expect(await own.query('select v from n')).toEqual([]);
  // The next statement connects anew.
  expect(await database.query('select 1 as one')).toEqual([{ one: 1 }]);
});

test('a transaction that its process leaves idle is rolled back while the other side waits, and nothing of it runs later', async () => {
  const { own, database } = both;
  await own.script(EMPTY_TABLE);
  const [begun, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const failed = failureOf(
    database.transaction(async (transaction) => {
      await transaction.query('insert into n values (1)');
      begun.resolve();
      await go.promise;
      await transaction.query('insert into n values (2)');
    }),
  );
  await begun.promise;
  expect(await own.query('select v from n')).toEqual([]);
  go.resolve();
  expect(await failed).toMatchObject({ reason: 'time-out', sqlState: '25P03' });
  expect(await own.query('select v from n')).toEqual([]);
});

describe('writes that are deferred', () => {
  /** A number that is written some time after it was raised. */
  async function openCounted() {
    const { own, database } = both;
    await own.script(`${EMPTY_TABLE} insert into n values (0)`);
    const { deferred } = own;
    if (deferred === undefined) throw new Error('the engine of this process defers writes');
    let raised = 0;
    let writes = 0;
    deferred.writeBy(async (statements) => {
      writes += 1;
      await statements.query('update n set v = $1', [raised]);
    });
    const raise = () => {
      raised += 1;
      deferred.add();
    };
    return { own, database, deferred, raise, raised: () => raised, writes: () => writes };
  }
  const READ = 'select v from n';

  test('are seen by every statement and transaction, of this process and of another', async () => {
    const { own, database, raise, deferred, writes } = await openCounted();
    for (const side of [own, database]) {
      raise();
      raise();
      expect(deferred.isEmpty()).toBe(false);
      const [row] = await side.query<{ v: number }>(READ);
      raise();
      const [next] = await side.transaction((transaction) => transaction.query<{ v: number }>(READ));
      raise();
      const [last] = await side.script(READ);
      expect([row?.v, next?.v, last?.v]).toEqual(side === own ? [2, 3, 4] : [6, 7, 8]);
      expect(deferred.isEmpty()).toBe(true);
    }
    // Several go together, and without any nothing is written.
    await Promise.all([own.query(READ), database.query(READ)]);
    expect(writes()).toBe(6);
    expect(database.deferred).toBeUndefined();
  });

  test('no statement runs before the writes that were deferred before it was sent', async () => {
    const { own, database, raise, raised } = await openCounted();
    const behind: number[] = [];
    async function look(side: typeof own): Promise<void> {
      for (let n = 0; n < 150; n += 1) {
        raise();
        const least = raised();
        const [row] = await side.query<{ v: number }>(READ);
        if ((row?.v ?? 0) < least) behind.push(least - (row?.v ?? 0));
      }
    }
    await Promise.all([look(own), look(database), look(database), look(own)]);
    expect(behind).toEqual([]);
    expect(await own.query(READ)).toEqual([{ v: 600 }]);
  });

  test('are not flushed by an unrelated statement, of this process or of another', async () => {
    const { own, database, raise, deferred, writes } = await openCounted();
    raise();
    for (const side of [own, database]) {
      expect(await side.query(READ, [], { isIndependent: true })).toEqual([{ v: 0 }]);
    }
    expect(writes()).toBe(0);
    expect(deferred.isEmpty()).toBe(false);
    expect(await database.query(READ, [], { isIndependent: false })).toEqual([{ v: 1 }]);
  });

  test('wait for a transaction that another process has begun, which continues meanwhile', async () => {
    const { own, database, raise } = await openCounted();
    const seen = await database.transaction(async (transaction) => {
      raise();
      const waiting = own.query<{ v: number }>(READ);
      const [inside] = await transaction.query<{ v: number }>(READ);
      return { inside: inside?.v, waiting };
    });
    expect(seen.inside).toBe(0);
    expect(await seen.waiting).toEqual([{ v: 1 }]);
  });
});

import { beforeAll, describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createRecordingLog } from '../../../test/doubles/recording-log.ts';
import { steerStatements } from '../../../test/doubles/steered-statements.ts';
import { until } from '../../../test/doubles/until.ts';
import { useMemoryDatabase } from '../../../test/setup/use-memory-database.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import { addCompany } from '../accounts/company.ts';
import { createLastUses } from './key-directory.ts';
import { findKey } from './key-lifecycle.ts';
import { mintKey } from './mint-key.ts';

const secrets = createSystemSecrets();
const companyId = secrets.newId();
const database = useMemoryDatabase();

beforeAll(async () => {
  await addCompany(database, { id: companyId, name: 'Acme', billingMode: 'PREPAID' });
});

async function open() {
  const clock = createManualClock();
  const store = steerStatements(database);
  const { log, entries } = createRecordingLog();
  const uses = createLastUses({ database: store, clock, log });
  async function mint(): Promise<string> {
    const wanted = { companyId, name: 'A key', createdBy: null };
    const minted = await mintKey({ database, secrets, clock }, wanted);
    if (minted.outcome !== 'minted') throw new Error(minted.outcome);
    return minted.key.id;
  }
  const lastUse = async (id: string) => (await findKey(database, companyId, id))?.lastUsedAt ?? null;
  return { clock, store, entries, uses, mint, lastUse };
}

describe('G-20 when a key was last used', () => {
  test('is written every half a minute, all keys in one statement, each at its last use', async () => {
    const { clock, store, uses, mint, lastUse } = await open();
    const [one, two, unused] = [await mint(), await mint(), await mint()];
    const start = clock.now();
    uses.note(one);
    await clock.advance(10_000);
    for (let n = 0; n < 1_000; n += 1) uses.note(two);
    await clock.advance(10_000);
    uses.note(one);
    await clock.advance(9_999);
    expect(store.asked).toEqual([]);
    await clock.advance(1);
    await until(async () => (await lastUse(one)) !== null);
    expect(store.asked).toHaveLength(1);
    expect(await lastUse(one)).toEqual(new Date(start + 20_000));
    expect(await lastUse(two)).toEqual(new Date(start + 10_000));
    expect(await lastUse(unused)).toBeNull();
    await clock.advance(60_000);
    expect(store.asked).toHaveLength(1);
    await uses.close();
  });

  test('is written when the process ends, and never goes back', async () => {
    const { clock, uses, mint, lastUse } = await open();
    const id = await mint();
    const late = new Date(clock.now() + 5_000);
    await database.query('update api_keys set last_used_at = $2 where id = $1', [id, late]);
    uses.note(id);
    await uses.close();
    expect(await lastUse(id)).toEqual(late);
    expect(clock.pendingTimers()).toBe(0);
    uses.note(id);
    expect(clock.pendingTimers()).toBe(0);
  });

  test('is lost where it cannot be written, which is said and hinders nobody', async () => {
    const { clock, store, entries, uses, mint, lastUse } = await open();
    const id = await mint();
    store.failWith('unavailable');
    uses.note(id);
    await clock.advance(30_000);
    expect(entries).toMatchObject([{ level: 'warn', context: { keys: 1 } }]);
    store.failWith(null);
    uses.note(id);
    await uses.close();
    expect(await lastUse(id)).toEqual(new Date(clock.now()));
  });

  test('of too many keys the first ten thousand are written', async () => {
    const { store, uses } = await open();
    for (let n = 0; n < 10_500; n += 1) uses.note(secrets.newId());
    await uses.close();
    expect(store.asked.map(({ values }) => (values[0] as string[]).length)).toEqual([10_000]);
  });
});

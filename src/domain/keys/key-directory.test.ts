import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type Forwarder, startForwarder, through } from '../../../test/doubles/forwarder.ts';
import { createKeyRecords } from '../../../test/doubles/key-records.ts';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { openKeyDirectory } from '../../../test/doubles/opened-key-directory.ts';
import { createRecordingLog } from '../../../test/doubles/recording-log.ts';
import { createSilentLog } from '../../../test/doubles/silent-log.ts';
import { steerStatements } from '../../../test/doubles/steered-statements.ts';
import { until } from '../../../test/doubles/until.ts';
import { useDatabase } from '../../../test/setup/use-database.ts';
import { describeRedis, useRedis } from '../../../test/setup/use-redis.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import type { SharedState } from '../../ports/shared-state.ts';
import { addCompany } from '../accounts/company.ts';
import { createKeyDirectory, createLastUses } from './key-directory.ts';
import { findKey } from './key-lifecycle.ts';
import { generateRawKey, mintKey } from './mint-key.ts';

const secrets = createSystemSecrets();
const MINUTE_MS = 60_000;

describe('a live key', () => {
  test('is looked up once and then answered from memory, with sets of its rights', async () => {
    const { records, store, directory } = await openKeyDirectory();
    const { rawKey, key } = records.mint({ models: ['a', 'b'], scopes: ['jobs:read'] });
    const first = directory.find(rawKey);
    expect(first).toBeInstanceOf(Promise);
    const live = await first;
    expect(live).toEqual({
      outcome: 'live',
      key,
      scopes: new Set(['jobs:read']),
      models: new Set(['a', 'b']),
    });
    expect(directory.find(rawKey)).toBe(live);
    expect(store.asked).toHaveLength(1);
  });

  test('in steady use never waits, and the store is queried about twice a second', async () => {
    const { clock, records, store, directory, outcome } = await openKeyDirectory();
    const { rawKey } = records.mint();
    await outcome(rawKey);
    for (let n = 0; n < 1_000; n += 1) {
      await clock.advance(10);
      expect(directory.find(rawKey)).toMatchObject({ outcome: 'live' });
    }
    expect(store.asked.length).toBeLessThanOrEqual(1 + 20);
  });

  test('100 calls at once make one look-up; 1,000 keys at once a few statements', async () => {
    const { records, store, outcome } = await openKeyDirectory();
    const { rawKey } = records.mint();
    const outcomes = await Promise.all(Array.from({ length: 100 }, () => outcome(rawKey)));
    expect(new Set(outcomes)).toEqual(new Set(['live']));
    expect(store.asked).toHaveLength(1);
    const many = Array.from({ length: 1_000 }, () => records.mint().rawKey);
    expect(new Set(await Promise.all(many.map(outcome)))).toEqual(new Set(['live']));
    expect(store.asked).toHaveLength(1 + 2);
  });
});

test('a key is known once it was found, however long ago, until it expires or is revoked, and the store is not asked', async () => {
  const { clock, records, store, directory, revoke, outcome } = await openKeyDirectory();
  const [lasting, expiring] = [
    records.mint(),
    records.mint({ expiresAt: new Date(clock.now() + MINUTE_MS) }),
  ];
  expect(directory.known(lasting.rawKey)).toBeNull();
  for (const { rawKey } of [lasting, expiring]) expect(await outcome(rawKey)).toBe('live');
  const before = store.asked.length;
  expect(directory.known(expiring.rawKey)).toEqual(expiring.key);
  await clock.advance(MINUTE_MS);
  expect(directory.known(expiring.rawKey)).toBeNull();
  expect(directory.known(lasting.rawKey)).toEqual(lasting.key);
  await revoke(lasting.hash);
  for (const rawKey of [lasting.rawKey, 'guessed', '']) expect(directory.known(rawKey)).toBeNull();
  expect(store.asked).toHaveLength(before);
});

describe('G-25 invalid keys', () => {
  test('G-25 unknown, revoked and expired ones take the same path, the first time and afterwards', async () => {
    const { clock, records, store, directory, revoke, outcome } = await openKeyDirectory();
    const [revoked, expired] = [records.mint(), records.mint({ expiresAt: new Date(clock.now() + 10) })];
    for (const { rawKey } of [revoked, expired]) expect(await outcome(rawKey)).toBe('live');
    await revoke(revoked.hash);
    await clock.advance(10);
    for (const rawKey of [generateRawKey(secrets), revoked.rawKey, expired.rawKey]) {
      const askedBefore = store.asked.length;
      const first = directory.find(rawKey);
      expect(first).toBeInstanceOf(Promise);
      const answer = await first;
      expect(answer).toEqual({ outcome: 'unknown' });
      expect(await store.query('', store.asked.at(-1)?.values)).toEqual([]);
      expect(store.asked).toHaveLength(askedBefore + 2);
      expect(directory.find(rawKey)).toBe(answer);
    }
    await clock.advance(1_000);
    for (const rawKey of [revoked.rawKey, expired.rawKey]) {
      expect(directory.find(rawKey)).toBeInstanceOf(Promise);
    }
  });

  test('malformed ones are not looked up', async () => {
    const { store, directory } = await openKeyDirectory();
    for (const rawKey of ['', 'tpk_', 'x'.repeat(1_000_000), `${generateRawKey(secrets)}0`]) {
      expect(directory.find(rawKey)).toEqual({ outcome: 'unknown' });
    }
    expect(store.asked).toEqual([]);
  });
});

describe('bounds', () => {
  test('random keys evict no live key', async () => {
    const { records, store, directory, outcome } = await openKeyDirectory({
      maxEntries: 10,
      maxUnknownEntries: 20,
    });
    const keys = Array.from({ length: 10 }, () => records.mint().rawKey);
    await Promise.all(keys.map(outcome));
    const random = Array.from({ length: 1_000 }, () => generateRawKey(secrets));
    expect(new Set(await Promise.all(random.map(outcome)))).toEqual(new Set(['unknown']));
    const askedBefore = store.asked.length;
    for (const rawKey of keys) expect(directory.find(rawKey)).toMatchObject({ outcome: 'live' });
    // Of the random ones the last 20 are remembered.
    for (const rawKey of random.slice(-20)) expect(directory.find(rawKey)).toEqual({ outcome: 'unknown' });
    expect(store.asked).toHaveLength(askedBefore);
    expect(directory.find(random.at(-21) ?? '')).toBeInstanceOf(Promise);
  });

  test('of too many live keys the least recently used is evicted', async () => {
    const { clock, records, directory, outcome } = await openKeyDirectory({ maxEntries: 3 });
    const [one, two, three, four] = Array.from({ length: 4 }, () => records.mint().rawKey);
    for (const rawKey of [one, two, three]) await outcome(rawKey ?? '');
    await clock.advance(600);
    directory.find(one ?? '');
    await clock.advance(25);
    await outcome(four ?? '');
    expect(directory.find(one ?? '')).toMatchObject({ outcome: 'live' });
    expect(directory.find(two ?? '')).toBeInstanceOf(Promise);
  });
});

describe('G-23 a revoked key', () => {
  test('G-23 is dropped at once by the message', async () => {
    const { records, store, revoke, outcome } = await openKeyDirectory();
    const { rawKey, hash } = records.mint();
    expect(await outcome(rawKey)).toBe('live');
    await revoke(hash);
    expect(await outcome(rawKey)).toBe('unknown');
    expect(store.asked).toHaveLength(2);
  });

  test('G-23 a response that takes more than a second is not used for look-ups that start now', async () => {
    const { clock, records, store, directory, outcome } = await openKeyDirectory();
    const { rawKey, hash } = records.mint();
    store.hold();
    const early = directory.find(rawKey);
    await store.held(1);
    records.revoke(hash);
    await clock.advance(1_001);
    const late = directory.find(rawKey);
    store.release();
    expect(await late).toEqual({ outcome: 'unknown' });
    expect(await early).toEqual({ outcome: 'unknown' });
    expect(await outcome(rawKey)).toBe('unknown');
  });
});

describe('a gap in the messages', () => {
  test('drops everything, also look-ups in progress', async () => {
    const { records, store, messages, directory, outcome } = await openKeyDirectory();
    const [known, other] = [records.mint(), records.mint()];
    expect(await outcome(known.rawKey)).toBe('live');
    store.hold();
    const early = directory.find(other.rawKey);
    await store.held(1);
    for (const { hash } of [known, other]) records.revoke(hash);
    messages.gap();
    store.release();
    expect(await early).toEqual({ outcome: 'unknown' });
    expect(await outcome(known.rawKey)).toBe('unknown');
    expect(await outcome(other.rawKey)).toBe('unknown');
  });

  test('after repeated gaps during one look-up the store counts as unavailable, and no look-up waits for ever', async () => {
    const { records, store, messages, directory } = await openKeyDirectory();
    const { rawKey } = records.mint();
    store.hold();
    const found = directory.find(rawKey);
    for (let gaps = 0; gaps < 5; gaps += 1) {
      await store.held(1);
      messages.gap();
      store.release();
      store.hold();
    }
    expect(await found).toEqual({ outcome: 'unavailable' });
  });
});

describe('while the store is unavailable', () => {
  test('a key that was not cached is unavailable, and works as soon as the store is back', async () => {
    const { records, store, outcome } = await openKeyDirectory();
    const { rawKey } = records.mint();
    for (const reason of ['unavailable', 'time-out', 'busy'] as const) {
      store.failWith(reason);
      expect(await outcome(rawKey)).toBe('unavailable');
    }
    store.failWith(null);
    expect(await outcome(rawKey)).toBe('live');
  });

  test('a live key works for ten more minutes, without waiting, and no longer', async () => {
    const { clock, records, store, directory, outcome } = await openKeyDirectory();
    const { rawKey } = records.mint();
    await outcome(rawKey);
    const confirmedAtMs = clock.now();
    store.failWith('unavailable');
    await clock.advance(1_000);
    expect(await outcome(rawKey)).toBe('live');
    const askedBefore = store.asked.length;
    while (clock.now() < confirmedAtMs + 10 * MINUTE_MS) {
      expect(directory.find(rawKey)).toMatchObject({ outcome: 'live' });
      await clock.advance(100);
    }
    // Twice a second is how often the store is tried.
    expect(store.asked.length - askedBefore).toBeLessThanOrEqual(2 * 600);
    expect(await outcome(rawKey)).toBe('unavailable');
    store.failWith(null);
    expect(await outcome(rawKey)).toBe('live');
  });

  test('G-24 no key works past its own expiry, or past a published revocation', async () => {
    const { clock, records, store, messages, outcome } = await openKeyDirectory();
    const expiring = records.mint({ expiresAt: new Date(clock.now() + MINUTE_MS) });
    const revoked = records.mint();
    for (const { rawKey } of [expiring, revoked]) await outcome(rawKey);
    store.failWith('unavailable');
    await clock.advance(2_000);
    for (const { rawKey } of [expiring, revoked]) expect(await outcome(rawKey)).toBe('live');
    await messages.publish('keys', revoked.hash);
    expect(await outcome(revoked.rawKey)).toBe('unavailable');
    await clock.advance(MINUTE_MS);
    expect(await outcome(expiring.rawKey)).toBe('unavailable');
  });

  test('a revocation in the meantime is found when the store is back, by the first call', async () => {
    const { clock, records, store, directory, outcome } = await openKeyDirectory();
    const { rawKey, hash } = records.mint();
    await outcome(rawKey);
    store.failWith('unavailable');
    await clock.advance(2_000);
    expect(await outcome(rawKey)).toBe('live');
    records.revoke(hash);
    store.failWith(null);
    // This one is still answered by what is remembered, and has the store tried in the background.
    expect(directory.find(rawKey)).toMatchObject({ outcome: 'live' });
    await clock.advance(500);
    expect(directory.find(rawKey)).toEqual({ outcome: 'unknown' });
  });

  test('messages lost while the store is unavailable drop no live key; once back, it is queried first', async () => {
    const { clock, records, store, messages, outcome } = await openKeyDirectory();
    const { rawKey, hash } = records.mint();
    await outcome(rawKey);
    store.failWith('unavailable');
    messages.gap();
    expect(await outcome(rawKey)).toBe('live');
    records.revoke(hash);
    store.failWith(null);
    await clock.advance(1_000);
    expect(await outcome(rawKey)).toBe('unknown');
  });

  test('G-23 a store that was unavailable at the last query is queried first after a second', async () => {
    const { clock, records, store, outcome } = await openKeyDirectory();
    const { rawKey, hash } = records.mint();
    await outcome(rawKey);
    store.failWith('unavailable');
    await clock.advance(2_000);
    expect(await outcome(rawKey)).toBe('live');
    store.failWith(null);
    records.revoke(hash);
    await clock.advance(1_000);
    expect(await outcome(rawKey)).toBe('unknown');
  });

  test('a store that does not respond counts as unavailable after a second for live keys; others wait', async () => {
    const { clock, records, store, directory, outcome } = await openKeyDirectory();
    const [known, other] = [records.mint(), records.mint()];
    await outcome(known.rawKey);
    await clock.advance(1_000);
    store.hold();
    const answers: string[] = [];
    const note = (name: string) => (found: { outcome: string }) =>
      void answers.push(`${name} ${found.outcome}`);
    void Promise.resolve(directory.find(known.rawKey)).then(note('known'));
    void Promise.resolve(directory.find(other.rawKey)).then(note('other'));
    await clock.advance(999);
    expect(answers).toEqual([]);
    await clock.advance(1);
    expect(answers).toEqual(['known live']);
    await clock.advance(9_000);
    expect(directory.find(known.rawKey)).toMatchObject({ outcome: 'live' });
    store.release();
    await clock.advance(0);
    expect(answers).toEqual(['known live', 'other live']);
  });

  test('the outage is logged once when it begins and once when it ends', async () => {
    const { clock, store, entries, outcome } = await openKeyDirectory();
    store.failWith('unavailable');
    for (let n = 0; n < 5; n += 1) await outcome(generateRawKey(secrets));
    store.failWith(null);
    for (let n = 0; n < 5; n += 1) await outcome(generateRawKey(secrets));
    await clock.advance(10_000);
    expect(entries.map(({ level, message }) => `${level}: ${message}`)).toEqual([
      'warn: keys cannot be looked up; those in use stay valid for a while',
      'info: keys can be looked up again',
    ]);
  });
});

describe('a store that rejects the statement', () => {
  test('is an internal error: it is logged as an error, and no key is served from memory', async () => {
    const { clock, records, store, entries, outcome } = await openKeyDirectory();
    const { rawKey } = records.mint();
    await outcome(rawKey);
    store.failWith('refused');
    await clock.advance(1_000);
    expect(await outcome(rawKey)).toBe('unavailable');
    expect(entries).toMatchObject([{ level: 'error', message: 'the look-up of keys is refused' }]);
    store.failWith(null);
    expect(await outcome(rawKey)).toBe('live');
  });
});

describe('a flood of random keys while the store is slow', () => {
  test('all waiting look-ups fail at once when the store turns out to be unavailable', async () => {
    const { store, outcome } = await openKeyDirectory();
    store.hold();
    const flood = Array.from({ length: 5_000 }, () => outcome(generateRawKey(secrets)));
    await store.held(2);
    store.failWith('time-out');
    store.release();
    expect(new Set(await Promise.all(flood))).toEqual(new Set(['unavailable']));
    expect(store.asked).toHaveLength(2);
  });

  test('is bounded, runs two statements at a time, and serves live keys first', async () => {
    const { clock, records, store, outcome } = await openKeyDirectory();
    const known = records.mint();
    await outcome(known.rawKey);
    await clock.advance(1_000);
    store.hold();
    const flood = Array.from({ length: 12_000 }, () => outcome(generateRawKey(secrets)));
    await store.held(2);
    expect(store.asked).toHaveLength(1 + 2);
    const live = outcome(known.rawKey);
    await Promise.resolve();
    store.release();
    expect(await live).toBe('live');
    // The third statement after the two that were under way already holds the known key, before 499 others.
    expect(store.asked[3]?.values[0]).toHaveProperty('0', known.hash);
    const outcomes = await Promise.all(flood);
    expect(outcomes.filter((one) => one === 'unknown')).toHaveLength(10_000);
    expect(outcomes.filter((one) => one === 'unavailable')).toHaveLength(2_000);
    for (const { values } of store.asked) expect((values[0] as string[]).length).toBeLessThanOrEqual(500);
  });
});

test('once closed, it answers unavailable, also to waiting look-ups, and leaves no timer', async () => {
  const { clock, records, store, directory } = await openKeyDirectory();
  const keys = Array.from({ length: 1_200 }, () => records.mint());
  store.hold();
  const found = keys.map(({ rawKey }) => Promise.resolve(directory.find(rawKey)));
  await store.held(2);
  directory.noteUse(keys[0]?.key.id ?? '');
  store.release();
  await directory.close();
  expect(directory.find(keys[0]?.rawKey ?? '')).toEqual({ outcome: 'unavailable' });
  const outcomes = (await Promise.all(found)).map(({ outcome }) => outcome);
  expect(outcomes.filter((outcome) => outcome === 'live')).toHaveLength(1_000);
  expect(outcomes.filter((outcome) => outcome === 'unavailable')).toHaveLength(200);
  expect(clock.pendingTimers()).toBe(0);
});

describe('G-20 when a key was last used', () => {
  const companyId = secrets.newId();
  const database = useDatabase();

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

  test('is written within five seconds, all keys in one statement, each at its last use', async () => {
    const { clock, store, uses, mint, lastUse } = await open();
    const [one, two, unused] = [await mint(), await mint(), await mint()];
    const start = clock.now();
    uses.note(one);
    await clock.advance(1_000);
    for (let n = 0; n < 1_000; n += 1) uses.note(two);
    await clock.advance(1_000);
    uses.note(one);
    await clock.advance(1_999);
    expect(store.asked).toEqual([]);
    await clock.advance(1);
    await until(async () => (await lastUse(one)) !== null);
    expect(store.asked).toHaveLength(1);
    expect(await lastUse(one)).toEqual(new Date(start + 2_000));
    expect(await lastUse(two)).toEqual(new Date(start + 1_000));
    expect(await lastUse(unused)).toBeNull();
    await clock.advance(60_000);
    expect(store.asked).toHaveLength(1);
    await uses.close();
  });

  test('is written when the process ends, and never decreases', async () => {
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

  test('is written with the next round where the database was unavailable, which is logged once', async () => {
    const { clock, store, entries, uses, mint, lastUse } = await open();
    const id = await mint();
    store.failWith('unavailable');
    const usedAt = new Date(clock.now());
    uses.note(id);
    await clock.advance(4_000);
    await clock.advance(4_000);
    expect(entries).toMatchObject([{ level: 'warn', context: { keys: 1 } }]);
    store.failWith(null);
    await clock.advance(4_000);
    await until(async () => (await lastUse(id)) !== null);
    expect(await lastUse(id)).toEqual(usedAt);
    await uses.close();
  });

  test('of too many keys the first ten thousand are written', async () => {
    const { store, uses } = await open();
    for (let n = 0; n < 10_500; n += 1) uses.note(secrets.newId());
    await uses.close();
    expect(store.asked.map(({ values }) => (values[0] as string[]).length)).toEqual([10_000]);
  });
});

/** The clock does not move, so no answer gets too old: only messages and gaps drop anything here. */
describeRedis('G-23 keys on Redis', () => {
  const redis = useRedis();
  let forwarder: Forwarder;
  let backend: SharedState;
  let gateway: SharedState;
  beforeAll(async () => {
    forwarder = startForwarder(Number(new URL(redis.url).port || 6379));
    const options = { timeoutMs: 2_000, prefix: redis.newPrefix() };
    backend = await redis.open(options);
    gateway = await redis.open({ ...options, url: through(redis.url, forwarder) });
  });
  afterAll(() => forwarder?.close());

  test('G-23 a revocation in one process drops the key in another; what happened during a gap is seen after it', async () => {
    const records = createKeyRecords();
    const [clock, secrets, log] = [createManualClock(), createSystemSecrets(), createSilentLog()];
    const parts = { clock, secrets, log };
    const directory = await createKeyDirectory({ ...parts, database: records, sharedState: gateway });
    const outcome = async (rawKey: string) => (await directory.find(rawKey)).outcome;
    const [published, lost] = [records.mint(), records.mint()];
    for (const { rawKey } of [published, lost]) expect(await outcome(rawKey)).toBe('live');

    records.revoke(published.hash);
    await backend.publish('keys', published.hash);
    await until(async () => (await outcome(published.rawKey)) === 'unknown');

    forwarder.cut();
    records.revoke(lost.hash);
    await backend.publish('keys', lost.hash);
    expect(await outcome(lost.rawKey)).toBe('live');
    forwarder.restore();
    await until(async () => (await outcome(lost.rawKey)) === 'unknown');
    await directory.close();
  });
});

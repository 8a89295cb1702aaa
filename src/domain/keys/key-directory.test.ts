import { describe, expect, test } from 'bun:test';
import { openKeyDirectory } from '../../../test/doubles/opened-key-directory.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import { drawRawKey } from './mint-key.ts';

const secrets = createSystemSecrets();

describe('a live key', () => {
  test('is looked up once and then answered for at once, with sets of what it may do', async () => {
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

  test('in steady use is never waited for, and the store is asked about twice a second', async () => {
    const { clock, records, store, directory, outcome } = await openKeyDirectory();
    const { rawKey } = records.mint();
    await outcome(rawKey);
    for (let n = 0; n < 1_000; n += 1) {
      await clock.advance(10);
      expect(directory.find(rawKey)).toMatchObject({ outcome: 'live' });
    }
    expect(store.asked.length).toBeLessThanOrEqual(1 + 20);
  });

  test('that was not used for a second is looked up anew, and waited for', async () => {
    const { clock, records, store, directory, outcome } = await openKeyDirectory();
    const { rawKey } = records.mint();
    await outcome(rawKey);
    await clock.advance(1_000);
    expect(directory.find(rawKey)).toBeInstanceOf(Promise);
    expect(await outcome(rawKey)).toBe('live');
    expect(store.asked).toHaveLength(2);
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

describe('G-24 expiry', () => {
  test('G-24 holds from its millisecond on, whatever is remembered', async () => {
    const { clock, records, outcome } = await openKeyDirectory();
    const { rawKey } = records.mint({ expiresAt: new Date(clock.now() + 100) });
    expect(await outcome(rawKey)).toBe('live');
    await clock.advance(99);
    expect(await outcome(rawKey)).toBe('live');
    await clock.advance(1);
    expect(await outcome(rawKey)).toBe('unknown');
  });

  test('G-24 also where the key expires while the answer is on its way', async () => {
    const { clock, records, store, directory } = await openKeyDirectory();
    const { rawKey } = records.mint({ expiresAt: new Date(clock.now() + 100) });
    store.hold();
    const found = directory.find(rawKey);
    await store.held(1);
    await clock.advance(100);
    store.release();
    expect(await found).toEqual({ outcome: 'unknown' });
  });
});

describe('G-25 keys that open nothing', () => {
  test('G-25 unknown, revoked and expired ones take the same path, the first time and afterwards', async () => {
    const { clock, records, store, directory, revoke, outcome } = await openKeyDirectory();
    const [revoked, expired] = [records.mint(), records.mint({ expiresAt: new Date(clock.now() + 10) })];
    for (const { rawKey } of [revoked, expired]) expect(await outcome(rawKey)).toBe('live');
    await revoke(revoked.hash);
    await clock.advance(10);
    for (const rawKey of [drawRawKey(secrets), revoked.rawKey, expired.rawKey]) {
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
    for (const rawKey of ['', 'tpk_', 'x'.repeat(1_000_000), `${drawRawKey(secrets)}0`]) {
      expect(directory.find(rawKey)).toEqual({ outcome: 'unknown' });
    }
    expect(store.asked).toEqual([]);
  });
});

describe('bounds', () => {
  test('random keys push no live key out', async () => {
    const { records, store, directory, outcome } = await openKeyDirectory({
      maxEntries: 10,
      maxUnknownEntries: 20,
    });
    const keys = Array.from({ length: 10 }, () => records.mint().rawKey);
    await Promise.all(keys.map(outcome));
    const random = Array.from({ length: 1_000 }, () => drawRawKey(secrets));
    expect(new Set(await Promise.all(random.map(outcome)))).toEqual(new Set(['unknown']));
    const askedBefore = store.asked.length;
    for (const rawKey of keys) expect(directory.find(rawKey)).toMatchObject({ outcome: 'live' });
    // Of the random ones the last 20 are remembered.
    for (const rawKey of random.slice(-20)) expect(directory.find(rawKey)).toEqual({ outcome: 'unknown' });
    expect(store.asked).toHaveLength(askedBefore);
    expect(directory.find(random.at(-21) ?? '')).toBeInstanceOf(Promise);
  });

  test('of too many live keys the one that was not used for longest is forgotten', async () => {
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

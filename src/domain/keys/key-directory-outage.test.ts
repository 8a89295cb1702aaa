import { describe, expect, test } from 'bun:test';
import { openKeyDirectory } from '../../../test/doubles/opened-key-directory.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import { drawRawKey } from './mint-key.ts';

const secrets = createSystemSecrets();
const MINUTE_MS = 60_000;

describe('while the store is away', () => {
  for (const reason of ['unavailable', 'time-out', 'busy'] as const) {
    test(`(${reason}) a key that was not known is unavailable, and works as soon as the store is back`, async () => {
      const { records, store, outcome } = await openKeyDirectory();
      const { rawKey } = records.mint();
      store.failWith(reason);
      expect(await outcome(rawKey)).toBe('unavailable');
      expect(await outcome(rawKey)).toBe('unavailable');
      store.failWith(null);
      expect(await outcome(rawKey)).toBe('live');
    });
  }

  test('a key that was live works on for ten minutes, without waiting, and no longer', async () => {
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

  test('no key works past its own expiry, or past a revocation that was heard of', async () => {
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

  test('what was revoked meanwhile is found out when the store is back, by the call that finds it back', async () => {
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

  test('messages that were lost while the store is away take no key that was live; back, it is asked first', async () => {
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

  test('G-23 a store that was away when it was last asked is asked first after a second', async () => {
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

  test('a store that is silent counts as away after a second for keys that were live; others wait', async () => {
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

  test('it is said once when it begins and once when it ends', async () => {
    const { clock, store, entries, outcome } = await openKeyDirectory();
    store.failWith('unavailable');
    for (let n = 0; n < 5; n += 1) await outcome(drawRawKey(secrets));
    store.failWith(null);
    for (let n = 0; n < 5; n += 1) await outcome(drawRawKey(secrets));
    await clock.advance(10_000);
    expect(entries.map(({ level, message }) => `${level}: ${message}`)).toEqual([
      'warn: keys cannot be looked up; those in use go on for a while',
      'info: keys can be looked up again',
    ]);
  });
});

describe('a store that refuses the statement', () => {
  test('is a fault of ours: it is an error in the log, and no key works on', async () => {
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
  test('is told at once, to the last in line, when the store turns out to be away', async () => {
    const { store, outcome } = await openKeyDirectory();
    store.hold();
    const flood = Array.from({ length: 5_000 }, () => outcome(drawRawKey(secrets)));
    await store.held(2);
    store.failWith('time-out');
    store.release();
    expect(new Set(await Promise.all(flood))).toEqual(new Set(['unavailable']));
    expect(store.asked).toHaveLength(2);
  });

  test('is bounded, asks two statements at a time, and keys that were live come first', async () => {
    const { clock, records, store, outcome } = await openKeyDirectory();
    const known = records.mint();
    await outcome(known.rawKey);
    await clock.advance(1_000);
    store.hold();
    const flood = Array.from({ length: 12_000 }, () => outcome(drawRawKey(secrets)));
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

test('closed, it answers unavailable, whoever waits in line is told, and no timer is left', async () => {
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

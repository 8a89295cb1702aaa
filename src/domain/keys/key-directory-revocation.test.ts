import { describe, expect, test } from 'bun:test';
import { openKeyDirectory } from '../../../test/doubles/opened-key-directory.ts';

describe('G-23 a revoked key', () => {
  test('G-23 is dropped at once by the message', async () => {
    const { records, store, revoke, outcome } = await openKeyDirectory();
    const { rawKey, hash } = records.mint();
    expect(await outcome(rawKey)).toBe('live');
    await revoke(hash);
    expect(await outcome(rawKey)).toBe('unknown');
    expect(store.asked).toHaveLength(2);
  });

  test('G-23 is dropped within a second where the message was lost, however it was used before', async () => {
    for (let usedMs = 0; usedMs <= 1_500; usedMs += 50) {
      const { clock, records, outcome } = await openKeyDirectory();
      const { rawKey, hash } = records.mint();
      expect(await outcome(rawKey)).toBe('live');
      for (let ms = 0; ms < usedMs; ms += 50) {
        await clock.advance(50);
        expect(await outcome(rawKey)).toBe('live');
      }
      records.revoke(hash);
      await clock.advance(500);
      await outcome(rawKey);
      await clock.advance(500);
      expect(await outcome(rawKey)).toBe('unknown');
    }
  });

  test('G-23 a look-up under way when the message arrives does not bring it back', async () => {
    const { records, store, revoke, directory, outcome } = await openKeyDirectory();
    const { rawKey, hash } = records.mint();
    store.hold();
    const early = directory.find(rawKey);
    await store.held(1);
    await revoke(hash);
    const late = directory.find(rawKey);
    await Promise.resolve();
    store.release();
    expect(await early).toEqual({ outcome: 'unknown' });
    expect(await late).toEqual({ outcome: 'unknown' });
    expect(await outcome(rawKey)).toBe('unknown');
  });

  test('G-23 nor does one that runs in the background', async () => {
    const { clock, records, store, revoke, directory, outcome } = await openKeyDirectory();
    const { rawKey, hash } = records.mint();
    await outcome(rawKey);
    await clock.advance(600);
    store.hold();
    expect(directory.find(rawKey)).toMatchObject({ outcome: 'live' });
    await clock.advance(25);
    await store.held(1);
    await revoke(hash);
    store.release();
    expect(await outcome(rawKey)).toBe('unknown');
  });

  test('G-23 an answer is as old as its question: the time it took counts', async () => {
    const { clock, records, store, directory, outcome } = await openKeyDirectory();
    const { rawKey, hash } = records.mint();
    store.hold();
    const early = directory.find(rawKey);
    await store.held(1);
    records.revoke(hash);
    await clock.advance(900);
    store.release();
    expect(await early).toMatchObject({ outcome: 'live' });
    await clock.advance(100);
    expect(await outcome(rawKey)).toBe('unknown');
  });

  test('G-23 an answer that is on its way for more than a second is good for nobody who asks now', async () => {
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
  test('drops everything, what is on its way too', async () => {
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

  test('after gap upon gap during one look-up the store counts as unavailable, and nobody waits for ever', async () => {
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

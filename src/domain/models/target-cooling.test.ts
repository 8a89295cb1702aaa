import { describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createRecordingLog } from '../../../test/doubles/recording-log.ts';
import { createInProcessState } from '../../adapters/shared-state/in-process.ts';
import { createTargetCooling } from './target-cooling.ts';

/** Two processes on one clock, which know the same two targets. */
async function open() {
  const clock = createManualClock();
  const { log, entries } = createRecordingLog();
  const sharedState = createInProcessState({ clock });
  const published: string[] = [];
  await sharedState.subscribe(
    'target-cooling',
    (text) => void published.push(text),
    () => {},
  );
  const parts = { clock, log, sharedState };
  const [one, two] = [await createTargetCooling(parts), await createTargetCooling(parts)];
  for (const cooling of [one, two]) cooling.keepOnly(new Set(['a', 'b']));
  return { clock, one, two, entries, published, sharedState };
}

describe('a target that cools', () => {
  test.each([
    ['429', 7_000, 7_000],
    ['429', null, 5_000],
    ['529', null, 5_000],
    ['429', 0, 1],
    ['429', 86_400_000, 3_600_000],
    ['401', null, 60_000],
    ['403', null, 60_000],
  ])(
    'after %s with a wait of %p does so for %p ms, in every process, and no other target does',
    async (reason, waitMs, forMs) => {
      const { clock, one, two } = await open();
      one.cool('a', reason, waitMs);
      await clock.advance(0);
      const untilMs = clock.now() + forMs;
      for (const cooling of [one, two]) {
        expect([cooling.of('a'), cooling.of('b')]).toEqual([{ reason, untilMs }, null]);
      }
      await clock.advance(forMs);
      expect([one.of('a'), two.of('a')]).toEqual([null, null]);
    },
  );

  test('is free again when its key works; a rate limit lasts its time, whatever calls before it came to', async () => {
    const { clock, one } = await open();
    one.cool('a', '401', null);
    one.cool('b', '429', 1_000);
    one.noteSuccess('a');
    one.noteSuccess('b');
    expect([one.of('a'), one.of('b')]).toEqual([null, { reason: '429', untilMs: clock.now() + 1_000 }]);
    await clock.advance(1_000);
    one.noteSuccess('b');
    expect(one.isEmpty()).toBe(true);
  });

  test('is logged and passed on once a second, however many calls meet it', async () => {
    const { clock, one, entries, published } = await open();
    for (let call = 0; call < 100; call += 1) one.cool('a', '429', 10_000);
    await clock.advance(0);
    expect([entries.length, published.length]).toEqual([1, 1]);
    await clock.advance(1_000);
    one.cool('a', '429', 10_000);
    await clock.advance(0);
    expect([entries.length, published.length]).toEqual([2, 2]);
  });

  test('is removed with its target; a message that is not ours is skipped', async () => {
    const { one, two, sharedState } = await open();
    one.cool('gone', '429', null);
    expect(one.isEmpty()).toBe(true);
    one.cool('a', '429', null);
    one.keepOnly(new Set(['b']));
    expect(one.of('a')).toBeNull();
    for (const text of ['{', '{}', '{"targetId":"b","reason":"x","forMs":5}']) {
      await sharedState.publish('target-cooling', text);
    }
    expect(two.of('b')).toBeNull();
    await Promise.all([one.close(), two.close()]);
  });
});

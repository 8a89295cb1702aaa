import { expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createSilentLog } from '../../../test/doubles/silent-log.ts';
import { createInProcessState } from '../../adapters/shared-state/in-process.ts';
import { createUnpricedCalls } from './unpriced-calls.ts';

test('a company may have so many answers with an unknown cost a day, over all processes', async () => {
  const clock = createManualClock(Date.UTC(2030, 0, 1, 23));
  const open = () => createInProcessState({ clock, log: createSilentLog() });
  const [sharedState, ownState] = [open(), open()];
  const parts = { sharedState, ownState, clock, perDay: 2 };
  const [one, other] = [createUnpricedCalls(parts), createUnpricedCalls(parts)];
  const isSpent = (by = one) => by.isSpent('company');
  expect(await isSpent()).toBe(false);
  await one.answered('company', ['service_tier']);
  await other.answered('company', ['service_tier', 'audio']);
  expect([await isSpent(), await isSpent(other)]).toEqual([false, false]);
  await one.answered('company', ['audio']);
  expect([await isSpent(), await isSpent(other), await one.isSpent('another')]).toEqual([true, true, false]);
  expect([one.counts(), other.counts()]).toEqual([
    { service_tier: 1, audio: 1 },
    { service_tier: 1, audio: 1 },
  ]);
  // A new day in UTC.
  await clock.advance(3_600_000);
  expect(await isSpent()).toBe(false);

  // Without shared state each process counts alone.
  await sharedState.close();
  const away = { ...sharedState, reserve: () => Promise.reject(new Error('away')) };
  const alone = createUnpricedCalls({ ...parts, sharedState: away, perDay: 0 });
  expect(await isSpent(alone)).toBe(false);
  await alone.answered('company', ['audio']);
  expect(await isSpent(alone)).toBe(true);
  await ownState.close();
});

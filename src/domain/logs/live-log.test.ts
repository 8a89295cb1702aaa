import { expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import type { LogEntry } from '../../ports/log.ts';
import type { SharedState } from '../../ports/shared-state.ts';
import { createLiveLog } from './live-log.ts';

const ENTRY: LogEntry = {
  timestamp: '2030-01-01T00:00:00.000Z',
  level: 'warn',
  message: 'slow',
  context: { ms: 9 },
};

function given(publish: SharedState['publish']) {
  const clock = createManualClock();
  const live = createLiveLog({ sharedState: { publish } as SharedState, clock });
  return { clock, live };
}

test('every entry is published as JSON on the topic logs', () => {
  const published: [string, string][] = [];
  const { live } = given(async (topic, message) => void published.push([topic, message]));
  live.take(ENTRY);
  expect(published.map(([topic, message]) => [topic, JSON.parse(message)])).toEqual([['logs', ENTRY]]);
});

test('while shared state is slow, entries past 200 under way are dropped and counted', async () => {
  const waiting: (() => void)[] = [];
  const { live, clock } = given(() => new Promise((resolve) => void waiting.push(resolve)));
  for (let n = 0; n < 250; n += 1) live.take(ENTRY);
  expect(waiting).toHaveLength(200);
  expect(live.droppedCount()).toBe(50);
  for (const answer of waiting.splice(0)) answer();
  await clock.advance(0);
  live.take(ENTRY);
  expect(waiting).toHaveLength(1);
});

test('a failure to publish reaches nobody and is followed by a pause, so that what is logged about it ends', async () => {
  let tries = 0;
  const { live, clock } = given(async () => {
    tries += 1;
    if (tries > 50) return;
    await Promise.resolve();
    // As an adapter that logs each of its failures would do.
    live.take(ENTRY);
    throw new Error('gone');
  });
  live.take(ENTRY);
  await clock.advance(0);
  // A few: entries about a failure are logged just before it arrives here.
  const few = tries;
  expect(few).toBeLessThan(5);
  for (let n = 0; n < 100; n += 1) live.take(ENTRY);
  await clock.advance(999);
  expect(tries).toBe(few);
  await clock.advance(1);
  live.take(ENTRY);
  expect(tries).toBe(few + 1);
});

test('shared state that throws instead of rejecting is harmless too', () => {
  const { live } = given(() => {
    throw new Error('closed');
  });
  live.take(ENTRY);
  expect(live.droppedCount()).toBe(1);
});

import { expect, spyOn, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { until } from '../../../test/doubles/until.ts';
import { openProcessFigures } from './start-service.ts';

const MINUTE_MS = 60_000;
/** Longer than the event loop of a busy machine stalls by itself. */
const STALLED_MS = 2_000;

test('A-8 a stall of the event loop is reported for one to two minutes, for any number of readers', async () => {
  const clock = createManualClock();
  const figures = openProcessFigures(clock, () => 0);
  // The first ticks have no tick before them to be late after.
  await until(() => figures().eventLoopDelayMs.max > 0);
  Bun.sleepSync(STALLED_MS);
  await until(() => figures().eventLoopDelayMs.max >= STALLED_MS * 0.9);
  const { max } = figures().eventLoopDelayMs;
  await clock.advance(MINUTE_MS);
  for (let look = 0; look < 3; look += 1) expect(figures().eventLoopDelayMs.max).toBe(max);
  await clock.advance(MINUTE_MS);
  expect(figures().eventLoopDelayMs.max).toBeLessThan(STALLED_MS * 0.9);
});

test('without a free descriptor the memory cannot be read: the last known figures are reported', () => {
  const figures = openProcessFigures(createManualClock(), () => 0);
  const { memory } = figures();
  const fails = (): never => {
    throw new Error('Failed to get memory usage');
  };
  const memoryUsage = spyOn(process, 'memoryUsage').mockImplementation(Object.assign(fails, { rss: fails }));
  try {
    expect(figures().memory).toEqual(memory);
  } finally {
    memoryUsage.mockRestore();
  }
});

import { expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createRecordingLog } from '../../../test/doubles/recording-log.ts';
import { createUnsettledNotice } from './call-reservation.ts';

test('an outage is told once a minute, with how many calls it met', async () => {
  const clock = createManualClock(1_000);
  const { log, entries } = createRecordingLog();
  const notice = createUnsettledNotice(clock, log);
  for (let n = 0; n < 100; n += 1) notice(new Error('away'));
  expect(entries).toHaveLength(1);
  await clock.advance(60_000);
  notice(new Error('away'));
  expect(entries.map(({ context }) => context.othersSince)).toEqual([0, 99]);
});

import { expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createKeyReports, REPORT_WITHIN_MS } from './key-reports.ts';

test('what a key repeats is reported at first and each time it has grown tenfold, and anew after ten minutes', async () => {
  const clock = createManualClock();
  const reports = createKeyReports({ clock, first: 5 });
  const reported = Array.from({ length: 1_000 }, () => reports.note('loop')).filter(
    (count) => count !== null,
  );
  expect(reported).toEqual([5, 50, 500]);
  expect(reports.note('other')).toBeNull();
  await clock.advance(REPORT_WITHIN_MS);
  expect(Array.from({ length: 5 }, () => reports.note('loop')).at(-1)).toBe(5);
});

test('only the newest ten thousand keys are counted', () => {
  const reports = createKeyReports({ clock: createManualClock(), first: 2 });
  reports.note('oldest');
  for (let n = 0; n < 10_000; n += 1) reports.note(`key ${n}`);
  expect(reports.note('key 9999')).toBe(2);
  expect(reports.note('oldest')).toBeNull();
});

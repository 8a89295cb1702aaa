import { expect, test } from 'bun:test';
import { deferredUntil, nextRetryAt } from './apply-event.ts';

const NOW = new Date(Date.UTC(2030, 0, 1));
const minutesUntil = (at: Date | null) => (at === null ? null : (at.getTime() - NOW.getTime()) / 60_000);

test('P-24 a waiting event is retried after a minute, then less and less often, up to every six hours', () => {
  const waits = [0, 1, 2, 8, 9, 30, 1_000].map((attempts) =>
    minutesUntil(deferredUntil({ receivedAt: NOW, attempts }, NOW)),
  );
  expect(waits).toEqual([1, 2, 4, 256, 360, 360, 360]);
});

test('an event that has waited for thirty days is left to an operator', () => {
  const received = (days: number) => new Date(NOW.getTime() - days * 24 * 60 * 60_000);
  expect(deferredUntil({ receivedAt: received(29), attempts: 3 }, NOW)).not.toBeNull();
  expect(deferredUntil({ receivedAt: received(30), attempts: 3 }, NOW)).toBeNull();
});

test('an internal error is retried for more than two days, then left to an operator', () => {
  const waits = Array.from({ length: 15 }, (_, at) => minutesUntil(nextRetryAt(at + 1, NOW)) ?? 0);
  expect(waits[0]).toBe(1);
  expect(waits.reduce((sum, wait) => sum + wait, 0)).toBeGreaterThan(2 * 24 * 60 - 360);
  expect(nextRetryAt(16, NOW)).toBeNull();
});

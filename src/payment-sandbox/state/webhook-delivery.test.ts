import { expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createSilentLog } from '../../../test/doubles/silent-log.ts';
import { deferDatabase } from '../../../test/setup/defer-database.ts';
import { createWebhookDelivery } from './webhook-delivery.ts';

test('P-22 an event that is added while the time of the next attempt is read is looked for at once', async () => {
  let looks = 0;
  let isLate = true;
  const database = {
    ...deferDatabase('pglite', () => undefined),
    async query<R>(text: string): Promise<R[]> {
      if (!text.includes('min(next_attempt_at)')) {
        looks += 1;
        return [];
      }
      if (isLate) void delivery.nudge();
      isLate = false;
      return [{ earliest: null }] as R[];
    },
  };
  const clock = createManualClock();
  const delivery = createWebhookDelivery({ database, clock, log: createSilentLog(), ownUrl: () => '' });
  await delivery.nudge();
  expect([looks, clock.pendingTimers()]).toEqual([2, 1]);
  await delivery.close();
  expect(clock.pendingTimers()).toBe(0);
});

import { expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { until } from '../../../test/doubles/until.ts';
import { createHoldQueue } from './hold-queue.ts';

const PLACE = { tag: 'company', level: 'balance' };

function open(waitMs = 2_000) {
  const clock = createManualClock();
  const queue = createHoldQueue(clock, waitMs);
  const free = { places: 0 };
  const order: string[] = [];
  const call = (name: string, place = PLACE) =>
    queue.wait(place, async () => {
      const isHeld = free.places === 0;
      if (!isHeld) {
        free.places -= 1;
        order.push(name);
      }
      return { isHeld, value: isHeld ? 'held' : 'admitted' };
    });
  return { clock, queue, free, order, call };
}

test('G-29 calls that wait are admitted in their order, each as soon as a hold ends', async () => {
  const { queue, free, order, call } = open();
  const calls = ['first', 'second', 'third'].map((name) => call(name));
  for (let ended = 1; ended <= 3; ended += 1) {
    free.places += 1;
    await until(() => {
      queue.released('company');
      return order.length === ended;
    });
  }
  expect(await Promise.all(calls)).toEqual(['admitted', 'admitted', 'admitted']);
  expect(order).toEqual(['first', 'second', 'third']);
  expect(queue.isEmpty()).toBe(true);
});

test('G-29 a hold that ends in another process is found by trying again', async () => {
  const { clock, free, call } = open();
  const waiting = call('only');
  await clock.turn();
  free.places = 1;
  await clock.advance(100);
  expect(await waiting).toBe('admitted');
});

test('G-29 each waits its own time, then it is refused', async () => {
  const { clock, queue, call } = open(2_000);
  const first = call('first');
  await clock.turn();
  await clock.advance(1_000);
  const second = call('second');
  let ended = 0;
  void Promise.all([first, second]).then(() => {
    ended = clock.uptimeMs();
  });
  await until(async () => {
    await clock.advance(100);
    return ended > 0;
  });
  expect([await first, await second]).toEqual(['held', 'held']);
  expect(queue.isEmpty()).toBe(true);
});

test('who waits for another level, or in another company, is not waited for', async () => {
  const { clock, queue, free, call } = open();
  const waiting = call('balance');
  expect(queue.waitedFor('company', [{ level: 'budget' }])).toBeNull();
  expect(queue.waitedFor('another', [{ level: 'balance' }])).toBeNull();
  expect(queue.waitedFor('company', [{ level: 'budget' }, { level: 'balance' }])).toBe('balance');
  free.places = 2;
  expect(await call('budget', { tag: 'company', level: 'budget' })).toBe('admitted');
  await clock.advance(100);
  expect(await waiting).toBe('admitted');
});

test('at most 100 calls of a company wait; an attempt that fails leaves the line', async () => {
  const { clock, queue, free, call } = open();
  const failing = queue.wait(PLACE, () => Promise.reject(new Error('no answer')));
  const calls = Array.from({ length: 99 }, (_, at) => call(String(at)));
  expect(await call('one too many')).toBeNull();
  expect(failing).rejects.toThrow('no answer');
  free.places = 99;
  await until(async () => {
    await clock.advance(100);
    return queue.isEmpty();
  });
  expect(new Set(await Promise.all(calls))).toEqual(new Set(['admitted']));
});

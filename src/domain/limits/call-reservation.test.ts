import { expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createRecordingLog } from '../../../test/doubles/recording-log.ts';
import type { Settlement, SharedState } from '../../ports/shared-state.ts';
import { createSettleTogether, createUnsettledNotice } from './call-reservation.ts';

const tokens = (name: string, delta: number, bucket = 1) =>
  ({ kind: 'window', name, bucket, delta }) as const;
const release = (entry: string) => ({ kind: 'release', name: 'calls', entry }) as const;

function given(fails = false) {
  const steps: [string, readonly Settlement[]][] = [];
  const settle = async (tag: string, settlements: readonly Settlement[]) => {
    steps.push([tag, [...settlements]]);
    if (fails) throw new Error('away');
  };
  const state = { settle } as unknown as SharedState;
  return { steps, state, together: createSettleTogether() };
}

test('calls that end in one turn are settled in one step per company, with one sum per window', async () => {
  const { steps, state, together } = given();
  await Promise.all([
    together(state, 'a', [tokens('k1', 5), release('c1')]),
    together(state, 'a', [tokens('k1', -2), release('c2')]),
    together(state, 'a', [tokens('k1', 1, 2), tokens('k2', 7)]),
    together(state, 'b', [release('c3')]),
  ]);
  expect(steps).toEqual([
    ['a', [tokens('k1', 3), release('c1'), release('c2'), tokens('k1', 1, 2), tokens('k2', 7)]],
    ['b', [release('c3')]],
  ]);
  await together(state, 'a', [release('c4')]);
  expect(steps.at(-1)).toEqual(['a', [release('c4')]]);
});

test('only the newest of several levels is sent', async () => {
  const { steps, state, together } = given();
  const level = (version: number) =>
    ({ kind: 'level', name: 'balance', value: version, version, ttlMs: 1 }) as const;
  await Promise.all(
    [2, 3, 1].map((version) => together(state, 'a', [release(`c${version}`), level(version)])),
  );
  expect(steps).toEqual([['a', [release('c2'), level(3), release('c3'), release('c1')]]]);
});

test('a step is never larger than shared state accepts, and a failure reaches all calls in it', async () => {
  const { steps, state, together } = given(true);
  const all = Array.from({ length: 450 }, (_, n) =>
    together(state, 'a', [release(`c${n}`)]).catch(() => 'failed'),
  );
  expect(new Set(await Promise.all(all))).toEqual(new Set(['failed']));
  expect(steps.map(([, settlements]) => settlements.length)).toEqual([200, 200, 50]);
});

test('an outage is logged once a minute, with the number of affected calls', async () => {
  const clock = createManualClock(1_000);
  const { log, entries } = createRecordingLog();
  const notice = createUnsettledNotice(clock, log);
  for (let n = 0; n < 100; n += 1) notice(new Error('away'));
  expect(entries).toHaveLength(1);
  await clock.advance(60_000);
  notice(new Error('away'));
  expect(entries.map(({ context }) => context.othersSince)).toEqual([0, 99]);
});

import { describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createRecordingLog } from '../../../test/doubles/recording-log.ts';
import { createLocalFaults } from './local-faults.ts';

const failure = (code: string) => Object.assign(new Error('Failed to connect'), { code });

function open() {
  const clock = createManualClock();
  const { log, entries } = createRecordingLog();
  let free = 100;
  const faults = createLocalFaults({
    ...{ clock, log },
    takeDescriptor() {
      if (free <= 0) throw failure('EMFILE');
      free -= 1;
      return () => {
        free += 1;
      };
    },
  });
  const left = () => free;
  const leave = (count: number) => {
    free = count;
  };
  return { faults, clock, entries, left, leave };
}

describe('faults of this machine', () => {
  test.each([
    ['EMFILE', 'descriptors'],
    ['EADDRNOTAVAIL', 'ports'],
    ['ENOMEM', 'memory'],
    ['ECONNREFUSED', null],
    ['CERT_HAS_EXPIRED', null],
  ] as const)('%s is %p', (code, fault) => {
    const { faults } = open();
    expect(faults.explain(failure(code))).toBe(fault);
    expect(faults.explain(new Error('no code'))).toBeNull();
  });

  test('without a free descriptor a refused connection is ours, and a certificate that is not trusted is not', () => {
    const { faults, leave } = open();
    leave(0);
    expect(faults.explain(failure('CERT_HAS_EXPIRED'))).toBeNull();
    for (const code of ['ECONNREFUSED', 'ENOTFOUND', 'DNS_ECONNREFUSED']) {
      expect(faults.explain(failure(code))).toBe('descriptors');
    }
    expect(faults.counts()).toEqual({ descriptors: 3, ports: 0, memory: 0 });
  });

  test('a descriptor that is free again when the failure is reported explains it for two seconds, and no longer', async () => {
    const { faults, clock, leave } = open();
    leave(0);
    faults.explain(failure('ECONNREFUSED'));
    leave(10);
    await clock.advance(1_999);
    expect(faults.explain(failure('ECONNREFUSED'))).toBe('descriptors');
    await clock.advance(1);
    expect(faults.explain(failure('ECONNREFUSED'))).toBeNull();
  });

  test('of several addresses all must have failed for it', () => {
    const { faults } = open();
    const noPorts = failure('EADDRNOTAVAIL');
    expect(faults.explain(new AggregateError([noPorts, noPorts]))).toBe('ports');
    expect(faults.explain(new AggregateError([failure('ECONNREFUSED'), noPorts]))).toBeNull();
  });

  test('a process that calls no other finds out within a second, and that it is over', async () => {
    const { faults, clock, entries, leave } = open();
    leave(0);
    expect(faults.lacksDescriptors()).toBe(false);
    await clock.advance(1_000);
    expect(faults.lacksDescriptors()).toBe(true);
    expect(entries.map(({ level, message }) => [level, message])).toEqual([
      ['error', expect.stringContaining('raise its limit (LimitNOFILE')],
    ]);
    leave(10);
    for (let second = 0; second < 3; second += 1) await clock.advance(1_000);
    expect(faults.lacksDescriptors()).toBe(false);
  });

  test('each fault is logged once a minute, with how often it was met', async () => {
    const { faults, clock, entries } = open();
    for (let call = 0; call < 1_000; call += 1) faults.explain(failure('EADDRNOTAVAIL'));
    faults.explain(failure('ENOMEM'));
    expect(entries).toHaveLength(2);
    await clock.advance(60_000);
    faults.explain(failure('EADDRNOTAVAIL'));
    expect(entries.map(({ context }) => context.times)).toEqual([1, 1, 1_001]);
  });

  test('what it takes to look it gives back', () => {
    const { faults, leave, left } = open();
    expect([faults.hasDescriptors(100), left()]).toEqual([true, 100]);
    leave(31);
    expect([faults.hasDescriptors(32), left()]).toEqual([false, 31]);
  });
});

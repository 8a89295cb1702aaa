import { beforeAll, expect, test } from 'bun:test';
import { faultCases } from '../../faults/cases.ts';
import { takeCase } from '../../faults/frame/take-case.ts';
import { describeServers } from '../setup/use-redis.ts';

const never = new AbortController().signal;

/** The quick ones of `npm run faults`, which need no server of their own; docs/faults.md tells of all. */
describeServers('faults on purpose: every answer is charged once and turnpike audit is clean', () => {
  const quick = faultCases.filter(({ isQuick }) => isQuick === true);

  // Each has a system of its own and mostly waits, so they run side by side.
  let running: Map<string, ReturnType<typeof takeCase>> = new Map();
  beforeAll(() => {
    running = new Map(quick.map((fault) => [fault.name, takeCase(fault, null, never)]));
    // Where one is rejected its own test says so.
    for (const taken of running.values()) taken.catch(() => {});
  });

  test.each(quick.map(({ name }) => name))('%s', async (name) => {
    expect((await running.get(name))?.problems).toEqual([]);
  });

  test('every case has a unique name and describes its fault', () => {
    expect(new Set(faultCases.map(({ name }) => name)).size).toBe(faultCases.length);
    for (const { what } of faultCases) expect(what.length).toBeGreaterThan(20);
  });
});

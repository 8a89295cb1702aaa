import { expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import type { LogContext, LogEntry, LogLevel } from '../../ports/log.ts';
import { createLog } from './structured-log.ts';

function given(level: LogLevel = 'debug', context?: LogContext) {
  const entries: LogEntry[] = [];
  const clock = createManualClock(0);
  const sink = { take: (entry: LogEntry) => void entries.push(entry) };
  const log = createLog({ clock, level, sinks: [sink], ...(context ? { context } : {}) });
  return { log, entries, clock };
}

test('an entry at or above the level carries the time of the clock, its level, its message and every context above it', async () => {
  const { log, entries, clock } = given('warn', { service: 'gateway', part: 'a' });
  await clock.advance(1_500);
  log.debug('below the level');
  log.with({ requestId: 'r1' }).with({ keyId: 'k1' }).warn('slow', { part: 'b', ms: 900 });
  expect(entries).toEqual([
    {
      timestamp: '1970-01-01T00:00:01.500Z',
      level: 'warn',
      message: 'slow',
      context: { service: 'gateway', requestId: 'r1', keyId: 'k1', part: 'b', ms: 900 },
    },
  ]);
});

test('message and both kinds of context are redacted', () => {
  const { log, entries } = given('debug', { password: 'hunter2' });
  log.with({ prompt: 'Jane Doe' }).info('key tpk_9aZ8bY7cX6', { error: new Error('Bearer a1b2c3d4') });
  expect(entries[0]).toMatchObject({
    message: 'key [redacted]',
    context: { password: '[redacted]', prompt: '[redacted]', error: { message: 'Bearer [redacted]' } },
  });
});

test('an entry stays bounded for any number of contexts', () => {
  const { log, entries } = given();
  let deeper = log.with({});
  for (let n = 0; n < 30; n += 1) deeper = deeper.with({ [`field${n}`]: 'x'.repeat(5_000) });
  deeper.info('x'.repeat(100_000), { more: 'x'.repeat(5_000) });
  expect(JSON.stringify(entries[0]).length).toBeLessThan(20_000);
});

test('a sink that throws is counted and reaches neither the caller nor the other sinks', () => {
  const { log, entries } = given();
  const before = entries.length;
  log.addSink({
    take() {
      throw new Error('broken');
    },
  });
  const later: LogEntry[] = [];
  log.addSink({ take: (entry) => void later.push(entry) });
  log.info('one');
  log.info('two');
  expect(entries.length - before).toBe(2);
  expect(later).toHaveLength(2);
  expect(log.droppedCount()).toBe(2);
});

test('a sink that logs on every entry does not loop', () => {
  const { log, entries } = given();
  log.addSink({ take: () => log.warn('echo') });
  log.info('said');
  expect(entries.map((entry) => entry.message)).toEqual(['said', 'echo']);
  expect(log.droppedCount()).toBe(1);
  log.info('again');
  expect(entries.map((entry) => entry.message)).toEqual(['said', 'echo', 'again', 'echo']);
});

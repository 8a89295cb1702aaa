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

test('an entry carries the time of the clock, its level, its message and every context above it', async () => {
  const { log, entries, clock } = given('debug', { service: 'gateway', part: 'a' });
  await clock.advance(1_500);
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

test('entries below the level are dropped and their context is not read', () => {
  const { log, entries } = given('warn');
  const untouched = new Proxy({}, { ownKeys: () => expect.unreachable('the context was read') });
  log.debug('no', untouched);
  log.with(untouched).info('no');
  log.warn('yes');
  log.error('yes');
  expect(entries.map((entry) => entry.level)).toEqual(['warn', 'error']);
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

test('no untyped value makes it throw', () => {
  const { log, entries } = given();
  const evil = {
    toString() {
      throw new Error('no');
    },
  };
  log.info(evil as unknown as string);
  log.info('null', null as unknown as LogContext);
  log.info('text', 'text' as unknown as LogContext);
  expect(entries.map((entry) => entry.message)).toEqual(['null', 'text']);
  expect(log.droppedCount()).toBe(1);
});

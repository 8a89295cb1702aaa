import { expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import type { LogEntry } from '../../ports/log.ts';
import { createConsoleLines } from './console-lines.ts';

/** An output whose reader a test stops and starts. */
function given(bounds: { maxLines?: number; maxCharacters?: number } = {}) {
  const written: string[] = [];
  let mode: 'reading' | 'full' | 'failing' = 'reading';
  let release: (() => void) | null = null;
  const output = {
    isTerminal: false,
    write(text: string, done: (failed: boolean) => void) {
      if (mode === 'failing') {
        done(true);
        return true;
      }
      written.push(text);
      if (mode === 'reading') {
        done(false);
        return true;
      }
      release = () => done(false);
      return false;
    },
  };
  const clock = createManualClock();
  const format = (entry: LogEntry) => entry.message;
  const lines = createConsoleLines({ output, format, clock, ...bounds });
  const say = (message: string) => lines.take({ timestamp: '', level: 'info', message, context: {} });
  return {
    lines,
    say,
    clock,
    text: () => written.join(''),
    writes: () => written.length,
    become(next: typeof mode) {
      mode = next;
      const finish = release;
      release = null;
      if (next !== 'full') finish?.();
    },
    /** The reader takes what is under way and no more. */
    readOnce() {
      const finish = release;
      release = null;
      finish?.();
    },
  };
}

test('while somebody reads, a line is handed on before take returns', () => {
  const { say, text } = given();
  say('one');
  say('two');
  expect(text()).toBe('one\ntwo\n');
});

test('while nobody reads, lines wait in order and then go out together', () => {
  const { say, text, writes, become, lines } = given();
  become('full');
  for (let n = 1; n <= 1_000; n += 1) say(`line ${n}`);
  expect(text()).toBe('line 1\n');
  become('reading');
  expect(text().split('\n')).toEqual([...Array.from({ length: 1_000 }, (_, n) => `line ${n + 1}`), '']);
  expect(writes()).toBe(2);
  expect(lines.droppedCount()).toBe(0);
});

test('lines past the bound on lines are dropped and their number is said once it flows again', () => {
  const { say, text, become, lines } = given({ maxLines: 3 });
  become('full');
  for (let n = 1; n <= 10; n += 1) say(`${n}`);
  expect(lines.droppedCount()).toBe(6);
  become('reading');
  say('after');
  expect(text()).toBe('1\n2\n3\n4\n6 log lines were dropped: standard output did not take them\nafter\n');
});

test('lines past the bound on characters are dropped', () => {
  const { say, become, lines } = given({ maxCharacters: 100 });
  become('full');
  say('first');
  for (let n = 0; n < 10; n += 1) say('x'.repeat(29));
  expect(lines.droppedCount()).toBe(7);
  become('reading');
  become('full');
  say('first');
  for (let n = 0; n < 3; n += 1) say('x'.repeat(29));
  expect(lines.droppedCount()).toBe(7);
});

test('a reader that takes a little at a time gets whole lines in pieces of what a pipe holds', () => {
  const { say, writes, text, become, readOnce } = given();
  become('full');
  for (let n = 0; n < 100; n += 1) say('x'.repeat(1_999));
  readOnce();
  expect(writes()).toBe(2);
  expect(text().length).toBe(2_000 + 66_000);
  readOnce();
  expect(text().length).toBe(2_000 + 2 * 66_000);
});

test('a failed write is counted, harmless, and said when writing works again', () => {
  const { say, text, become, lines } = given();
  become('failing');
  say('lost');
  say('lost too');
  expect(lines.droppedCount()).toBe(2);
  become('reading');
  say('back');
  expect(text()).toBe('back\n2 log lines were dropped: standard output did not take them\n');
});

test('flush resolves when everything is written, at once when nothing waits', async () => {
  const { say, text, become, lines, clock } = given();
  await lines.flush();
  become('full');
  say('one');
  say('two');
  let flushed = false;
  const flushing = lines.flush().then(() => {
    flushed = true;
  });
  await clock.advance(100);
  expect(flushed).toBe(false);
  become('reading');
  await flushing;
  expect(text()).toBe('one\ntwo\n');
  expect(clock.pendingTimers()).toBe(0);
});

test('flush gives up after its wait when nobody reads', async () => {
  const { say, become, lines, clock } = given();
  become('full');
  say('one');
  const flushing = lines.flush(500);
  await clock.advance(500);
  await flushing;
});

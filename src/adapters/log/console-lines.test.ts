import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import type { LogEntry } from '../../ports/log.ts';
import { createConsoleLines, createTerminalFormat, formatJsonLine } from './console-lines.ts';

const entry = (parts: Partial<LogEntry>): LogEntry => ({
  timestamp: '2030-01-02T03:04:05.678Z',
  level: 'info',
  message: 'call finished',
  context: {},
  ...parts,
});

const plain = createTerminalFormat({ colours: false });

/** A child process that logs 20,000 lines on request, reports its event loop delay, and exits on request. */
const PROGRAM = `
  import { createConsoleLines } from './console-lines.ts';
  import { createStandardOutput } from './console-lines.ts';
  import { createSystemClock } from '../clock/system-clock.ts';
  const output = createStandardOutput();
  const clock = createSystemClock();
  const lines = createConsoleLines({ output, clock, format: (entry) => entry.message });
  process.on('message', async (command) => {
    if (command === 'log') {
      for (let n = 1; n <= 20_000; n += 1) lines.take({ message: 'line ' + n + ' ' + '.'.repeat(50) });
      setImmediate(() => process.send('turned, dropped ' + lines.droppedCount()));
    } else {
      await lines.flush(20_000);
      process.send('flushed');
      process.disconnect();
    }
  });
  process.send('up, terminal ' + output.isTerminal);
`;

type Child = ReturnType<typeof Bun.spawn>;

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
    become(next: typeof mode) {
      mode = next;
      const finish = release;
      release = null;
      if (next !== 'full') finish?.();
    },
  };
}

function start(stdout: { stdout: number } | { terminal: object }) {
  const messages: string[] = [];
  let wake = () => {};
  const options = {
    cwd: import.meta.dir,
    ...stdout,
    ipc: (message: string) => {
      messages.push(message);
      wake();
    },
  };
  const child: Child = Bun.spawn(
    [process.execPath, '-e', PROGRAM],
    options as Parameters<typeof Bun.spawn>[1],
  );
  const waitForMessage = async (beginning: string): Promise<string> => {
    for (;;) {
      const message = messages.find((candidate) => candidate.startsWith(beginning));
      if (message !== undefined) return message;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  return { child, waitForMessage, hasSent: (message: string) => messages.includes(message) };
}

function readAvailable(descriptor: number, bytes: Buffer): string {
  let text = '';
  for (;;) {
    try {
      text += bytes.toString('utf8', 0, readSync(descriptor, bytes));
    } catch {
      return text;
    }
  }
}

test('while the pipe is not read, lines are buffered in order and then written together', () => {
  const { say, text, become, lines } = given();
  become('full');
  for (let n = 1; n <= 1_000; n += 1) say(`line ${n}`);
  expect(text()).toBe('line 1\n');
  become('reading');
  expect(text().split('\n')).toEqual([...Array.from({ length: 1_000 }, (_, n) => `line ${n + 1}`), '']);
  expect(lines.droppedCount()).toBe(0);
});

test.each([
  ['lines', { maxLines: 3 }],
  ['characters', { maxCharacters: 6 }],
])(
  'past the bound on %s they are dropped, and their number is written once the pipe is read again',
  (_, bounds) => {
    const { say, text, become, lines } = given(bounds);
    become('full');
    for (let n = 1; n <= 10; n += 1) say(`${n}`);
    expect(lines.droppedCount()).toBe(6);
    become('reading');
    say('after');
    expect(text()).toBe('1\n2\n3\n4\n6 log lines were dropped: standard output did not take them\nafter\n');
  },
);

test('a failed write is counted, not thrown, and reported when writing works again', () => {
  const { say, text, become, lines } = given();
  become('failing');
  say('lost');
  say('lost too');
  expect(lines.droppedCount()).toBe(2);
  become('reading');
  say('back');
  expect(text()).toBe('back\n2 log lines were dropped: standard output did not take them\n');
});

test('flush resolves when everything is written, at once when nothing waits, and gives up after its timeout', async () => {
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
  become('full');
  say('three');
  const bounded = lines.flush(500);
  await clock.advance(500);
  await bounded;
});

test('a field of the context cannot replace the level, the message or the time', () => {
  const line = formatJsonLine(
    entry({ context: { level: 'error', message: 'forged', timestamp: 'never', a: 1 } }),
  );
  expect(JSON.parse(line)).toEqual({
    timestamp: '2030-01-02T03:04:05.678Z',
    level: 'info',
    message: 'call finished',
    context_level: 'error',
    context_message: 'forged',
    context_timestamp: 'never',
    a: 1,
  });
});

test('as text it is time, level, message and name=value', () => {
  const context = { model: 'svc/chat', status: 200, why: 'two words', parts: { a: [1] }, none: null };
  expect(plain(entry({ context }))).toBe(
    '03:04:05.678 INFO  call finished model=svc/chat status=200 why="two words" parts={"a":[1]} none=null',
  );
  const coloured = createTerminalFormat({ colours: true })(entry({ level: 'error' }));
  expect(coloured).toBe('\x1b[2m03:04:05.678\x1b[0m \x1b[31mERROR\x1b[0m call finished');
});

test('the stack of an error and of its cause are on the lines below', () => {
  const cause = { name: 'TypeError', message: 'reset', stack: 'TypeError: reset\n    at deep (b.ts:2:2)' };
  const error = { name: 'Error', message: 'failed', stack: 'Error: failed\n    at call (a.ts:1:1)', cause };
  expect(plain(entry({ level: 'error', context: { error, id: 7 } }))).toBe(
    [
      '03:04:05.678 ERROR call finished error="Error: failed" id=7',
      '    at call (a.ts:1:1)',
      '    caused by TypeError: reset',
      '    at deep (b.ts:2:2)',
    ].join('\n'),
  );
});

test('external text can neither start a line nor control the terminal, in both formats', () => {
  const text = 'a\n03:04:05.678 ERROR forged\x1b[2J\u009b2J\u2028';
  const error = { name: 'E', message: text, stack: `E\n at \x1b[2J` };
  const forged = entry({ message: text, context: { [text]: text, error } });
  for (const line of [formatJsonLine(forged), plain(forged).replace(/\n {4}at .*$/, '')]) {
    expect(line).not.toContain('\n');
    expect(line).not.toContain('\x1b');
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about.
  expect(plain(forged)).not.toMatch(/[\0-\x09\x0b-\x1f\x7f-\x9f\u2028]/);
});

describe('standard output', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'turnpike-output-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test('a pipe without a reader does not stall the process; it later receives the first lines and the number dropped', async () => {
    const path = join(folder, 'unread');
    Bun.spawnSync(['mkfifo', path]);
    const reader = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
    const writer = openSync(path, constants.O_WRONLY);
    const { child, waitForMessage, hasSent } = start({ stdout: writer });
    closeSync(writer);
    expect(await waitForMessage('up')).toBe('up, terminal false');
    child.send('log');
    const dropped = Number((await waitForMessage('turned')).split(' ').at(-1));
    expect(dropped).toBeGreaterThan(5_000);
    expect(dropped).toBeLessThan(10_000);
    child.send('end');
    let text = '';
    const bytes = Buffer.alloc(65_536);
    for (let ended = false; !ended; ) {
      ended = hasSent('flushed');
      text += readAvailable(reader, bytes);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await child.exited).toBe(0);
    closeSync(reader);
    const lines = text.trimEnd().split('\n');
    expect(lines.at(-1)).toBe(`${dropped} log lines were dropped: standard output did not take them`);
    const numbers = lines.slice(0, -1).map((line) => Number(line.split(' ')[1]));
    expect(numbers).toEqual(Array.from({ length: 20_000 - dropped }, (_, n) => n + 1));
  });

  test('a terminal stopped with Ctrl-S does not stall the process, and shows everything once it resumes', async () => {
    let shown = '';
    const data = (_terminal: unknown, bytes: Uint8Array) => {
      shown += Buffer.from(bytes).toString();
    };
    const { child, waitForMessage } = start({ terminal: { cols: 80, rows: 24, data } });
    expect(await waitForMessage('up')).toBe('up, terminal true');
    child.terminal?.write('\x13');
    child.send('log');
    await waitForMessage('turned');
    child.terminal?.write('\x11');
    child.send('end');
    await waitForMessage('flushed');
    expect(await child.exited).toBe(0);
    expect(shown).toStartWith('line 1 ');
    expect(shown.trimEnd()).toContain(' log lines were dropped');
  });
});

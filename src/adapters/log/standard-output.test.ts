import { afterAll, beforeAll, expect, test } from 'bun:test';
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnpike-output-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** A process that logs 20,000 lines when told to, tells how its event loop fared, and ends when told to. */
const PROGRAM = `
  import { createConsoleLines } from './console-lines.ts';
  import { createStandardOutput } from './console-lines.ts';
  import { createSystemClock } from '../clock/system-clock.ts';
  const output = createStandardOutput();
  const clock = createSystemClock();
  const lines = createConsoleLines({ output, clock, format: (entry) => entry.message });
  process.on('message', async (told) => {
    if (told === 'log') {
      for (let n = 1; n <= 20_000; n += 1) lines.take({ message: 'line ' + n + ' ' + '.'.repeat(50) });
      setTimeout(() => process.send('turned, dropped ' + lines.droppedCount()), 5);
    } else {
      await lines.flush(20_000);
      process.send('flushed');
      process.disconnect();
    }
  });
  process.send('up, terminal ' + output.isTerminal);
`;

type Child = ReturnType<typeof Bun.spawn>;

function start(stdout: { stdout: number } | { terminal: object }) {
  const told: string[] = [];
  let wake = () => {};
  const options = {
    cwd: import.meta.dir,
    ...stdout,
    ipc: (message: string) => {
      told.push(message);
      wake();
    },
  };
  const child: Child = Bun.spawn(
    [process.execPath, '-e', PROGRAM],
    options as Parameters<typeof Bun.spawn>[1],
  );
  const heard = async (beginning: string): Promise<string> => {
    for (;;) {
      const message = told.find((candidate) => candidate.startsWith(beginning));
      if (message !== undefined) return message;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  return { child, heard, hasSaid: (message: string) => told.includes(message) };
}

test('a pipe that nobody reads does not stall the process; later it gets the first lines and the count', async () => {
  const path = join(folder, 'unread');
  Bun.spawnSync(['mkfifo', path]);
  const reader = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  const writer = openSync(path, constants.O_WRONLY);
  const { child, heard, hasSaid } = start({ stdout: writer });
  closeSync(writer);
  expect(await heard('up')).toBe('up, terminal false');
  child.send('log');
  const dropped = Number((await heard('turned')).split(' ').at(-1));
  expect(dropped).toBeGreaterThan(5_000);
  expect(dropped).toBeLessThan(10_000);
  child.send('end');
  let text = '';
  const bytes = Buffer.alloc(65_536);
  for (let ended = false; !ended; ) {
    ended = hasSaid('flushed');
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

test('a pipe whose reader has gone is harmless', async () => {
  const path = join(folder, 'gone');
  Bun.spawnSync(['mkfifo', path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writer = openSync(path, constants.O_WRONLY);
  const { child, heard } = start({ stdout: writer });
  closeSync(writer);
  await heard('up');
  closeSync(reader);
  child.send('log');
  expect(await heard('turned')).toBe('turned, dropped 20000');
  child.send('end');
  expect(await heard('flushed')).toBe('flushed');
  expect(await child.exited).toBe(0);
});

test('a terminal stopped with Ctrl-S does not stall the process, and shows everything once it goes on', async () => {
  let shown = '';
  const data = (_terminal: unknown, bytes: Uint8Array) => {
    shown += Buffer.from(bytes).toString();
  };
  const { child, heard } = start({ terminal: { cols: 80, rows: 24, data } });
  expect(await heard('up')).toBe('up, terminal true');
  child.terminal?.write('\x13');
  child.send('log');
  await heard('turned');
  child.terminal?.write('\x11');
  child.send('end');
  await heard('flushed');
  expect(await child.exited).toBe(0);
  expect(shown).toStartWith('line 1 ');
  expect(shown.trimEnd()).toContain(' log lines were dropped');
});

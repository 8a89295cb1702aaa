import { expect, test } from 'bun:test';
import type { LogEntry } from '../../ports/log.ts';
import { createTerminalFormat, formatJsonLine } from './console-lines.ts';

const entry = (parts: Partial<LogEntry>): LogEntry => ({
  timestamp: '2030-01-02T03:04:05.678Z',
  level: 'info',
  message: 'call finished',
  context: {},
  ...parts,
});

test('for programs an entry is one JSON object with its context beside its own fields', () => {
  const line = formatJsonLine(entry({ context: { requestId: 'r1', status: 200 } }));
  expect(line).toBe(
    '{"timestamp":"2030-01-02T03:04:05.678Z","level":"info","message":"call finished","requestId":"r1","status":200}',
  );
});

test('a field of the context does not pass for the level, the message or the time', () => {
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

const plain = createTerminalFormat({ colours: false });

test('for people it is time, level, message and name=value', () => {
  const context = { model: 'svc/chat', status: 200, why: 'two words', parts: { a: [1] }, none: null };
  expect(plain(entry({ context }))).toBe(
    '03:04:05.678 INFO  call finished model=svc/chat status=200 why="two words" parts={"a":[1]} none=null',
  );
  const coloured = createTerminalFormat({ colours: true })(entry({ level: 'error' }));
  expect(coloured).toBe('\x1b[2m03:04:05.678\x1b[0m \x1b[31mERROR\x1b[0m call finished');
});

test('the stack of an error and of its cause stand on the lines below', () => {
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

test('a text from outside neither begins a line nor steers the terminal, in both formats', () => {
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

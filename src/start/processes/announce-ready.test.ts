import { expect, test } from 'bun:test';
import { readyTexts } from './announce-ready.ts';

const LINE =
  'gateway http://127.0.0.1:8080/llm/v1, backend and console http://127.0.0.1:8081, AI service http://127.0.0.1:8082';
const nowMs = Date.UTC(2026, 10, 15);
const ready = { line: LINE, nowMs, isText: false, isTerminal: false };

test('where log lines are JSON the ready line is one too, and scripts find the word on standard error', () => {
  const { output, errors } = readyTexts(ready);
  expect(JSON.parse(output)).toEqual({
    ...{ timestamp: '2026-11-15T00:00:00.000Z', level: 'info', message: `ready: ${LINE}` },
  });
  expect(output.endsWith('\n')).toBe(true);
  expect(errors).toBe(`ready: ${LINE}\n`);
});

test('as text it is one line, and in a terminal a screen shows what to open and type first', () => {
  expect(readyTexts({ ...ready, isText: true })).toEqual({ output: `ready: ${LINE}\n`, errors: '' });
  const line = `${LINE}, demo world in /data/demo.json`;
  const { output, errors } = readyTexts({ ...ready, line, isText: true, isTerminal: true });
  expect([output.split('\n')[0], errors]).toEqual([`ready: ${line}`, '']);
  expect(output).toContain('http://127.0.0.1:8081  with a log-in of /data/demo.json');
});

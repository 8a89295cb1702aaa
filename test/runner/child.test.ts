import { expect, test } from 'bun:test';
import { runChild } from './child.ts';

test('an interrupted child ends with everything that it started', async () => {
  const interruption = new AbortController();
  // The inner sleep would hold the error output open for a minute if it outlived the shell.
  const ended = runChild(['sh', '-c', 'sleep 60; true'], {
    env: process.env,
    signal: interruption.signal,
    onErrorOutput: () => undefined,
  });
  interruption.abort();
  expect(await ended).toBe(1);
});

test('a child that writes nothing for too long is described and killed', async () => {
  const described: number[] = [];
  const ended = runChild(['sh', '-c', 'echo begun >&2; sleep 60; true'], {
    env: process.env,
    onErrorOutput: () => undefined,
    silence: {
      afterMs: 50,
      async describe(group) {
        described.push(group);
        return '';
      },
    },
  });
  expect(await ended).toBe(1);
  expect(described).toHaveLength(1);
});

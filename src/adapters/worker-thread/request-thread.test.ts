import { afterEach, describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createRecordingLog } from '../../../test/doubles/recording-log.ts';
import type { ScriptedRequest } from '../../../test/doubles/scripted-thread.ts';
import { createRequestThread } from './request-thread.ts';

const closings: (() => void)[] = [];
afterEach(() => {
  for (const close of closings.splice(0)) close();
});

function open({ maxWaiting = 10, isShort = (): boolean => false } = {}) {
  const clock = createManualClock();
  const { log, entries } = createRecordingLog();
  const thread = createRequestThread<ScriptedRequest, string>({
    name: 'scripted',
    entry: new URL('../../../test/doubles/scripted-thread.ts', import.meta.url),
    ...{ clock, log, maxWaiting, timeoutMs: 1_000 },
    localFaults: { hasDescriptors: () => !isShort() },
  });
  closings.push(thread.close);
  const reasonOf = (request: ScriptedRequest) => thread.call(request).catch((error: Error) => error.message);
  return { thread, clock, entries, reasonOf };
}

describe('a thread for requests', () => {
  test('answers many at once, each with its own result', async () => {
    const { thread, clock } = open();
    const texts = ['one', 'two', 'three'];
    expect(await Promise.all(texts.map((text) => thread.call({ kind: 'echo', text })))).toEqual(texts);
    expect(clock.pendingTimers()).toBe(0);
  });

  test('without descriptors it does not start, because the runtime would end the process, and later it does', async () => {
    let isShort = true;
    const { thread, reasonOf } = open({ isShort: () => isShort });
    expect(await reasonOf({ kind: 'echo', text: 'one' })).toContain('too few free descriptors');
    isShort = false;
    expect(await thread.call({ kind: 'echo', text: 'two' })).toBe('two');
    isShort = true;
    expect(await thread.call({ kind: 'echo', text: 'three' })).toBe('three');
  });

  test('a failed request rejects with the name of its error alone, and the thread continues', async () => {
    const { thread, reasonOf } = open();
    expect(await reasonOf({ kind: 'fail', text: 'Ada Lovelace' })).toBe(
      'scripted: the request failed: RangeError',
    );
    expect(await thread.call({ kind: 'echo', text: 'next' })).toBe('next');
  });

  test('its log messages are logged, with its name', async () => {
    const { thread, entries } = open();
    expect(await thread.call({ kind: 'warn', text: 'a part is missing' })).toBe('a part is missing');
    expect(entries).toMatchObject([
      { level: 'warn', message: 'a part is missing', context: { thread: 'scripted', reason: 'no reason' } },
    ]);
  });

  test('an aborted call aborts the request in the thread, before it began or while it runs', async () => {
    const { thread } = open();
    const controller = new AbortController();
    const running = thread.call({ kind: 'until-aborted' }, controller.signal);
    expect(await thread.call({ kind: 'echo', text: 'meanwhile' })).toBe('meanwhile');
    controller.abort();
    expect(await running).toBe('aborted');
    expect(await thread.call({ kind: 'until-aborted' }, AbortSignal.abort())).toBe('aborted');
  });

  test('A-13 past its limit a request is rejected at once', async () => {
    const { reasonOf } = open({ maxWaiting: 1 });
    void reasonOf({ kind: 'hang' });
    expect(await reasonOf({ kind: 'echo', text: 'late' })).toBe('scripted: too many requests are waiting');
  });

  test('a thread that hangs is terminated with all its requests, and replaced on the next one', async () => {
    const { thread, clock, entries, reasonOf } = open();
    const hanging = [reasonOf({ kind: 'hang' }), reasonOf({ kind: 'hang' })];
    await clock.advance(1_000);
    expect(await Promise.all(hanging)).toEqual(Array(2).fill('scripted: the thread hangs'));
    expect(entries).toMatchObject([{ level: 'error', context: { thread: 'scripted', count: 2 } }]);
    expect(await thread.call({ kind: 'echo', text: 'again' })).toBe('again');
  });

  test('a thread that crashes rejects its requests, and is replaced on the next one', async () => {
    const { thread, reasonOf } = open();
    expect(await reasonOf({ kind: 'break' })).toBe('scripted: the thread broke');
    expect(await thread.call({ kind: 'echo', text: 'again' })).toBe('again');
  });

  test('A-13 closing rejects waiting requests, and a later call starts a new thread', async () => {
    const { thread, reasonOf } = open();
    const hanging = reasonOf({ kind: 'hang' });
    thread.close();
    expect(await hanging).toBe('scripted: the thread was closed');
    expect(await thread.call({ kind: 'echo', text: 'again' })).toBe('again');
  });
});

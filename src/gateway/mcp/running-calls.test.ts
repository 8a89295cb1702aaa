import { expect, test } from 'bun:test';
import { createSilentLog } from '../../../test/doubles/silent-log.ts';
import { createLocalRunningCalls, createRunningCalls, type RunningCallsParts } from './running-calls.ts';

const NAME = { keyId: 'key', session: 'session', id: 7 };

/** Hands every message to every process, at once. */
function startMessages() {
  const listeners: ((message: string) => void)[] = [];
  const sent: string[] = [];
  const sharedState: RunningCallsParts['sharedState'] = {
    async publish(_, message) {
      sent.push(message);
      tell(message);
    },
    async subscribe(_, onMessage) {
      listeners.push(onMessage);
      return { close: async () => {} };
    },
  };
  const tell = (message: string) => {
    for (const listener of listeners) listener(message);
  };
  return { sharedState, sent, tell };
}

test('G-44 a call is cancelled by its key, its session and its id, all three', () => {
  const running = createLocalRunningCalls();
  let cancelled = 0;
  running.begin(NAME, () => {
    cancelled += 1;
  });
  for (const other of [{ keyId: 'other' }, { session: 'other' }, { id: 8 }, { id: '7' }]) {
    running.cancel({ ...NAME, ...other });
  }
  expect(cancelled).toBe(0);
  running.cancel(NAME);
  expect(cancelled).toBe(1);
});

test('G-44 an ended call is not cancelled, and a new call of the same name stays cancellable', () => {
  const running = createLocalRunningCalls();
  let cancelled = '';
  const first = running.begin(NAME, () => {
    cancelled += 'first';
  });
  running.begin(NAME, () => {
    cancelled += 'second';
  });
  first.ended();
  running.cancel(NAME);
  expect(cancelled).toBe('second');
});

test('G-44 a cancellation received by one process cancels a call that runs in another', async () => {
  const { sharedState } = startMessages();
  const log = createSilentLog();
  const here = await createRunningCalls({ sharedState, log });
  const there = await createRunningCalls({ sharedState, log });
  let cancelled = false;
  there.begin(NAME, () => {
    cancelled = true;
  });
  here.cancel(NAME);
  expect(cancelled).toBe(true);
});

test('G-44 names of any length are accepted, and an unreadable message is skipped', async () => {
  const { sharedState, sent, tell } = startMessages();
  const running = await createRunningCalls({ sharedState, log: createSilentLog() });
  const endless = { ...NAME, session: 'x'.repeat(10_000) };
  let cancelled = false;
  running.begin(endless, () => {
    cancelled = true;
  });
  running.cancel(endless);
  expect([cancelled, sent]).toEqual([false, []]);
  tell('{');
  tell('null');
});

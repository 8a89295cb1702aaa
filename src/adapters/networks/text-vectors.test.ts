import { describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createRecordingLog } from '../../../test/doubles/recording-log.ts';
import {
  createEncoderJobs,
  type FromThread,
  meanVector,
  type ToThread,
  type WindowInJob,
  windowsOf,
} from './encoder-jobs.ts';
import { createTextVectors, type ThreadHandle } from './text-vectors.ts';

const never = new AbortController().signal;

describe('windows of a text', () => {
  /** Words of as many pieces each; the ids count the pieces. */
  function pieces(...lengths: number[]) {
    const isFirst = lengths.flatMap((length) => Array.from({ length }, (_, at) => at === 0));
    return { ids: isFirst.map((_, at) => at), starts: [], ends: [], isFirst };
  }

  test('are cut between words at 510 pieces', () => {
    expect(windowsOf(pieces(1, 1, 1))).toEqual([[0, 1, 2]]);
    const windows = windowsOf(pieces(...Array.from({ length: 400 }, () => 3)));
    expect(windows.map(({ length }) => length)).toEqual([510, 510, 180]);
    const uneven = windowsOf(pieces(...Array.from({ length: 300 }, () => 4)));
    expect(uneven.map(({ length }) => length)).toEqual([508, 508, 184]);
    expect(uneven.flat()).toEqual(Array.from({ length: 1_200 }, (_, at) => at));
  });

  test('of more than four, four are used, evenly spaced, with the first and the last', () => {
    const taken = windowsOf(pieces(...Array.from({ length: 510 * 13 }, () => 1)));
    expect(taken.map(([first = 0]) => first / 510)).toEqual([0, 4, 8, 12]);
  });

  test('a text’s vector is the mean of its windows’, weighted by their pieces, with unit length', () => {
    const [one, other, against] = [Float32Array.of(1, 0), Float32Array.of(0, 1), Float32Array.of(-1, 0)];
    const mean = meanVector([[1, 2, 3], [4]], [one, other]);
    expect(mean[0]).toBeCloseTo(3 / Math.sqrt(10), 6);
    expect(mean[1]).toBeCloseTo(1 / Math.sqrt(10), 6);
    expect([...meanVector([[1], [2]], [one, against])]).toEqual([0, 0]);
  });
});

describe('the order of work', () => {
  /** One window for each character. */
  const open = () => createEncoderJobs((text) => [...text].map((one) => [one.charCodeAt(0)]));
  const taken = (window: WindowInJob | null) => String.fromCharCode(...(window?.ids ?? []));

  test('vectors are returned in the order of the texts; an aborted request is not finished', () => {
    const jobs = open();
    jobs.add(1, ['xy', 'z']);
    jobs.add(2, ['w']);
    const finished: unknown[] = [];
    for (let window = jobs.next(); window !== null; window = jobs.next()) {
      if (window.jobId === 2) jobs.forget(2);
      const vector = taken(window) === 'z' ? Float32Array.of(0, 1) : Float32Array.of(1, 0);
      const done = jobs.finish(window, vector);
      if (done !== null) finished.push(done);
    }
    expect(finished).toEqual([{ id: 1, vectors: [Float32Array.of(1, 0), Float32Array.of(0, 1)] }]);
  });
});

/** A thread that does only what the test says. */
function createScriptedThreads() {
  const { log, entries } = createRecordingLog();
  const clock = createManualClock();
  const threads: {
    sent: ToThread[];
    isEnded: boolean;
    say(message: FromThread): void;
    fail(why: string): void;
  }[] = [];
  const startThread = (): ThreadHandle => {
    const listeners: Record<string, ((event: never) => void)[]> = {};
    const tell = (type: string, event: unknown) => {
      for (const listener of listeners[type] ?? []) listener(event as never);
    };
    const thread = {
      sent: [] as ToThread[],
      isEnded: false,
      say: (data: FromThread) => tell('message', { data }),
      fail: (message: string) => tell('error', { message }),
    };
    threads.push(thread);
    return {
      postMessage(message) {
        thread.sent.push(message);
        if (message.kind !== 'close') return;
        thread.isEnded = true;
        tell('close', {});
      },
      addEventListener(type: string, listener: (event: never) => void) {
        listeners[type] = [...(listeners[type] ?? []), listener];
      },
    };
  };
  const model = createTextVectors({ clock, log, startThread });
  return { model, threads, clock, entries };
}

describe('the model’s queue', () => {
  test('starts no thread before the first request, and one for all', async () => {
    const { model, threads } = createScriptedThreads();
    expect(threads).toHaveLength(0);
    const asked = [model.embed(['a'], never), model.embed(['b'], never)];
    expect(threads.map(({ sent }) => sent)).toEqual([
      [
        { kind: 'embed', id: 1, texts: ['a'] },
        { kind: 'embed', id: 2, texts: ['b'] },
      ],
    ]);
    const vectors = new Float32Array([1]);
    threads[0]?.say({ kind: 'embedded', id: 2, vectors });
    threads[0]?.say({ kind: 'failed', id: 1, message: 'no' });
    expect(await Promise.all(asked)).toEqual([{ outcome: 'failed' }, { outcome: 'embedded', vectors }]);
  });

  test('64 may wait next to the one in progress', async () => {
    const { model, threads } = createScriptedThreads();
    const asked = Array.from({ length: 65 }, () => model.embed(['a'], never));
    expect(await model.embed(['a'], never)).toEqual({ outcome: 'too-many-waiting' });
    expect(threads[0]?.sent).toHaveLength(65);
    threads[0]?.say({ kind: 'embedded', id: 1, vectors: new Float32Array() });
    await asked[0];
    void model.embed(['a'], never);
    expect(threads[0]?.sent).toHaveLength(66);
  });

  test.each(['error', 'broken'])(
    'a thread that breaks fails all that wait, and is replaced: %s',
    async (how) => {
      const { model, threads, entries } = createScriptedThreads();
      const asked = [model.embed(['a'], never), model.embed(['b'], never)];
      if (how === 'error') threads[0]?.fail('boom');
      else threads[0]?.say({ kind: 'broken', message: 'boom' });
      expect(await Promise.all(asked)).toEqual([{ outcome: 'failed' }, { outcome: 'failed' }]);
      expect(threads[0]?.isEnded).toBe(true);
      expect(entries.map(({ level, context }) => [level, context.why])).toEqual([['error', 'boom']]);
      void model.embed(['c'], never);
      expect(threads).toHaveLength(2);
    },
  );

  test('an idle thread is ended after ten minutes; a busy one is not', async () => {
    const { model, threads, clock, entries } = createScriptedThreads();
    const asked = model.embed(['a'], never);
    await clock.advance(3_600_000);
    expect(threads[0]?.isEnded).toBe(false);
    threads[0]?.say({ kind: 'embedded', id: 1, vectors: new Float32Array() });
    await asked;
    await clock.advance(599_000);
    expect(threads[0]?.isEnded).toBe(false);
    await clock.advance(1_000);
    expect(threads[0]?.isEnded).toBe(true);
    expect(entries).toEqual([]);
    void model.embed(['c'], never);
    expect(threads).toHaveLength(2);
    await model.close();
    expect(clock.pendingTimers()).toBe(0);
  });

  test('on a platform without a runtime every request is refused, no other thread is started, and the log says so once', async () => {
    const { model, threads, entries } = createScriptedThreads();
    const asked = [model.embed(['a'], never), model.embed(['b'], never)];
    threads[0]?.say({ kind: 'unavailable', reason: 'no library for plan9-mips' });
    threads[0]?.say({ kind: 'unavailable', reason: 'no library for plan9-mips' });
    expect(await Promise.all(asked)).toEqual([{ outcome: 'unavailable' }, { outcome: 'unavailable' }]);
    expect(await model.embed(['c'], never)).toEqual({ outcome: 'unavailable' });
    expect(threads.map(({ isEnded }) => isEnded)).toEqual([true]);
    expect(entries.map(({ level, context }) => [level, context.reason])).toEqual([
      ['warn', 'no library for plan9-mips'],
    ]);
  });
});

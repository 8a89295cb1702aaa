import { describe, expect, test } from 'bun:test';
import {
  createEmbeddingJobs,
  type FromThread,
  meanVector,
  type ToThread,
  textWindows,
} from '../../../src/adapters/model-upstream/embedded/embedding-jobs.ts';
import {
  createEmbeddingModel,
  type ThreadHandle,
} from '../../../src/adapters/model-upstream/embedded/embeddings.ts';
import { createManualClock } from '../../doubles/manual-clock.ts';
import { createRecordingLog } from '../../doubles/recording-log.ts';

const wordCount = (words: string) => words.split(' ').length;
const never = new AbortController().signal;

describe('windows of a text', () => {
  test('are cut between words at 128 tokens; white space of any kind separates', () => {
    expect(textWindows('one\n two\t three ', wordCount)).toEqual([{ text: 'one two three', tokenCount: 3 }]);
    const windows = textWindows('word '.repeat(300), wordCount);
    expect(windows.map(({ tokenCount }) => tokenCount)).toEqual([128, 128, 44]);
  });

  test('a text of white space has one', () => {
    for (const text of ['', ' ', '\n\t'])
      expect(textWindows(text, wordCount)).toEqual([{ text: ' ', tokenCount: 1 }]);
  });

  test('a long word is cut, within no character', () => {
    const [window] = textWindows('🙂'.repeat(100), () => 10);
    expect(window?.text.split(' ').every((part) => part.length <= 64 && part.isWellFormed())).toBe(true);
    expect(window?.text.replaceAll(' ', '')).toBe('🙂'.repeat(100));
  });

  test('of more than 16, 16 are taken, evenly, the first and the last among them', () => {
    const words = Array.from({ length: 128 * 40 }, (_, at) => `w${Math.floor(at / 128)}`);
    const taken = textWindows(words.join(' '), wordCount).map(({ text }) =>
      Number(text.split(' ')[0]?.slice(1)),
    );
    expect(taken).toHaveLength(16);
    expect([taken[0], taken.at(-1)]).toEqual([0, 39]);
    const steps = taken.slice(1).map((one, at) => one - (taken[at] ?? 0));
    expect([Math.min(...steps), Math.max(...steps)]).toEqual([2, 3]);
  });

  test('a text’s vector is the mean of its windows’, by their tokens, at unit length', () => {
    const windows = [3, 1].map((tokenCount) => ({ text: '', tokenCount }));
    const mean = meanVector(windows, [
      [1, 0],
      [0, 1],
    ]);
    expect(mean[0]).toBeCloseTo(3 / Math.sqrt(10), 6);
    expect(mean[1]).toBeCloseTo(1 / Math.sqrt(10), 6);
    expect([
      ...meanVector(windows.slice(1).concat(windows.slice(1)), [
        [1, 0],
        [-1, 0],
      ]),
    ]).toEqual([0, 0]);
  });
});

describe('the order of work', () => {
  const open = (tokenCount = 100) => createEmbeddingJobs((text) => [{ text, tokenCount }]);
  const texts = (slice: readonly { window: { text: string } }[]) => slice.map(({ window }) => window.text);

  test('requests take turns, and share a slice', () => {
    const jobs = open();
    jobs.add(1, ['a1', 'a2', 'a3']);
    jobs.add(2, ['b1']);
    jobs.add(3, ['c1', 'c2']);
    expect(texts(jobs.nextSlice())).toEqual(['a1', 'b1']);
    expect(texts(jobs.nextSlice())).toEqual(['c1', 'a2']);
    expect(texts(jobs.nextSlice())).toEqual(['c2', 'a3']);
    expect(jobs.nextSlice()).toEqual([]);
  });

  test('a slice is bounded by its places times its longest; one that is longer goes alone', () => {
    const jobs = createEmbeddingJobs((text) => [{ text, tokenCount: Number(text) }]);
    jobs.add(1, ['10', '10', '10', '120', '300', '1']);
    expect(texts(jobs.nextSlice())).toEqual(['10', '10', '10']);
    expect(texts(jobs.nextSlice())).toEqual(['120']);
    expect(texts(jobs.nextSlice())).toEqual(['300']);
    expect(texts(jobs.nextSlice())).toEqual(['1']);
  });

  test('vectors come back in the order of the texts; what is forgotten is not finished', () => {
    const jobs = createEmbeddingJobs((text) => [...text].map((one) => ({ text: one, tokenCount: 100 })));
    jobs.add(1, ['xy', 'z']);
    jobs.add(2, ['w']);
    const vectorOf = ({ window }: { window: { text: string } }) => (window.text === 'z' ? [0, 1] : [1, 0]);
    const first = jobs.nextSlice();
    jobs.forget(2);
    expect(jobs.finish(first, first.map(vectorOf))).toEqual([]);
    const second = jobs.nextSlice();
    const finished = jobs.finish(second, second.map(vectorOf));
    expect(finished).toEqual([{ id: 1, vectors: [new Float32Array([1, 0]), new Float32Array([0, 1])] }]);
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
      postMessage: (message) => void thread.sent.push(message),
      terminate() {
        thread.isEnded = true;
        tell('close', {});
      },
      addEventListener(type: string, listener: (event: never) => void) {
        listeners[type] = [...(listeners[type] ?? []), listener];
      },
    };
  };
  return { model: createEmbeddingModel({ clock, log, startThread }), threads, clock, entries };
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

  test('64 may wait besides the one that is worked on', async () => {
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

  test('an aborted request is forgotten and gives its place back', async () => {
    const { model, threads } = createScriptedThreads();
    const abort = new AbortController();
    const asked = model.embed(['a'], abort.signal);
    abort.abort(new Error('gone'));
    await expect(asked).rejects.toThrow('gone');
    expect(threads[0]?.sent.at(-1)).toEqual({ kind: 'forget', id: 1 });
    await expect(model.embed(['a'], abort.signal)).rejects.toThrow('gone');
  });

  test('a thread without work is ended after ten minutes; one with work is not', async () => {
    const { model, threads, clock, entries } = createScriptedThreads();
    const asked = model.embed(['a'], never);
    await clock.advance(3_600_000);
    expect(threads[0]?.isEnded).toBe(false);
    threads[0]?.say({ kind: 'embedded', id: 1, vectors: new Float32Array() });
    await asked;
    await clock.advance(599_000);
    const again = model.embed(['b'], never);
    await clock.advance(2_000);
    expect(threads[0]?.isEnded).toBe(false);
    threads[0]?.say({ kind: 'embedded', id: 2, vectors: new Float32Array() });
    await again;
    await clock.advance(600_000);
    expect(threads[0]?.isEnded).toBe(true);
    expect(entries).toEqual([]);
    void model.embed(['c'], never);
    expect(threads).toHaveLength(2);
    await model.close();
    expect(clock.pendingTimers()).toBe(0);
  });
});

import { describe, expect, test } from 'bun:test';
import { readWords } from './command-words.ts';
import type { Measurement } from './measurement.ts';
import { median } from './median.ts';
import { compareRates } from './rates.ts';
import { createScope } from './scope.ts';
import { renderRows } from './table.ts';
import { take } from './take.ts';

const named = (name: string): Measurement => ({ name, what: 'made up', run: async () => [] });
const noServers = {
  emptyDatabase: () => Promise.reject(new Error('no server')),
  emptyRedis: () => Promise.reject(new Error('no server')),
};
const untroubled = new AbortController().signal;

describe('the words after npm run bench --', () => {
  const all = [named('start'), named('database-postgres'), named('database-pglite')];
  const namesFor = (...words: string[]) => {
    const command = readWords(words, all);
    return command.kind === 'run' ? command.chosen.map(({ name }) => name) : command.kind;
  };

  test('none means all, a name also those that begin with it', () => {
    expect(namesFor()).toEqual(['start', 'database-postgres', 'database-pglite']);
    expect(namesFor('database', '--json', 'file')).toEqual(['database-postgres', 'database-pglite']);
    expect(namesFor('start')).toEqual(['start']);
    expect(readWords(['--json', 'file'], all)).toMatchObject({ jsonFile: 'file' });
  });

  test('what is not known is said', () => {
    expect(namesFor('--list')).toBe('list');
    for (const wrong of ['data', '--fast', '--json']) expect(namesFor(wrong)).toBe('wrong');
  });
});

describe('a measurement', () => {
  test('that fails says why, and what it opened is ended, the last first', async () => {
    const ended: string[] = [];
    const failing: Measurement = {
      ...named('failing'),
      async run({ whenEnding, emptyDatabase }) {
        whenEnding(() => ended.push('first'));
        whenEnding(() => ended.push('second'));
        await emptyDatabase();
        return [];
      },
    };
    const taken = await take(failing, noServers, untroubled);
    expect(taken).toMatchObject({ name: 'failing', outcome: 'failed', error: 'no server' });
    expect(ended).toEqual(['second', 'first']);
  });

  test('that is interrupted has failed, though it never ends', async () => {
    const interruption = new AbortController();
    const endless: Measurement = { ...named('endless'), run: () => new Promise(() => {}) };
    const taking = take(endless, noServers, interruption.signal);
    interruption.abort(new Error('stop'));
    expect(await taking).toMatchObject({ outcome: 'failed', error: 'stop' });
  });
});

test('what cannot be ended is said, and the rest is ended', async () => {
  const scope = createScope();
  let isEnded = false;
  scope.whenEnding(() => {
    isEnded = true;
  });
  scope.whenEnding(() => Promise.reject(new Error('stuck')));
  expect(await scope.end()).toEqual(['something could not be ended: stuck']);
  expect(isEnded).toBe(true);
});

test('ways take turns, each round begun by another, and stand beside the first', async () => {
  const turns: string[] = [];
  const way = (label: string) => ({
    label,
    async once() {
      if (turns.at(-1) !== label) turns.push(label);
    },
  });
  const options = { signal: untroubled, atOnce: 2, roundMs: 1 };
  const [first, second] = await compareRates('work', [way('a'), way('b')], options);
  // Warm-up a b, then the rounds a b, b a, a b, b a, a b: where two turns of one way meet, they count as one.
  expect(turns.join(' ')).toBe('a b a b a b a b');
  expect(first?.beside).toBeUndefined();
  expect(second?.beside?.reference).toBe('a');
  expect(second?.beside?.ratio).toBeGreaterThan(0);
});

test('figures', () => {
  expect(median([3, 1, 2])).toBe(2);
  expect(median([4, 1, 2, 3])).toBe(2.5);
  const beside = { reference: 'the raw client', ratio: 0.9 };
  const line = renderRows([{ label: 'ours', value: 1234.5, unit: '/s', range: [1000, 2000], beside }]);
  expect(line).toBe('  ours  1,235 /s  1,000 – 2,000  0.90 × the raw client');
  expect(renderRows([{ label: 'ours', value: 12, unit: 'MB', aim: { below: 10 } }])).toContain('MISSED');
});

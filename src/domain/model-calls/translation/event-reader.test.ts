import { expect, test } from 'bun:test';
import { cpuMsOf } from '../../../../test/doubles/cpu-time.ts';
import { createEventReader } from './event-reader.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const ROOMY = 64 * 1024 * 1024;

function eventsIn(pieces: Iterable<Uint8Array>, maxEventBytes = ROOMY) {
  const reader = createEventReader(maxEventBytes);
  const found: unknown[] = [];
  for (const piece of pieces) {
    const events = reader.push(piece);
    if (events === 'too-large') return events;
    found.push(...events);
  }
  const last = reader.end();
  return last === 'too-large' ? last : [...found, ...last];
}

const EXPECTED = [
  { name: null, data: '{"a":"é😀"}' },
  { name: 'ping', data: 'one\ntwo' },
  { name: null, data: ' padded' },
  { name: null, data: 'without its blank line' },
];

test.each(['\n', '\r', '\r\n'])('lines that end with %j are read alike, wherever they are cut', (lineEnd) => {
  const lines = [
    ...['data: {"a":"é😀"}', '', ': a comment', '', 'event: ping', 'id: 1', 'data:one', 'data: two', ''],
    ...['', 'data:  padded', '', 'data: without its blank line'],
  ];
  const stream = bytes(lines.join(lineEnd));
  expect(eventsIn([stream])).toEqual(EXPECTED);
  expect(eventsIn(Array.from(stream, (byte) => Uint8Array.of(byte)))).toEqual(EXPECTED);
  for (let at = 0; at <= stream.length; at += 1) {
    expect(eventsIn([stream.subarray(0, at), stream.subarray(at)])).toEqual(EXPECTED);
  }
});

test('an event that never ends is too large, even if its lines are empty', () => {
  for (const line of ['data: x\n', 'data:\n', 'data\n', 'x']) {
    const pieces = Array.from({ length: 200 }, () => bytes(line.repeat(10)));
    expect(eventsIn(pieces, 1_000)).toBe('too-large');
  }
});

/** Each took 10 seconds and more where every line, or every piece, was searched to the end of what there was. */
test.each([
  ['30,000 events in one chunk', [bytes(`data: ${'é'.repeat(60)}\n\n`.repeat(30_000))], 30_000],
  ['an event in 60,000 pieces', [...Array(60_000).fill(bytes('data: '.repeat(20))), bytes('\n\n')], 1],
])('%s are read quickly', async (_, pieces, count) => {
  const cpuMs = await cpuMsOf(() => expect(eventsIn(pieces)).toHaveLength(count));
  expect(cpuMs).toBeLessThan(2_000);
});

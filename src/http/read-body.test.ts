import { describe, expect, test } from 'bun:test';
import { gzipSync } from 'node:zlib';
import { createManualClock } from '../../test/doubles/manual-clock.ts';
import { readBody } from './read-body.ts';

const clock = createManualClock();
const bounds = { maxBytes: 10, timeoutMs: 1_000, clock };

function post(body: BodyInit | null, headers: Record<string, string> = {}): Request {
  return new Request('http://x/', { method: 'POST', body, headers });
}

function streamed(...parts: readonly (string | Error)[]): ReadableStream {
  const left = [...parts];
  return new ReadableStream({
    pull(controller) {
      const part = left.shift();
      if (part === undefined) controller.close();
      else if (part instanceof Error) controller.error(part);
      else controller.enqueue(new TextEncoder().encode(part));
    },
  });
}

describe('reading a body', () => {
  test('a body within the bound is read completely, in one chunk or in many', async () => {
    for (const body of ['0123456789', streamed('01234', '', '56789')]) {
      const read = await readBody(post(body), bounds);
      expect(read.outcome === 'read' && new TextDecoder().decode(read.bytes)).toBe('0123456789');
    }
    expect(await readBody(post(null), bounds)).toEqual({ outcome: 'read', bytes: new Uint8Array(0) });
  });

  test('one byte past the bound is too large, as counted by us', async () => {
    expect(await readBody(post(streamed('01234', '56789', 'x')), bounds)).toEqual({ outcome: 'too-large' });
  });

  test('a body in tiny chunks is refused before they take time and memory, and a line at a time is not', async () => {
    const large = { ...bounds, maxBytes: 20_000_000 };
    let sent = 0;
    const inPieces = (piece: string, most: number) =>
      new ReadableStream({
        pull(controller) {
          sent += 1;
          if (sent > most) controller.close();
          else controller.enqueue(new TextEncoder().encode(piece));
        },
      });
    const refused = await readBody(post(inPieces('x', 1_000_000)), large);
    expect(refused).toEqual({
      outcome: 'broken',
      problem:
        'The body arrives in too many small chunks. Send it with a Content-Length, or in larger chunks.',
    });
    expect(sent).toBeLessThan(21_000);
    sent = 0;
    const read = await readBody(post(inPieces('{"a line of text": true}\n', 20_000)), large);
    expect(read.outcome === 'read' && read.bytes.length).toBe(500_000);
  });

  test('a declared length past the bound is refused before a byte is read', async () => {
    const body = streamed(new Error('must not be read'));
    expect(await readBody(post(body, { 'content-length': '11' }), bounds)).toEqual({ outcome: 'too-large' });
  });

  test('a compressed body inflates to a megabyte, or to 50 times its size, and no further', async () => {
    const large = { ...bounds, maxBytes: 20_000_000 };
    const outcomeOf = async (bytes: Uint8Array<ArrayBuffer>) =>
      (await readBody(post(gzipSync(bytes), { 'content-encoding': 'gzip' }), large)).outcome;
    expect(await outcomeOf(new Uint8Array(1024 * 1024))).toBe('read');
    expect(await outcomeOf(new Uint8Array(1024 * 1024 + 1))).toBe('too-large');
    const text = new Uint8Array(2_000_000);
    crypto.getRandomValues(text.subarray(0, 60_000));
    expect(await outcomeOf(text)).toBe('read');
  });

  test('a body that does not end in time is too slow', async () => {
    const endless = new ReadableStream({ pull: () => new Promise(() => {}) });
    const read = readBody(post(endless), bounds);
    await clock.advance(1_000);
    expect(await read).toEqual({ outcome: 'too-slow' });
  });

  test('a body that breaks is broken', async () => {
    expect(await readBody(post(streamed('01', new Error('reset'))), bounds)).toEqual({ outcome: 'broken' });
  });
});

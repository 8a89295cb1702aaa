import type { Clock } from '../../ports/clock.ts';
import type { UpstreamBody } from '../../ports/model-upstream.ts';
import { streamBody } from './stream-body.ts';

const FORMATS: Readonly<Record<string, CompressionFormat>> = {
  gzip: 'gzip',
  'x-gzip': 'gzip',
  deflate: 'deflate',
  br: 'brotli' as CompressionFormat,
  zstd: 'zstd' as CompressionFormat,
};

/**
 * We request uncompressed bodies. A body that is compressed anyway is inflated as it is read, 64 kB at a time, so the
 * reader's limit applies. An unknown encoding is passed through unchanged.
 */
export function inflatedBody(body: UpstreamBody, contentEncoding: string, clock: Clock): UpstreamBody {
  const format = FORMATS[contentEncoding.toLowerCase()];
  if (format === undefined) return body;
  const packed = new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller) {
        const next = await body.read(Number.POSITIVE_INFINITY);
        if (next === null) controller.close();
        else if (typeof next === 'string') controller.error(new Error(next));
        else controller.enqueue(next);
      },
      cancel: () => body.cancel(),
    },
    { highWaterMark: 0 },
  );
  const inflated = streamBody(packed.pipeThrough(new DecompressionStream(format)), clock);
  return {
    read: inflated.read,
    cancel() {
      inflated.cancel();
      body.cancel();
    },
  };
}

import type { Clock, Timer } from '../../ports/clock.ts';
import type { ClientWire } from '../json/client-wire.ts';

/** A stream whose client may wait while its provider is silent, as a model that reasons for minutes is. */
interface QuietStream {
  /** The seconds without an event for the client; set to 0 with every event. */
  quietSeconds: number;
  ping(): void;
  /** Set while the client waits for the provider. */
  waiting: ReadableStreamDefaultController | null;
}

/** Pings streams after 15 seconds of silence: proxies and clients close connections on which nothing comes for a minute. */
export interface KeepAlive {
  add(stream: QuietStream): void;
  remove(stream: QuietStream): void;
}

const PING_AFTER_SECONDS = 15;

/** One timer for all streams, so that an event of a stream costs one assignment. It runs while there are streams. */
export function createKeepAlive(clock: Pick<Clock, 'after'>): KeepAlive {
  const streams = new Set<QuietStream>();
  let timer: Timer | null = null;

  function tick(): void {
    timer = clock.after(1_000, tick);
    for (const stream of streams) {
      stream.quietSeconds += 1;
      if (stream.quietSeconds < PING_AFTER_SECONDS) continue;
      stream.quietSeconds = 0;
      stream.ping();
    }
  }

  return {
    add(stream) {
      streams.add(stream);
      timer ??= clock.after(1_000, tick);
    },
    remove(stream) {
      if (!streams.delete(stream) || streams.size > 0) return;
      timer?.cancel();
      timer = null;
    },
  };
}

/** Only whole events are passed on before a read, so a ping is always between two of them. */
export function createQuietStream(wire: ClientWire): QuietStream {
  return {
    quietSeconds: 0,
    waiting: null,
    ping() {
      // Nothing is enqueued for a client that does not read.
      if (this.waiting?.desiredSize === 0) this.waiting.enqueue(PINGS[wire]);
    },
  };
}

const COMMENT = new TextEncoder().encode(': ping\n\n');
const PINGS: Readonly<Record<ClientWire, Uint8Array>> = {
  completions: COMMENT,
  responses: COMMENT,
  // Anthropic sends an event of its own instead of a comment.
  messages: new TextEncoder().encode('event: ping\ndata: {"type": "ping"}\n\n'),
};

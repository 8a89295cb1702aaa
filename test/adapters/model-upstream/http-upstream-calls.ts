import type { HttpUpstreamParts } from '../../../src/adapters/model-upstream/http.ts';
import type { HttpUpstream } from '../../../src/adapters/model-upstream/provider-calls.ts';
import type { UpstreamAnswer, UpstreamCall, UpstreamFailure } from '../../../src/ports/model-upstream.ts';
import { createManualClock, type ManualClock } from '../../doubles/manual-clock.ts';
import { createSilentLog } from '../../doubles/silent-log.ts';
import { type RawUpstream, startRawUpstream } from './raw-upstream.ts';

interface CallOfARawUpstream {
  readonly provider: RawUpstream;
  readonly clock: ManualClock;
  readonly upstream: HttpUpstream;
  readonly caller: AbortController;
  send(change?: Partial<UpstreamCall>, baseUrl?: string | null): Promise<UpstreamAnswer>;
}

/** A client of providers over HTTP. */
export type CreateUpstream = (
  parts: Pick<HttpUpstreamParts, 'clock' | 'log' | 'connectTimeoutMs' | 'firstByteTimeouts'>,
) => HttpUpstream;

/** The HTTP upstream and one provider for it, which lives until `stopAll`. */
export function createRawUpstreams(create: CreateUpstream) {
  const started: RawUpstream[] = [];
  return {
    setUp(answer: Parameters<typeof startRawUpstream>[0] = () => {}): CallOfARawUpstream {
      const provider = startRawUpstream(answer);
      started.push(provider);
      const clock = createManualClock();
      const upstream = create({ clock, log: createSilentLog() });
      const caller = new AbortController();
      const call = { endpoint: 'chat/completions', body: bytesOf('{"a": 1}'), headers: {} } as const;
      return {
        provider,
        clock,
        upstream,
        caller,
        send(change = {}, baseUrl = provider.baseUrl) {
          const target = { id: 't', baseUrl, model: 'm', apiKey: 'sk-1' };
          return upstream.send(target, { ...call, signal: caller.signal, ...change });
        },
      };
    },
    stopAll() {
      for (const provider of started.splice(0)) provider.stop();
    },
  };
}

export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

export const failed = (reason: UpstreamFailure['reason']) => ({ name: 'UpstreamFailure', reason });

/** To be compared with `failed(…)`. */
export function failureOf(sending: Promise<unknown>): Promise<{ name: string; reason: string }> {
  return sending.then(
    () => ({ name: 'none', reason: 'none' }),
    ({ name, reason }: UpstreamFailure) => ({ name, reason }),
  );
}

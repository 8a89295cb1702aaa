import type { Clock } from '../../ports/clock.ts';
import type { LocalFaults } from '../../ports/local-faults.ts';
import type { Log } from '../../ports/log.ts';
import type { UpstreamAnswer, UpstreamFailure } from '../../ports/model-upstream.ts';
import type { ApproveHost } from '../../ports/outgoing-addresses.ts';
import { type Connect, createFirstContact, tcpConnect } from './http-first-contact.ts';
import {
  addressOf,
  callerHeaders,
  FIRST_BYTE_TIMEOUTS,
  type FirstByteTimeouts,
  firstByteTimeout,
  type HttpUpstream,
  mediaType,
  ourHeaders,
  refusedHost,
  upstreamFailure,
  waitIn,
} from './provider-calls.ts';
import { streamBody, wholeBody } from './stream-body.ts';

/**
 * Idle connections are kept for a minute. Load balancers silently drop them after about four minutes, and a call on such a
 * connection would wait for its whole time-out. Bun's default is five minutes.
 */
const KEEP_IDLE_SECONDS = 60;
const SHORT_BYTES = 1024 * 1024;

export interface HttpUpstreamParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly connectTimeoutMs?: number;
  readonly firstByteTimeouts?: FirstByteTimeouts;
  /** Null if Bun's fetch uses a proxy (HTTPS_PROXY etc.): a direct connection proves nothing then. */
  readonly connect?: Connect | null;
  /** Undefined if calls may be sent to any address. */
  readonly approveHost?: ApproveHost | null;
  /** If omitted, every failed connection is the provider's fault. */
  readonly localFaults?: Pick<LocalFaults, 'explain'>;
}

/**
 * A provider over HTTP. The response body is fetch's stream: it applies back-pressure while it is not read, fails if the
 * provider breaks off, and must be cancelled by a caller that does not read it to the end. Redirects are not followed: that
 * would send the key to another host.
 */
export function createHttpUpstream({
  clock,
  log,
  connectTimeoutMs = 5_000,
  firstByteTimeouts = FIRST_BYTE_TIMEOUTS,
  connect = tcpConnect,
  approveHost = null,
  localFaults,
}: HttpUpstreamParts): HttpUpstream {
  const session = new Bun.FetchSession({ keepAlive: { idleTimeout: KEEP_IDLE_SECONDS } });
  const firstContact =
    connect === null ? null : createFirstContact({ clock, log, connectTimeoutMs, connect });

  function reasonWith(error: unknown): UpstreamFailure['reason'] {
    const reason = reasonOf(error);
    return reason === 'connect' && localFaults?.explain(error) != null ? 'local' : reason;
  }

  return {
    async send(target, call) {
      const { endpoint, body, headers, signal, stored } = call;
      const { baseUrl } = target;
      if (baseUrl === null) throw new Error('a target without an address belongs to the embedded models');
      if (signal.aborted) throw upstreamFailure('aborted', null);
      if (approveHost !== null) await refuseInside(approveHost, baseUrl);
      const ours = new AbortController();
      let endedBy: UpstreamFailure['reason'] | null = null;
      const end = (reason: UpstreamFailure['reason']) => {
        endedBy ??= reason;
        ours.abort();
      };
      const onAbort = () => end('aborted');
      signal.addEventListener('abort', onAbort);
      const limitMs = firstByteTimeout(target, call, firstByteTimeouts);
      const timer = clock.after(limitMs, () => end('first-byte-time-out'));
      const contact = firstContact?.begin(baseUrl, () => end('connect'));
      try {
        const response = await session.fetch(addressOf(target, endpoint, stored), {
          method: stored?.method ?? 'POST',
          headers: { ...callerHeaders(headers, target), ...ourHeaders(target) },
          body: stored === undefined ? body : null,
          redirect: 'manual',
          // Bun's own limit also applies to pauses in the body; ours are configurable.
          timeout: false,
          signal: ours.signal,
        });
        contact?.answered();
        return answerOf(response, clock, () => ours.abort());
      } catch (error) {
        contact?.leave();
        // Only here: once the answer has begun, the caller's signal ends its body.
        signal.removeEventListener('abort', onAbort);
        throw upstreamFailure(endedBy ?? reasonWith(error), error, limitMs);
      } finally {
        timer.cancel();
      }
    },
    close: () => session.close(),
  };
}

/** A limitation of this client: `fetch` resolves the name again when it connects, and the address may have changed. */
async function refuseInside(approveHost: ApproveHost, baseUrl: string): Promise<void> {
  const { hostname } = new URL(baseUrl);
  const approval = await approveHost(hostname);
  if (approval.outcome !== 'approved') throw refusedHost(approval);
}

function answerOf(response: Response, clock: Clock, abort: () => void): UpstreamAnswer {
  const { status, headers, body } = response;
  const contentType = mediaType(headers.get('content-type'));
  const declared = Number(headers.get('content-length') ?? Number.NaN);
  // A short body with a declared length is faster to read at once.
  const isShort = declared <= SHORT_BYTES || body === null;
  const [retryAfter, retryAfterMs] = [headers.get('retry-after'), headers.get('retry-after-ms')];
  return {
    status,
    contentType,
    retryAfterMs: waitIn(retryAfter, retryAfterMs, clock),
    body: isShort ? wholeBody(() => response.bytes(), clock, abort) : streamBody(body, clock),
  };
}

/** Errors of the operating system, the name resolution and TLS before any byte of the call was sent. */
const NOT_CONNECTED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EPROTO',
  ...['EADDRNOTAVAIL', 'EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM'],
]);
const ABOUT_CERTIFICATES = /CERT|TLS|SSL|UNABLE_TO/;

/** Any other error counts as broken: the provider may have received the call. */
export function reasonOf(error: unknown): UpstreamFailure['reason'] {
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code !== 'string') return 'broken';
  return NOT_CONNECTED.has(code) || ABOUT_CERTIFICATES.test(code) ? 'connect' : 'broken';
}

import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { UpstreamAnswer, UpstreamFailure } from '../../ports/model-upstream.ts';
import type { ApproveHost } from '../../ports/outgoing-addresses.ts';
import { type Connect, createFirstContact, tcpConnect } from './http-first-contact.ts';
import {
  addressOf,
  callerHeaders,
  type HttpUpstream,
  mediaType,
  ourHeaders,
  upstreamFailure,
  waitIn,
} from './provider-calls.ts';
import { streamBody, wholeBody } from './stream-body.ts';

/**
 * An idle connection is kept for a minute. Balancers drop idle ones without a word after four minutes or so, and
 * a call sent on such a connection would wait for its whole time-out; Bun's own default is five.
 */
const KEEP_IDLE_SECONDS = 60;
const SHORT_BYTES = 1024 * 1024;

export interface HttpUpstreamParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly connectTimeoutMs?: number;
  /** From sending the call until the status is there. */
  readonly firstByteTimeoutMs?: number;
  /** Null where Bun's fetch goes through a proxy (HTTPS_PROXY and the like): a direct connection proves nothing. */
  readonly connect?: Connect | null;
  /** Left out where calls may go anywhere. */
  readonly approveHost?: ApproveHost | null;
}

/**
 * A provider over HTTP. The response body is fetch's own stream: it applies back-pressure while it is not read,
 * fails where the provider breaks off, and must be cancelled by a caller that does not read it to its end. A redirect
 * is returned like any other response: following it would send the key to another host.
 */
export function createHttpUpstream({
  clock,
  log,
  connectTimeoutMs = 5_000,
  firstByteTimeoutMs = 120_000,
  connect = tcpConnect,
  approveHost = null,
}: HttpUpstreamParts): HttpUpstream {
  const session = new Bun.FetchSession({ keepAlive: { idleTimeout: KEEP_IDLE_SECONDS } });
  const firstContact =
    connect === null ? null : createFirstContact({ clock, log, connectTimeoutMs, connect });

  return {
    async send(target, { endpoint, body, headers, signal, stored }) {
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
      const timer = clock.after(target.timeoutMs ?? firstByteTimeoutMs, () => end('first-byte-time-out'));
      const contact = firstContact?.begin(baseUrl, () => end('connect'));
      try {
        const response = await session.fetch(addressOf(target, endpoint, stored), {
          method: stored?.method ?? 'POST',
          headers: { ...callerHeaders(headers, target), ...ourHeaders(target) },
          body: stored === undefined ? body : null,
          redirect: 'manual',
          // Bun's own limit counts silence, in the body too; ours are the ones of the settings.
          timeout: false,
          signal: ours.signal,
        });
        contact?.heard();
        return answerOf(response, clock, () => ours.abort());
      } catch (error) {
        contact?.leave();
        // Only here: once the answer has begun, the caller's signal is what ends its body.
        signal.removeEventListener('abort', onAbort);
        throw upstreamFailure(endedBy ?? reasonOf(error), error);
      } finally {
        timer.cancel();
      }
    },
    close: () => session.close(),
  };
}

/** `fetch` resolves the name again when it connects: what can change in between is a limit of this client. */
async function refuseInside(approveHost: ApproveHost, baseUrl: string): Promise<void> {
  const { hostname } = new URL(baseUrl);
  const approval = await approveHost(hostname);
  if (approval.outcome !== 'approved') throw upstreamFailure('connect', new Error(approval.problem));
}

function answerOf(response: Response, clock: Clock, abort: () => void): UpstreamAnswer {
  const { status, headers, body } = response;
  const contentType = mediaType(headers.get('content-type'));
  const declared = Number(headers.get('content-length') ?? Number.NaN);
  // A short one whose length is declared is quicker to have at once.
  const isShort = declared <= SHORT_BYTES || body === null;
  const [retryAfter, retryAfterMs] = [headers.get('retry-after'), headers.get('retry-after-ms')];
  return {
    status,
    contentType,
    retryAfterMs: waitIn(retryAfter, retryAfterMs, clock),
    body: isShort ? wholeBody(() => response.bytes(), clock, abort) : streamBody(body, clock),
  };
}

/** What the operating system, the name look-up and TLS say before a single byte of the call was sent. */
const NOT_CONNECTED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'EPROTO',
  'EMFILE',
]);
const ABOUT_CERTIFICATES = /CERT|TLS|SSL|UNABLE_TO/;

/** What is not surely from before the call was sent counts as broken: the provider may have seen it. */
export function reasonOf(error: unknown): UpstreamFailure['reason'] {
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code !== 'string') return 'broken';
  return NOT_CONNECTED.has(code) || ABOUT_CERTIFICATES.test(code) ? 'connect' : 'broken';
}

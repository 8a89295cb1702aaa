import type { Clock } from '../../ports/clock.ts';
import type { LocalFaults } from '../../ports/local-faults.ts';
import type { Log } from '../../ports/log.ts';
import type {
  ModelEndpoint,
  StoredAtProvider,
  UpstreamAnswer,
  UpstreamBody,
  UpstreamCall,
  UpstreamTarget,
} from '../../ports/model-upstream.ts';
import type { ApproveHost, HostApproval } from '../../ports/outgoing-addresses.ts';
import { inflatedBody } from './inflate-body.ts';
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
import type { AnswerHead } from './sockets/answer-head.ts';
import { createDeadlines } from './sockets/deadlines.ts';
import { type Dial, dialSocket } from './sockets/dial.ts';
import { createExchange, type ExchangeFailure } from './sockets/exchange.ts';
import { createPool, type Origin, type Pool } from './sockets/pool.ts';
import { headerLines, requestHead } from './sockets/request-bytes.ts';

export interface SocketUpstreamParts {
  readonly clock: Clock;
  readonly log: Log;
  /** Resolves names. Calls are sent only to addresses that it approves. */
  readonly approveHost: ApproveHost;
  readonly connectTimeoutMs?: number;
  readonly firstByteTimeouts?: FirstByteTimeouts;
  readonly dial?: Dial;
  /** If omitted, every failed connection is the provider's fault. */
  readonly localFaults?: Pick<LocalFaults, 'explain'>;
}

/** How long an approval is cached: checking an address takes some microseconds, too long for every call. */
const APPROVED_MS = 1_000;
/** Six aliases have at most 192 targets; the rest is for replaced hosts. */
const MOST_POOLS = 256;

const ALWAYS = { accept: '*/*', connection: 'keep-alive' };
/** Names that a caller's headers must not have: ours, and those that frame a request. */
const OURS = new Set([
  ...['accept', 'connection', 'content-type', 'accept-encoding', 'user-agent'],
  ...['authorization', 'x-api-key', 'api-key'],
  ...['host', 'content-length', 'transfer-encoding', 'keep-alive', 'upgrade', 'expect', 'te', 'trailer'],
]);

/** The parts that all calls to a target have in common. */
interface Prepared {
  readonly hostname: string;
  readonly pool: Pool;
  /** The names, in lower case, that a caller's headers must not have. */
  readonly taken: ReadonlySet<string>;
  readonly heads: Map<ModelEndpoint, Uint8Array>;
  approval: HostApproval | null;
  /** The end of the cached approval, by the clock's uptime. */
  approvedUntilMs: number;
}

/**
 * Providers over HTTP/1.1 on the runtime's sockets, in the event loop of the process. `fetch` runs on another thread, and
 * the transfer there and back is more than half of the cost of a small call (decisions/0038). A call is never sent twice: if
 * nothing of it could be written, another connection is used; all other failures are returned to the caller.
 */
export function createSocketUpstream({
  clock,
  log,
  approveHost,
  connectTimeoutMs = 5_000,
  firstByteTimeouts = FIRST_BYTE_TIMEOUTS,
  dial = dialSocket,
  localFaults,
}: SocketUpstreamParts): HttpUpstream {
  const deadlines = createDeadlines(clock);
  const poolParts = { clock, log, deadlines, dial, connectTimeoutMs };
  const pools = new Map<string, Pool>();
  const prepared = new WeakMap<UpstreamTarget, Prepared>();

  function poolOf({ hostname, port, tlsName }: Origin): Pool {
    const key = `${hostname} ${port} ${tlsName === null ? 'plain' : 'tls'}`;
    const known = pools.get(key);
    if (known !== undefined) return known;
    if (pools.size >= MOST_POOLS) {
      for (const [other, pool] of pools) if (pool.isEmpty()) pools.delete(other);
    }
    const pool = createPool(poolParts, { hostname, port, tlsName });
    pools.set(key, pool);
    return pool;
  }

  function prepare(target: UpstreamTarget, baseUrl: string): Prepared {
    const known = prepared.get(target);
    if (known !== undefined) return known;
    const { protocol, hostname, port } = new URL(baseUrl);
    const isTls = protocol === 'https:';
    const bare = hostname.replace(/^\[|\]$/g, '');
    const pool = poolOf({
      hostname: bare,
      port: port === '' ? (isTls ? 443 : 80) : Number(port),
      tlsName: isTls ? bare : null,
    });
    const own = Object.keys(target.wire?.headers ?? {});
    const taken = own.length === 0 ? OURS : new Set([...OURS, ...own.map((name) => name.toLowerCase())]);
    const made = { hostname, pool, heads: new Map(), taken, approval: null, approvedUntilMs: 0 };
    prepared.set(target, made);
    return made;
  }

  function headOf({ heads }: Prepared, target: UpstreamTarget, endpoint: ModelEndpoint): Uint8Array {
    const known = heads.get(endpoint);
    if (known !== undefined) return known;
    const head = newHead(target, endpoint);
    heads.set(endpoint, head);
    return head;
  }

  function newHead(target: UpstreamTarget, endpoint: ModelEndpoint, stored?: StoredAtProvider): Uint8Array {
    const { host, pathname, search } = new URL(addressOf(target, endpoint, stored));
    const headers = { ...ALWAYS, ...ourHeaders(target) };
    return requestHead(stored?.method ?? 'POST', `${pathname}${search}`, host, headers);
  }

  function toError({ reason, cause, limitMs }: ExchangeFailure): Error {
    const isLocal = reason === 'connect' && localFaults?.explain(cause) != null;
    return upstreamFailure(isLocal ? 'local' : reason, cause, limitMs);
  }

  function toAnswer(head: AnswerHead, body: UpstreamBody): UpstreamAnswer {
    const { status, contentType, contentEncoding, retryAfter, retryAfterMs } = head;
    const answer = {
      status,
      contentType: mediaType(contentType),
      body: contentEncoding === '' ? body : inflatedBody(body, contentEncoding, clock),
    };
    if (retryAfter === null && retryAfterMs === null) return answer;
    return { ...answer, retryAfterMs: waitIn(retryAfter, retryAfterMs, clock) };
  }

  function begin(
    target: UpstreamTarget,
    call: UpstreamCall,
    ready: Prepared,
    { approval, nowMs }: { readonly approval: HostApproval; readonly nowMs: number },
  ): Promise<UpstreamAnswer> {
    const { endpoint, body, headers, signal, stored } = call;
    if (signal.aborted) throw upstreamFailure('aborted', null);
    if (approval.outcome !== 'approved') throw refusedHost(approval);
    const request = {
      head: stored === undefined ? headOf(ready, target, endpoint) : newHead(target, endpoint, stored),
      more: headerLines(callerHeaders(headers, target), ready.taken),
      body,
    };
    const timeoutMs = firstByteTimeout(target, call, firstByteTimeouts);
    const exchange = createExchange({ request, begunMs: nowMs, timeoutMs, signal, toAnswer, toError });
    ready.pool.run(exchange, approval.addresses);
    return exchange.answer;
  }

  async function approve(ready: Prepared, nowMs: number): Promise<HostApproval> {
    ready.approval = await approveHost(ready.hostname);
    ready.approvedUntilMs = nowMs + APPROVED_MS;
    return ready.approval;
  }

  return {
    send(target, call) {
      const { baseUrl } = target;
      try {
        if (baseUrl === null) throw new Error('a target without an address belongs to the embedded models');
        if (call.signal.aborted) throw upstreamFailure('aborted', null);
        const ready = prepare(target, baseUrl);
        const nowMs = clock.uptimeMs();
        const { approval } = ready;
        // On a busy target nothing but the answer has to be awaited.
        if (approval !== null && nowMs < ready.approvedUntilMs) {
          return begin(target, call, ready, { approval, nowMs });
        }
        return approve(ready, nowMs).then((approved) =>
          begin(target, call, ready, { approval: approved, nowMs }),
        );
      } catch (error) {
        return Promise.reject(error);
      }
    },
    close() {
      for (const pool of pools.values()) pool.close();
    },
  };
}

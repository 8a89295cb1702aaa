import { type IncomingMessage, type RequestOptions, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Clock } from '../../ports/clock.ts';
import type { LocalFaults } from '../../ports/local-faults.ts';
import { type ApproveHost, type HostApproval, lookupIn } from '../../ports/outgoing-addresses.ts';
import type { Webhook, WebhookAnswer, WebhookSender } from '../../ports/webhooks/webhook-sender.ts';
import { signWebhook } from '../../ports/webhooks/webhook-signature.ts';

interface WebhookSenderParts {
  readonly clock: Clock;
  /** Null if requests may be sent to any host. */
  readonly approveHost: ApproveHost | null;
  /**
   * `approved`: connects to the approved addresses, so that the owner of a name cannot return others the second time;
   * each request has its own connection. `runtime`: the runtime's fetch, which reuses connections and supports an HTTP
   * proxy, for addresses that only an operator sets.
   */
  readonly connects: 'approved' | 'runtime';
  readonly localFaults?: Pick<LocalFaults, 'explain'>;
}

const ANY_ADDRESS: HostApproval = { outcome: 'approved', addresses: [] };
const LOCAL_FAULT = 'it was not sent, because our side could not open a connection';

type Failure = Extract<WebhookAnswer, { outcome: 'failed' }>;
type Answered = Pick<Extract<WebhookAnswer, { outcome: 'answered' }>, 'status' | 'body' | 'isWhole'>;

const SIGNATURE_HEADER = 'turnpike-signature';

export function createWebhookSender({
  clock,
  approveHost,
  connects,
  localFaults,
}: WebhookSenderParts): WebhookSender {
  async function approve(url: URL): Promise<HostApproval> {
    return (await approveHost?.(url.hostname)) ?? ANY_ADDRESS;
  }

  async function send(webhook: Webhook): Promise<WebhookAnswer> {
    const startedMs = clock.uptimeMs();
    const durationMs = () => Math.round(clock.uptimeMs() - startedMs);
    const failed = (reason: Failure['reason'], problem: string): Failure => {
      return { outcome: 'failed', reason, problem, durationMs: durationMs() };
    };
    const { url: address, body, secrets, timeoutMs, signal } = webhook;
    const url = URL.parse(address);
    if (url === null) return failed('address-refused', 'the address is no URL');
    const approval = await approve(url);
    if (approval.outcome === 'local-fault') return failed('not-connected', approval.problem);
    if (approval.outcome !== 'approved') return failed('address-refused', approval.problem);
    const { addresses } = approval;

    const ending = new AbortController();
    let isLate = false;
    const timer = clock.after(timeoutMs, () => {
      isLate = true;
      ending.abort();
    });
    const abort = () => ending.abort();
    signal?.addEventListener('abort', abort);
    if (signal?.aborted === true) abort();
    try {
      const headers = {
        'content-type': 'application/json',
        'user-agent': 'Turnpike-Webhooks/1.0',
        ...webhook.headers,
        ...(secrets.length === 0 ? {} : { [SIGNATURE_HEADER]: signWebhook(body, secrets, clock.now()) }),
      };
      const sending = {
        url,
        addresses,
        body,
        headers,
        maxBytes: webhook.maxAnswerBytes,
        signal: ending.signal,
      };
      const answered = connects === 'approved' ? await post(sending) : await postByFetch(sending);
      return { outcome: 'answered', ...answered, durationMs: durationMs() };
    } catch (error) {
      if (isLate) return failed('timed-out', `no complete answer within ${timeoutMs} ms`);
      if (signal?.aborted === true) return failed('aborted', 'it was stopped before an answer came');
      if (localFaults?.explain(error) != null) return failed('not-connected', LOCAL_FAULT);
      const isSent = error instanceof Error && BROKEN.has(codeOf(error));
      return isSent
        ? failed('broken-off', 'the connection was closed before the answer was complete')
        : failed('not-connected', `no connection could be made (${codeOf(error)})`);
    } finally {
      timer.cancel();
      signal?.removeEventListener('abort', abort);
    }
  }

  return {
    send,
    async addressProblem(address) {
      const url = URL.parse(address);
      if (url === null) return 'the address is no URL';
      const approval = await approve(url);
      return approval.outcome === 'approved' ? null : approval.problem;
    },
  };
}

interface Sending {
  readonly url: URL;
  /** Empty if any address of the host may be used. */
  readonly addresses: readonly string[];
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

/** Only the code of an error is shown, because its message may contain the address. */
function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && /^[\w-]{1,60}$/.test(code) ? code : 'failed';
}

const BROKEN = new Set([
  'ECONNRESET',
  'EPIPE',
  'ERR_STREAM_PREMATURE_CLOSE',
  'ConnectionClosed',
  'HPE_INVALID_CONSTANT',
]);

function post({ url, addresses, body, headers, maxBytes, signal }: Sending): Promise<Answered> {
  const bytes = new TextEncoder().encode(body);
  const options: RequestOptions = {
    method: 'POST',
    headers: { ...headers, 'content-length': String(bytes.byteLength), connection: 'close' },
    agent: false,
    signal,
    ...(addresses.length === 0 ? {} : { lookup: lookupIn(addresses) }),
  };
  return new Promise((resolve, reject) => {
    const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, options, (answer) => {
      readAnswer(answer, maxBytes).then(resolve, reject);
    });
    request.on('error', reject);
    request.end(bytes);
  });
}

async function readAnswer(answer: IncomingMessage, maxBytes: number): Promise<Answered> {
  const read = await readBounded(answer, maxBytes);
  if (!read.isWhole) answer.destroy();
  return { status: answer.statusCode ?? 0, ...read };
}

async function postByFetch({ url, body, headers, maxBytes, signal }: Sending): Promise<Answered> {
  const answer = await fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal });
  const read = await readBounded(answer.body ?? [], maxBytes);
  return { status: answer.status, ...read };
}

async function readBounded(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  maxBytes: number,
): Promise<Pick<Answered, 'body' | 'isWhole'>> {
  const read: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    const room = maxBytes - size;
    read.push(chunk.subarray(0, room));
    size += chunk.byteLength;
    // Leaving the loop closes the stream.
    if (size > maxBytes) break;
  }
  return { body: new Uint8Array(Buffer.concat(read)), isWhole: size <= maxBytes };
}

import {
  createMcpHandler,
  isLegacyRequest,
  PROTOCOL_VERSION_META_KEY,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import type { Clock } from '../../ports/clock.ts';
import { isObject } from '../../ports/json-object.ts';
import type { Log } from '../../ports/log.ts';
import type { Secrets } from '../../ports/secrets.ts';
import type { CallName, RunningCalls } from './running-calls.ts';
import type { McpCaller, ToolServer } from './tool-server.ts';

interface ServingParts {
  readonly toolServer: ToolServer;
  readonly running: RunningCalls;
  readonly secrets: Pick<Secrets, 'newId'>;
  readonly clock: Clock;
  readonly log: Log;
}

interface ArrivedMessage {
  /** Its body has already been read. */
  readonly request: Request;
  readonly body: unknown;
  readonly messages: readonly PeekedMessage[];
  readonly keyId: string;
  readonly caller: McpCaller;
}

/**
 * The fields of a message that the endpoint needs before the protocol's own server validates it. Errors are left to that
 * server.
 */
export interface PeekedMessage {
  readonly method: string | null;
  readonly id: string | number | null;
  /** For tools/call. */
  readonly toolName: string | null;
  /** For notifications/cancelled: the id of the cancelled request. */
  readonly cancelledId: string | number | null;
  readonly hasProgressToken: boolean;
}

export type ServeMessage = (arrived: ArrivedMessage) => Promise<Response>;

const SESSION_HEADER = 'mcp-session-id';
const SUBSCRIBE = 'subscriptions/listen';
const SUBSCRIPTION_MS = 5_000;
const BOTH = 'application/json, text/event-stream';

/**
 * Serves both eras of the protocol at one URL, without sessions: each request gets its own server, so that any process can
 * answer it. A stream is opened only if something may be sent before the result. Otherwise the answer is plain JSON, which
 * costs less and which clients that accept only JSON can read.
 */
export function createServeMessage({ toolServer, running, secrets, clock, log }: ServingParts): ServeMessage {
  const arrivals = new WeakMap<Request, ArrivedMessage>();
  const handler = createMcpHandler(
    ({ era, requestInfo }) => {
      const arrived = requestInfo === undefined ? undefined : arrivals.get(requestInfo);
      if (arrived === undefined) throw new Error('a request without an admission');
      return serverOf(arrived, era === 'legacy');
    },
    {
      onerror: (error) => log.debug('an MCP request was refused', { error }),
    },
  );

  function serverOf(arrived: ArrivedMessage, isLegacy: boolean): Server {
    const server = toolServer.serverFor(arrived.caller);
    const name = isLegacy ? callNameOf(arrived) : null;
    if (name === null) return server;
    const call = running.begin(name, () => void server.close());
    server.onclose = call.ended;
    return server;
  }

  return async (arrived) => {
    const { request, body, messages, caller } = arrived;
    for (const { cancelledId } of messages) cancel(arrived, cancelledId);
    const streams =
      caller.takesStreams &&
      (toolServer.sendsUnasked || messages.some(({ hasProgressToken }) => hasProgressToken));
    if (messages[0]?.method === SUBSCRIBE) return await subscribe(arrived);
    arrivals.set(request, arrived);
    if (streams || (await eraOf(request, body)) === '2026') {
      return withSession(arrived, await handler.fetch(request, { parsedBody: body }));
    }
    return withSession(arrived, await answerInOnePiece(serverOf(arrived, true), request, body));
  };

  /**
   * Acknowledges, as the protocol requires. Our lists never change on their own, so the stream ends soon and does not delay a
   * shutdown.
   */
  async function subscribe(arrived: ArrivedMessage): Promise<Response> {
    const { signal, url, headers } = arrived.request;
    const ending = new AbortController();
    const end = () => ending.abort();
    const timer = clock.after(SUBSCRIPTION_MS, end);
    const leave = () => {
      timer.cancel();
      end();
    };
    signal.addEventListener('abort', leave, { once: true });
    const request = new Request(url, { method: 'POST', headers, signal: ending.signal });
    arrivals.set(request, arrived);
    return await handler.fetch(request, { parsedBody: arrived.body });
  }

  function cancel({ request, keyId }: ArrivedMessage, id: string | number | null): void {
    const session = request.headers.get(SESSION_HEADER);
    if (id !== null && session !== null) running.cancel({ keyId, session, id });
  }

  /** Gives a client of the 2025 protocol its session id; running-calls.ts describes its only use. */
  function withSession({ messages }: ArrivedMessage, response: Response): Response {
    if (messages[0]?.method === 'initialize' && response.ok) {
      response.headers.set(SESSION_HEADER, secrets.newId());
    }
    return response;
  }
}

/** One message, or those of a batch, which clients of 2025-03-26 may send. */
export function peekMessages(body: unknown): readonly PeekedMessage[] {
  return (Array.isArray(body) ? body : [body]).map(peek);
}

type MessageEra = '2025' | '2026';

/** Revisions before 2026-07-28, the first one without a handshake. */
const OLD_REVISION = /^202[45]-\d\d-\d\d$/;

/**
 * Determines the era of a message. The library does so by validating it against the protocol's schemas, which the server then
 * does again. For a plain tool call of either era, checking its fields gives the same result. Everything else is left to the
 * library.
 */
export async function eraOf(request: Request, body: unknown): Promise<MessageEra> {
  const plain = plainEraOf(request.headers.get('mcp-protocol-version'), body);
  if (plain !== null) return plain;
  return (await isLegacyRequest(request, body)) ? '2025' : '2026';
}

/** Null if the call cannot be cancelled individually, such as in a batch or without a session. */
function callNameOf({ request, messages, keyId }: ArrivedMessage): CallName | null {
  const [only, ...more] = messages;
  const session = request.headers.get(SESSION_HEADER);
  if (only === undefined || more.length > 0 || session === null) return null;
  return only.toolName === null || only.id === null ? null : { keyId, session, id: only.id };
}

async function answerInOnePiece(server: Server, request: Request, body: unknown): Promise<Response> {
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await server.connect(transport);
  const given = Promise.withResolvers<Response>();
  // If it is closed before there is an answer, the client cancelled or disconnected.
  const { onclose } = server;
  server.onclose = () => {
    onclose?.();
    given.resolve(new Response(null, { status: 499 }));
  };
  const leave = () => void server.close();
  request.signal.addEventListener('abort', leave, { once: true });
  try {
    // The transport requires both types, regardless of which one it sends.
    const headers = new Headers(request.headers);
    headers.set('accept', BOTH);
    const forwarded = new Request(request.url, { method: 'POST', headers });
    const answering = transport.handleRequest(forwarded, { parsedBody: body });
    return await Promise.race([answering, given.promise]);
  } finally {
    request.signal.removeEventListener('abort', leave);
    await server.close();
  }
}

function peek(message: unknown): PeekedMessage {
  const { method, id, params } = recordOf(message);
  const { name, requestId, _meta } = recordOf(params);
  const isCall = method === 'tools/call';
  return {
    method: typeof method === 'string' ? method : null,
    id: idOf(id),
    toolName: isCall && typeof name === 'string' ? name : null,
    cancelledId: method === 'notifications/cancelled' ? idOf(requestId) : null,
    hasProgressToken: isCall && idOf(recordOf(_meta).progressToken) !== null,
  };
}

function idOf(value: unknown): string | number | null {
  return typeof value === 'string' || typeof value === 'number' ? value : null;
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {};
}

function plainEraOf(version: string | null, body: unknown): MessageEra | null {
  if (!isObject(body) || 'result' in body || 'error' in body) return null;
  const { jsonrpc, id, method, params } = body;
  if (jsonrpc !== '2.0' || method !== 'tools/call' || !isObject(params)) return null;
  if (typeof id !== 'string' && !Number.isSafeInteger(id)) return null;
  if (isObject(params._meta) && PROTOCOL_VERSION_META_KEY in params._meta) return '2026';
  const isOld = version === null || OLD_REVISION.test(version);
  return isOld && params._meta === undefined ? '2025' : null;
}

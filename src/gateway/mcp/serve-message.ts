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
  /** Its body has been read. */
  readonly request: Request;
  readonly body: unknown;
  readonly messages: readonly PeekedMessage[];
  readonly keyId: string;
  readonly caller: McpCaller;
}

/** What the endpoint looks at in a message before the protocol's own server judges it; whatever is amiss is left to that. */
export interface PeekedMessage {
  readonly method: string | null;
  readonly id: string | number | null;
  /** Of a tools/call. */
  readonly toolName: string | null;
  /** Of notifications/cancelled: the request that is meant. */
  readonly cancelledId: string | number | null;
  readonly hasProgressToken: boolean;
}

export type ServeMessage = (arrived: ArrivedMessage) => Promise<Response>;

const SESSION_HEADER = 'mcp-session-id';
const SUBSCRIBE = 'subscriptions/listen';
const SUBSCRIPTION_MS = 5_000;
const BOTH = 'application/json, text/event-stream';

/**
 * Both eras of the protocol on one address, without a session: each request gets a server of its own, so that any
 * process can answer it. A stream is opened where something may come before the result; everything else is one piece
 * of JSON, which costs less and which a client that takes only JSON can read.
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

  /** Acknowledged, as the protocol wants. No list of ours changes by itself, so the stream ends soon, before a stop has to wait for it. */
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

  /** What a client of 2025 names its session by from then on; see running-calls.ts for the one thing it is for. */
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

/** Revisions from before 2026-07-28, which is the first without a handshake. */
const OLD_REVISION = /^202[45]-\d\d-\d\d$/;

/**
 * In which era a message is to be answered. The library's own judgement checks it against the protocol's schemas, and what
 * answers it does so once more: for what plainly is a tool call of either era a look at its fields says the same.
 * Everything else is left to the library.
 */
export async function eraOf(request: Request, body: unknown): Promise<MessageEra> {
  const plain = plainEraOf(request.headers.get('mcp-protocol-version'), body);
  if (plain !== null) return plain;
  return (await isLegacyRequest(request, body)) ? '2025' : '2026';
}

/** Null for what cannot be cancelled on its own: a batch, or a client that names no session. */
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
  // Closed before there is an answer: the client cancelled or disconnected.
  const { onclose } = server;
  server.onclose = () => {
    onclose?.();
    given.resolve(new Response(null, { status: 499 }));
  };
  const leave = () => void server.close();
  request.signal.addEventListener('abort', leave, { once: true });
  try {
    // The transport wants to see both, whatever it then sends.
    const headers = new Headers(request.headers);
    headers.set('accept', BOTH);
    const asked = new Request(request.url, { method: 'POST', headers });
    const answering = transport.handleRequest(asked, { parsedBody: body });
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

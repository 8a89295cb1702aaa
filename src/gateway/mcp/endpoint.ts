import {
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  originValidationResponse,
} from '@modelcontextprotocol/server';
import { TAGS_HEADER } from '../../domain/calls/call-attribution.ts';
import type { Scope } from '../../domain/keys/api-key.ts';
import type { KeyDirectory } from '../../domain/keys/key-directory.ts';
import type { KeyInUse, LiveKey } from '../../domain/keys/key-lookup.ts';
import type { Limits } from '../../domain/limits/limits.ts';
import { envelopeResponse, errorEnvelope } from '../../http/error-envelope.ts';
import { type Connection, readInTime } from '../../http/listen.ts';
import type { MemoryShare } from '../../http/memory-limit.ts';
import { type CountedBodyBounds, readBody, tooLargeMessage } from '../../http/read-body.ts';
import { type ReadJson, readJson, TOO_DEEP } from '../../http/read-json.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { KEYS_UNAVAILABLE } from '../admission/admit.ts';
import { CACHE_HEADER } from '../admission/cached-answer.ts';
import { keyIn } from '../admission/client-headers.ts';
import { TOO_MANY_LARGE } from '../admission/read-call-body.ts';
import { REFUSALS, type Refusal, refusalResponse } from '../admission/refusals.ts';
import { BASE_PATH } from '../admission/routes.ts';
import type { CrossOrigin } from '../cross-origin.ts';
import { createGatewayTools } from './gateway-tools.ts';
import { createLocalRunningCalls, type RunningCalls } from './running-calls.ts';
import { createServeMessage, type PeekedMessage, peekMessages, type ServeMessage } from './serve-message.ts';
import { type AskRest, createToolServer, type GatewayTool, type ToolServer } from './tool-server.ts';

export interface Arrived {
  readonly request: Request;
  readonly path: string;
  readonly requestId: string;
  readonly connection: Connection;
  /** Set if the headers of the answer already include the request id. */
  hasRequestId?: boolean;
}

/** The defaults are for a single gateway process. */
export interface McpChoices {
  readonly checksHost?: boolean;
  readonly running?: RunningCalls;
  readonly toolServer?: ToolServer;
}

interface OpenMcpParts extends Omit<McpEndpointParts, 'guard' | 'tools' | 'serve'> {
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly log: Log;
  readonly crossOrigin: Pick<CrossOrigin, 'allows'>;
  readonly mcp: McpChoices | undefined;
}

/** Creates the endpoint and everything behind it. */
export function openMcpEndpoint(parts: OpenMcpParts): (arrived: Arrived) => Promise<Response> {
  const { clock, secrets, log, crossOrigin, mcp = {} } = parts;
  const { checksHost = false, running = createLocalRunningCalls() } = mcp;
  const toolServer = mcp.toolServer ?? createToolServer({ tools: createGatewayTools({ clock }), log });
  return createMcpEndpoint({
    ...parts,
    guard: createBrowserGuard({ crossOrigin, checksHost }),
    tools: toolServer.tools,
    serve: createServeMessage({ toolServer, running, secrets, clock, log }),
  });
}

interface McpEndpointParts {
  readonly keys: KeyDirectory;
  readonly limits: Pick<Limits, 'countAddress'>;
  readonly bodyBounds: CountedBodyBounds;
  readonly addressOf: (arrived: Arrived) => string;
  /** Records a request that is refused before its tools are known; `key` is null if its key is not known either. */
  noteRefusal(arrived: Arrived, address: string, refusal: Refusal, key: KeyInUse | null): void;
  /** Answers the REST routes, for a request whose address has been counted. */
  readonly answer: (arrived: Arrived) => Promise<Response>;
  readonly guard: BrowserGuard;
  readonly tools: ReadonlyMap<string, GatewayTool>;
  readonly serve: ServeMessage;
}

/** The limit per request, which is also that of the protocol's own server. */
const MOST_MESSAGES = 100;
const NO_KEY = { name: 'unauthenticated' } as const;
/** Never called: requests to it are answered in this process. */
const OWN_ORIGIN = 'http://gateway.invalid';

/**
 * G-9: {base}/mcp. Requests are refused before the protocol handles them, in this order: the address 429, a method other than
 * POST 405, a page of a foreign origin 403, the key 401, the body 408, 413, 503 or 400, a tool outside of the key's scopes 403.
 * Every request counts once against its address, a batch once for each call in it. Only tool calls count against the key's
 * own limits, as the route that each of them calls.
 */
function createMcpEndpoint(parts: McpEndpointParts): (arrived: Arrived) => Promise<Response> {
  const { keys, limits, bodyBounds, tools } = parts;

  return async (arrived) => {
    const { request } = arrived;
    const address = parts.addressOf(arrived);
    const counted = await limits.countAddress(address);
    if (counted.outcome === 'refused') {
      const key = keys.known(keyIn(request, false));
      return tooMany(arrived, address, counted.retryAfterMs, key);
    }
    if (request.method !== 'POST') return methodNotAllowed();
    const foreign = parts.guard(request);
    if (foreign !== null) return foreign;
    const token = keyIn(request, false);
    const found = await keys.find(token);
    if (found.outcome === 'unavailable') {
      parts.noteRefusal(arrived, address, KEYS_UNAVAILABLE, null);
      return refusalResponse(KEYS_UNAVAILABLE, {});
    }
    if (found.outcome === 'unknown') {
      parts.noteRefusal(arrived, address, NO_KEY, null);
      return refusalResponse(NO_KEY, { 'www-authenticate': 'Bearer realm="turnpike"' });
    }
    const read = await readMessages(request, bodyBounds, found.key.companyId);
    if (read.outcome === 'refused') return read.response;
    try {
      return await serveRead(arrived, { token, found, address }, read);
    } finally {
      // A call of a tool counts its own body.
      read.share?.release();
    }
  };

  function tooMany(arrived: Arrived, address: string, retryAfterMs: number, key: KeyInUse | null): Response {
    const refusal = { name: 'addressLimited', retryAfterMs } as const;
    parts.noteRefusal(arrived, address, refusal, key);
    return refusalResponse(refusal, {});
  }

  async function serveRead(
    arrived: Arrived,
    { token, found, address }: Caller,
    { body, messages }: MessagesRead,
  ): Promise<Response> {
    const { request, requestId, connection } = arrived;
    const ask = createAsk(arrived, token);
    const denied = await refuseByScope(messages, found.scopes, ask, request.signal);
    if (denied !== null) return denied;
    const calls = messages.filter(({ toolName }) => toolName !== null).length;
    for (let more = 1; more < calls; more += 1) {
      const again = await limits.countAddress(address);
      if (again.outcome === 'refused') return tooMany(arrived, address, again.retryAfterMs, found.key);
    }
    keys.noteUse(found.key.id);
    const takesStreams = request.headers.get('accept')?.includes('text/event-stream') ?? false;
    const caller = { requestId, scopes: found.scopes, ask, takesStreams };
    const served = await parts.serve({ request, body, messages, keyId: found.key.id, caller });
    return readInTime(await withEnvelope(served), connection);
  }

  /** The route refuses it like the same call over REST, and records that (G-45). */
  async function refuseByScope(
    messages: readonly PeekedMessage[],
    scopes: ReadonlySet<Scope>,
    ask: AskRest,
    signal: AbortSignal,
  ): Promise<Response | null> {
    for (const { toolName } of messages) {
      const tool = toolName === null ? undefined : tools.get(toolName);
      if (tool === undefined || scopes.has(tool.scope)) continue;
      const response = await ask(tool.route, signal);
      // The route may refuse it for another reason before it checks the scope.
      if (response.status === REFUSALS.scopeDenied.status) {
        response.headers.set('www-authenticate', `Bearer error="insufficient_scope", scope="${tool.scope}"`);
      }
      return response;
    }
    return null;
  }

  /** Sends the request that a client of the REST routes would send, with the same key, to the function that answers those. */
  function createAsk({ request: mcpRequest, requestId, connection }: Arrived, token: string): AskRest {
    const tags = mcpRequest.headers.get(TAGS_HEADER);
    const caching = mcpRequest.headers.get(CACHE_HEADER);
    return ({ method, path, body }, signal) => {
      const headers: Record<string, string> = { authorization: `Bearer ${token}` };
      if (tags !== null) headers[TAGS_HEADER] = tags;
      const text = body === undefined ? null : JSON.stringify(body);
      if (text !== null) headers['content-type'] = 'application/json';
      if (caching !== null) headers[CACHE_HEADER] = caching;
      const request = new Request(OWN_ORIGIN + BASE_PATH + path, { method, headers, body: text, signal });
      const [pathname = path] = path.split('?');
      // This answer is read here; the client only reads the outer response.
      const { peerAddress } = connection;
      const inside = { peerAddress, mayBeSilent: () => connection.mayBeSilent(), mustBeRead: () => {} };
      return parts.answer({ request, path: BASE_PATH + pathname, requestId, connection: inside });
    };
  }
}

interface BrowserGuardParts {
  /** The origins, besides this machine, whose pages may call. */
  readonly crossOrigin: Pick<CrossOrigin, 'allows'>;
  /** True if the gateway listens only on loopback and is not behind a proxy. */
  readonly checksHost: boolean;
}

type BrowserGuard = (request: Request) => Response | null;

/**
 * A page that a user has open must not reach the tools through the user's browser. Clients that are not browsers send no
 * Origin and pass. On loopback the Host is checked too, because a foreign name may have been pointed at this machine (DNS
 * rebinding). Behind a proxy the Host is the public one, which is the responsibility of the proxy.
 */
function createBrowserGuard({ crossOrigin, checksHost }: BrowserGuardParts): BrowserGuard {
  const hosts = localhostAllowedHostnames();
  const origins = localhostAllowedOrigins();
  return (request) => {
    if (checksHost && hostHeaderValidationResponse(request, hosts) !== undefined) return foreign(WRONG_HOST);
    const origin = request.headers.get('origin');
    if (origin === null || crossOrigin.allows(origin)) return null;
    return originValidationResponse(request, origins) === undefined ? null : foreign(WRONG_ORIGIN);
  };
}

const WRONG_HOST =
  'This gateway listens on loopback and accepts MCP requests for localhost only. Use that name, or set HOST and a proxy.';
const WRONG_ORIGIN =
  'This origin is not allowed. The console, pages of this machine and those that CORS_ORIGINS names are; other clients send no Origin header.';

function foreign(message: string): Response {
  return envelopeResponse(403, errorEnvelope('permission_error', message));
}

const NOT_JSON: ReadJson = { outcome: 'not-json' };

interface Caller {
  readonly token: string;
  readonly found: LiveKey;
  readonly address: string;
}

interface MessagesRead {
  readonly outcome: 'read';
  readonly body: unknown;
  readonly messages: readonly PeekedMessage[];
  /** The memory of a large body. */
  readonly share?: MemoryShare | undefined;
}

type ReadMessages = MessagesRead | { readonly outcome: 'refused'; readonly response: Response };

async function readMessages(
  request: Request,
  bounds: CountedBodyBounds,
  companyId: string,
): Promise<ReadMessages> {
  const read = await readBody(request, bounds, companyId);
  if (read.outcome === 'too-large') {
    return refusedMessages({ name: 'tooLarge', message: tooLargeMessage(request, bounds.maxBytes) });
  }
  if (read.outcome === 'too-slow') return refusedMessages({ name: 'tooSlow' });
  if (read.outcome === 'unknown-encoding') return refusedMessages({ name: 'unsupportedEncoding' });
  if (read.outcome === 'memory-full') return refusedMessages(TOO_MANY_LARGE);
  if (read.outcome === 'broken') return messagesOf(NOT_JSON);
  const messages = messagesOf(readJson(read.bytes));
  if (messages.outcome === 'read') return { ...messages, share: read.share };
  read.share?.release();
  return messages;
}

function messagesOf(json: ReadJson): ReadMessages {
  if (json.outcome !== 'read') {
    const message = json.outcome === 'too-deep' ? TOO_DEEP : 'the body is not JSON.';
    return { outcome: 'refused', response: protocolError(400, -32700, `Parse error: ${message}`) };
  }
  const body = json.value;
  if (Array.isArray(body) && body.length > MOST_MESSAGES) {
    const message = `Invalid request: at most ${MOST_MESSAGES} messages at once.`;
    return { outcome: 'refused', response: protocolError(400, -32600, message) };
  }
  const messages = peekMessages(body);
  if (!Array.isArray(body)) return { outcome: 'read', body, messages };
  const ids = new Set<string | number>();
  for (const { method, id } of messages) {
    if (method === null || id === null) continue;
    // The protocol's own server would run and charge both requests, and answer one.
    if (ids.has(id)) return { outcome: 'refused', response: protocolError(400, -32600, REPEATED_ID) };
    ids.add(id);
  }
  // A request that is cancelled has no answer, for which the protocol's own server would wait without end. A server may
  // ignore a cancellation: here it cannot have seen yet that the request began.
  const stays = messages.map(({ cancelledId }) => cancelledId === null || !ids.has(cancelledId));
  const isLeft = (_: unknown, at: number) => stays[at] === true;
  return { outcome: 'read', body: body.filter(isLeft), messages: messages.filter(isLeft) };
}

const REPEATED_ID = 'Invalid request: two requests of the batch have the same id.';

function refusedMessages(refusal: Refusal): ReadMessages {
  return { outcome: 'refused', response: refusalResponse(refusal, {}) };
}

/** G-34: errors of the protocol itself keep the protocol's format; errors of HTTP have the envelope. */
function protocolError(status: number, code: number, message: string, headers = {}): Response {
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status, headers });
}

function methodNotAllowed(): Response {
  const message = 'Method not allowed: send messages by POST.';
  return envelopeResponse(405, errorEnvelope('invalid_request_error', message), { allow: 'POST' });
}

/** Errors in Accept and Content-Type, which the protocol's own server checks. */
const REFUSED_BY_HTTP: readonly number[] = [406, 415];

async function withEnvelope(response: Response): Promise<Response> {
  if (!REFUSED_BY_HTTP.includes(response.status)) return response;
  const body = (await response.json().catch(() => null)) as { error?: { message?: unknown } } | null;
  const message = typeof body?.error?.message === 'string' ? body.error.message : response.statusText;
  return envelopeResponse(response.status, errorEnvelope('invalid_request_error', message));
}

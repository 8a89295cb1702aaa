import {
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  originValidationResponse,
} from '@modelcontextprotocol/server';
import { TAGS_HEADER } from '../../domain/calls/call-attribution.ts';
import type { AddressRefusals } from '../../domain/calls/log/address-refusals.ts';
import type { Scope } from '../../domain/keys/api-key.ts';
import type { KeyDirectory } from '../../domain/keys/key-directory.ts';
import type { Limits } from '../../domain/limits/limits.ts';
import { bearerToken } from '../../http/client-identity.ts';
import { envelopeResponse, errorEnvelope } from '../../http/error-envelope.ts';
import { type Connection, readInTime } from '../../http/listen.ts';
import { type BodyBounds, readBody } from '../../http/read-body.ts';
import { type ReadJson, readJson, TOO_DEEP } from '../../http/read-json.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { CACHE_HEADER } from '../admission/cached-answer.ts';
import { REFUSALS, type Refusal, refusalResponse } from '../admission/refusals.ts';
import { BASE_PATH } from '../admission/routes.ts';
import { createGatewayTools } from './gateway-tools.ts';
import { createLocalRunningCalls, type RunningCalls } from './running-calls.ts';
import { createServeMessage, type PeekedMessage, peekMessages, type ServeMessage } from './serve-message.ts';
import { type AskRest, createToolServer, type GatewayTool, type ToolServer } from './tool-server.ts';

export interface Arrived {
  readonly request: Request;
  readonly path: string;
  readonly requestId: string;
  readonly connection: Connection;
  /** Set where the answer has the request's id among its headers already. */
  hasRequestId?: boolean;
}

/** What may be chosen; left out, a gateway that stands alone. */
export interface McpChoices {
  readonly checksHost?: boolean;
  readonly running?: RunningCalls;
  readonly toolServer?: ToolServer;
}

interface OpenMcpParts extends Omit<McpEndpointParts, 'guard' | 'tools' | 'serve'> {
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly log: Log;
  readonly consoleOrigin: string | undefined;
  readonly mcp: McpChoices | undefined;
}

/** The endpoint with all that stands behind it. */
export function openMcpEndpoint(parts: OpenMcpParts): (arrived: Arrived) => Promise<Response> {
  const { clock, secrets, log, consoleOrigin, mcp = {} } = parts;
  const { checksHost = false, running = createLocalRunningCalls() } = mcp;
  const toolServer = mcp.toolServer ?? createToolServer({ tools: createGatewayTools({ clock }), log });
  return createMcpEndpoint({
    ...parts,
    guard: createBrowserGuard({ consoleOrigin, checksHost }),
    tools: toolServer.tools,
    serve: createServeMessage({ toolServer, running, secrets, clock, log }),
  });
}

interface McpEndpointParts {
  readonly keys: KeyDirectory;
  readonly limits: Pick<Limits, 'countAddress'>;
  readonly bodyBounds: BodyBounds;
  readonly addressOf: (arrived: Arrived) => string;
  /** Counts what is refused before a key is known. */
  readonly addressRefusals?: Pick<AddressRefusals, 'note'> | undefined;
  /** What answers the REST routes, for a request whose address has been counted. */
  readonly answer: (arrived: Arrived) => Promise<Response>;
  readonly guard: BrowserGuard;
  readonly tools: ReadonlyMap<string, GatewayTool>;
  readonly serve: ServeMessage;
}

/** As many as one request may bring: the protocol's own server takes no more. */
const MOST_MESSAGES = 100;
/** Never called: what is asked there is answered in this process. */
const OWN_ORIGIN = 'http://gateway.invalid';

/**
 * G-9: {base}/mcp. What is refused before the protocol has its say, in this order: the address 429, a method other
 * than POST 405, a page of a foreign origin 403, the key 401, the body 408, 413 or 400, a tool outside of the key's
 * scopes 403. Every request counts once against its address, a batch once for each call in it; against the key's own
 * limits only tool calls count, as the route that each of them calls.
 */
function createMcpEndpoint(parts: McpEndpointParts): (arrived: Arrived) => Promise<Response> {
  const { keys, limits, bodyBounds, tools } = parts;

  return async (arrived) => {
    const { request, requestId, connection } = arrived;
    const address = parts.addressOf(arrived);
    const counted = await limits.countAddress(address);
    if (counted.outcome === 'refused') {
      parts.addressRefusals?.note(address, 'rateLimited');
      return tooMany(counted.retryAfterMs);
    }
    if (request.method !== 'POST') return methodNotAllowed();
    const foreign = parts.guard(request);
    if (foreign !== null) return foreign;
    const token = bearerToken(request) ?? '';
    const found = await keys.find(token);
    if (found.outcome === 'unavailable') {
      return refusalResponse(
        { name: 'unavailable', message: 'API keys cannot be verified right now. Retry shortly.' },
        {},
      );
    }
    if (found.outcome === 'unknown') {
      parts.addressRefusals?.note(address, 'unauthenticated');
      return refusalResponse({ name: 'unauthenticated' }, { 'www-authenticate': 'Bearer realm="turnpike"' });
    }
    const read = await readMessages(request, bodyBounds);
    if (read.outcome === 'refused') return read.response;
    const { body, messages } = read;
    const ask = createAsk(arrived, token);
    const denied = await refuseByScope(messages, found.scopes, ask, request.signal);
    if (denied !== null) return denied;
    const calls = messages.filter(({ toolName }) => toolName !== null).length;
    for (let more = 1; more < calls; more += 1) {
      const again = await limits.countAddress(address);
      if (again.outcome === 'refused') return tooMany(again.retryAfterMs);
    }
    keys.noteUse(found.key.id);
    const takesStreams = request.headers.get('accept')?.includes('text/event-stream') ?? false;
    const caller = { requestId, scopes: found.scopes, ask, takesStreams };
    const served = await parts.serve({ request, body, messages, keyId: found.key.id, caller });
    return readInTime(await withEnvelope(served), connection);
  };

  /** The route refuses it as it refuses the same call over REST, and writes that down (G-45). */
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
      // Another refusal may come before that of the scope.
      if (response.status === REFUSALS.scopeDenied.status) {
        response.headers.set('www-authenticate', `Bearer error="insufficient_scope", scope="${tool.scope}"`);
      }
      return response;
    }
    return null;
  }

  /** The same request as a client of the REST routes would send it, with the same key, answered by the same function. */
  function createAsk({ request: asked, requestId, connection }: Arrived, token: string): AskRest {
    const tags = asked.headers.get(TAGS_HEADER);
    const caching = asked.headers.get(CACHE_HEADER);
    return ({ method, path, body }, signal) => {
      const headers: Record<string, string> = { authorization: `Bearer ${token}` };
      if (tags !== null) headers[TAGS_HEADER] = tags;
      const text = body === undefined ? null : JSON.stringify(body);
      if (text !== null) headers['content-type'] = 'application/json';
      if (caching !== null) headers[CACHE_HEADER] = caching;
      const request = new Request(OWN_ORIGIN + BASE_PATH + path, { method, headers, body: text, signal });
      const [pathname = path] = path.split('?');
      // What it answers is read here; the client reads what the protocol makes of it.
      const { peerAddress } = connection;
      const inside = { peerAddress, mayBeSilent: () => connection.mayBeSilent(), mustBeRead: () => {} };
      return parts.answer({ request, path: BASE_PATH + pathname, requestId, connection: inside });
    };
  }
}

interface BrowserGuardParts {
  /** The one origin, besides pages of this machine, whose pages may call. */
  readonly consoleOrigin?: string | undefined;
  /** True where the gateway listens on loopback alone and no proxy stands before it. */
  readonly checksHost: boolean;
}

type BrowserGuard = (request: Request) => Response | null;

/**
 * A page that a user happens to have open must not reach the tools through the user's browser. Whatever is not a
 * browser sends no Origin and passes. On loopback the Host is checked too: a name that was made to point here is not
 * this machine's (DNS rebinding). Behind a proxy the Host is the public one, which the proxy answers for.
 */
function createBrowserGuard({ consoleOrigin, checksHost }: BrowserGuardParts): BrowserGuard {
  const hosts = localhostAllowedHostnames();
  const origins = localhostAllowedOrigins();
  return (request) => {
    if (checksHost && hostHeaderValidationResponse(request, hosts) !== undefined) return foreign(WRONG_HOST);
    const origin = request.headers.get('origin');
    if (origin === null || origin === consoleOrigin) return null;
    return originValidationResponse(request, origins) === undefined ? null : foreign(WRONG_ORIGIN);
  };
}

const WRONG_HOST =
  'This gateway listens on loopback and accepts MCP requests for localhost only. Use that name, or set HOST and a proxy.';
const WRONG_ORIGIN =
  'This origin is not allowed. The console and pages of this machine are; other clients send no Origin header.';

function foreign(message: string): Response {
  return envelopeResponse(403, errorEnvelope('permission_error', message));
}

const NOT_JSON: ReadJson = { outcome: 'not-json' };

type ReadMessages =
  | { readonly outcome: 'read'; readonly body: unknown; readonly messages: readonly PeekedMessage[] }
  | { readonly outcome: 'refused'; readonly response: Response };

async function readMessages(request: Request, bounds: BodyBounds): Promise<ReadMessages> {
  const read = await readBody(request, bounds);
  if (read.outcome === 'too-large') {
    return refusedMessages({
      name: 'tooLarge',
      message: `The body is larger than ${bounds.maxBytes} bytes.`,
    });
  }
  if (read.outcome === 'too-slow') return refusedMessages({ name: 'tooSlow' });
  if (read.outcome === 'unknown-encoding') return refusedMessages({ name: 'unsupportedEncoding' });
  const json = read.outcome === 'read' ? readJson(read.bytes) : NOT_JSON;
  if (json.outcome !== 'read') {
    const message = json.outcome === 'too-deep' ? TOO_DEEP : 'the body is not JSON.';
    return { outcome: 'refused', response: protocolError(400, -32700, `Parse error: ${message}`) };
  }
  const body = json.value;
  if (Array.isArray(body) && body.length > MOST_MESSAGES) {
    const message = `Invalid request: at most ${MOST_MESSAGES} messages at once.`;
    return { outcome: 'refused', response: protocolError(400, -32600, message) };
  }
  return { outcome: 'read', body, messages: peekMessages(body) };
}

function refusedMessages(refusal: Refusal): ReadMessages {
  return { outcome: 'refused', response: refusalResponse(refusal, {}) };
}

function tooMany(retryAfterMs: number): Response {
  return refusalResponse({ name: 'rateLimited', retryAfterMs }, {});
}

/** G-34: what fails in the protocol itself keeps the protocol's form; what HTTP refuses has the envelope. */
function protocolError(status: number, code: number, message: string, headers = {}): Response {
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status, headers });
}

function methodNotAllowed(): Response {
  const message = 'Method not allowed: send messages by POST.';
  return envelopeResponse(405, errorEnvelope('invalid_request_error', message), { allow: 'POST' });
}

/** Of Accept and Content-Type, which the protocol's own server checks. */
const REFUSED_BY_HTTP: readonly number[] = [406, 415];

async function withEnvelope(response: Response): Promise<Response> {
  if (!REFUSED_BY_HTTP.includes(response.status)) return response;
  const body = (await response.json().catch(() => null)) as { error?: { message?: unknown } } | null;
  const message = typeof body?.error?.message === 'string' ? body.error.message : response.statusText;
  return envelopeResponse(response.status, errorEnvelope('invalid_request_error', message));
}

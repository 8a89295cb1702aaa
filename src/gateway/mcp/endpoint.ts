import type { KeyDirectory } from '../../domain/keys/key-directory.ts';
import type { Scope } from '../../domain/keys/scopes.ts';
import type { Limits } from '../../domain/limits/limits.ts';
import { bearerToken } from '../../http/bearer-token.ts';
import type { Connection } from '../../http/listen.ts';
import { type BodyBounds, readBody } from '../../http/read-body.ts';
import { type Refusal, refusalResponse } from '../refusals.ts';
import { BASE_PATH } from '../routes.ts';
import type { BrowserGuard } from './browser-guard.ts';
import { type PeekedMessage, peekMessages } from './message.ts';
import type { ServeMessage } from './serve-message.ts';
import type { AskRest, GatewayTool } from './tool.ts';

export interface Arrived {
  readonly request: Request;
  readonly path: string;
  readonly requestId: string;
  readonly connection: Connection;
}

export interface McpEndpointParts {
  readonly keys: KeyDirectory;
  readonly limits: Pick<Limits, 'countAddress'>;
  readonly bodyBounds: BodyBounds;
  readonly addressOf: (arrived: Arrived) => string;
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
 * limits only tool calls count, as the route that each of them stands for.
 */
export function createMcpEndpoint(parts: McpEndpointParts): (arrived: Arrived) => Promise<Response> {
  const { keys, limits, bodyBounds, tools } = parts;

  return async (arrived) => {
    const { request, requestId } = arrived;
    const address = parts.addressOf(arrived);
    const counted = await limits.countAddress(address);
    if (counted.outcome === 'refused') return tooMany(counted.retryAfterMs);
    if (request.method !== 'POST') return methodNotAllowed();
    const foreign = parts.guard(request);
    if (foreign !== null) return foreign;
    const token = bearerToken(request) ?? '';
    const found = await keys.find(token);
    if (found.outcome === 'unavailable') {
      return refusalResponse({ name: 'unavailable', message: 'Keys cannot be checked at the moment.' }, {});
    }
    if (found.outcome === 'unknown') {
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
    return await parts.serve({ request, body, messages, keyId: found.key.id, caller });
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
      response.headers.set('www-authenticate', `Bearer error="insufficient_scope", scope="${tool.scope}"`);
      return response;
    }
    return null;
  }

  /** The same request as a client of the REST routes would send it, with the same key, answered by the same function. */
  function createAsk({ requestId, connection }: Arrived, token: string): AskRest {
    return ({ method, path, body }, signal) => {
      const headers: Record<string, string> = { authorization: `Bearer ${token}` };
      const text = body === undefined ? null : JSON.stringify(body);
      if (text !== null) headers['content-type'] = 'application/json';
      const request = new Request(OWN_ORIGIN + BASE_PATH + path, { method, headers, body: text, signal });
      const [pathname = path] = path.split('?');
      return parts.answer({ request, path: BASE_PATH + pathname, requestId, connection });
    };
  }
}

type ReadMessages =
  | { readonly outcome: 'read'; readonly body: unknown; readonly messages: readonly PeekedMessage[] }
  | { readonly outcome: 'refused'; readonly response: Response };

async function readMessages(request: Request, bounds: BodyBounds): Promise<ReadMessages> {
  const read = await readBody(request, bounds);
  if (read.outcome === 'too-large') {
    return refused({ name: 'tooLarge', message: `The body is larger than ${bounds.maxBytes} bytes.` });
  }
  if (read.outcome === 'too-slow') return refused({ name: 'tooSlow' });
  const body = read.outcome === 'read' ? parsed(read.bytes) : undefined;
  if (body === undefined) {
    return { outcome: 'refused', response: protocolError(400, -32700, 'Parse error: the body is not JSON.') };
  }
  if (Array.isArray(body) && body.length > MOST_MESSAGES) {
    const message = `Invalid request: at most ${MOST_MESSAGES} messages at once.`;
    return { outcome: 'refused', response: protocolError(400, -32600, message) };
  }
  return { outcome: 'read', body, messages: peekMessages(body) };
}

function refused(refusal: Refusal): ReadMessages {
  return { outcome: 'refused', response: refusalResponse(refusal, {}) };
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
}

function tooMany(retryAfterMs: number): Response {
  return refusalResponse({ name: 'rateLimited', retryAfterMs }, {});
}

/** G-34: what fails in the protocol itself keeps the protocol's form. */
function protocolError(status: number, code: number, message: string, headers = {}): Response {
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status, headers });
}

function methodNotAllowed(): Response {
  return protocolError(405, -32000, 'Method not allowed: send messages by POST.', { allow: 'POST' });
}

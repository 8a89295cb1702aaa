import type { AddressRefusals } from '../domain/calls/log/address-refusals.ts';
import type { FinishedCall } from '../domain/calls/settlement/finished-call.ts';
import type { CallBook } from '../domain/calls/settlement/settle-call.ts';
import type { Allowance, KeyAllowances } from '../domain/limits/limits.ts';
import type { ClientAddress } from '../http/client-identity.ts';
import { addServiceHealth, type DependencyChecks } from '../http/health.ts';
import type { Connection, ErrorBody } from '../http/listen.ts';
import { createMemoryLimit, type MemoryLimit } from '../http/memory-limit.ts';
import { createRequestIds, REQUEST_ID_HEADER } from '../http/request-id.ts';
import { createServiceApp, type ServiceAppParts } from '../http/service-app.ts';
import type { Tracer } from '../ports/tracer.ts';
import {
  type Admission,
  type AdmitParts,
  type AdmittedReplay,
  type Arrival,
  admit,
  type Refused,
} from './admission/admit.ts';
import { nameCacheUse } from './admission/cached-answer.ts';
import { forwardedFrom } from './admission/client-headers.ts';
import { replay } from './admission/idempotency.ts';
import {
  messagesError,
  type Refusal,
  type RefusedClient,
  refusalResponse,
  refusalStatus,
} from './admission/refusals.ts';
import { BASE_PATH, MCP_PATH, wireOfPath } from './admission/routes.ts';
import { unknownRoute } from './admission/unknown-routes.ts';
import type { CallMeters } from './call-telemetry.ts';
import { beginTrace } from './call-trace.ts';
import { type CrossOrigin, createCrossOrigin } from './cross-origin.ts';
import {
  type ModelCallContext,
  recordOfRead,
  recordOfRefusal,
  recordOfReplay,
  refusalReason,
} from './forwarding/end-call.ts';
import { answerModelCall, type ModelCallParts, noteChanged } from './forwarding/model-call.ts';
import { answerParse, type ParseParts } from './forwarding/parse-call.ts';
import { type Arrived, type McpChoices, openMcpEndpoint } from './mcp/endpoint.ts';
import { answerRead, type ReadParts, refusalOfRead } from './reads/listings.ts';
import { createKeepAlive } from './streaming/keep-alive.ts';

export interface GatewayParts
  extends Omit<ServiceAppParts, 'answerTimeoutMs'>,
    Omit<AdmitParts, 'bodyBounds' | 'refusalOfRead'>,
    Omit<ReadParts, 'abandoned' | 'answerMemory'>,
    ParseParts,
    Omit<ModelCallParts, 'unpaidEndings' | 'abandoned' | 'answerMemory' | 'keepAlive'> {
  readonly dependencies: DependencyChecks;
  readonly clientAddress: ClientAddress;
  readonly bodyTimeoutMs: number;
  readonly calls: CallBook;
  readonly unpaidEndings: ModelCallParts['unpaidEndings'];
  /** For bodies above 1 MB, of all calls together. */
  readonly largeBodiesBytes?: number;
  /** For answers above 1 MB that are not streamed, of all calls together. */
  readonly largeAnswersBytes?: number;
  /** The origins whose pages may call from a browser: that of the console first, and `*` for all. */
  readonly origins?: readonly string[];
  readonly mcp?: McpChoices;
  readonly meters?: Pick<CallMeters, 'countUnknown'>;
  /** Left out where they are not exposed. */
  readonly addressRefusals?: Pick<AddressRefusals, 'note'>;
  /** Null while tracing is off. */
  readonly tracer?: Tracer | null;
}

interface Gateway {
  fetch(request: Request, connection: Connection): Promise<Response>;
  /** What large bodies and answers take, for metrics. */
  readonly memory: { readonly bodies: MemoryLimit; readonly answers: MemoryLimit };
}

/** The header in which Anthropic's clients look for the request's id. */
const MESSAGES_REQUEST_ID_HEADER = 'request-id';

/**
 * Surface 1: model calls, under /llm/v1. They do not go through the app of the other routes: what that does for
 * every request is done here, at a fraction of its cost.
 */
export function createGateway(given: GatewayParts): Gateway {
  const { largeAnswersBytes = LARGE_ANSWERS_BYTES, largeBodiesBytes = LARGE_BODIES_BYTES } = given;
  const parts = {
    ...given,
    answerMemory: createMemoryLimit(largeAnswersBytes),
    keepAlive: createKeepAlive(given.clock),
  };
  const { clock, log, secrets, maxBodyBytes } = parts;
  const memory = createMemoryLimit(Math.max(largeBodiesBytes, maxBodyBytes * LARGEST_BODIES));
  const bodyBounds = { maxBytes: maxBodyBytes, timeoutMs: parts.bodyTimeoutMs, clock, memory };
  const requestIdOf = createRequestIds(secrets, clock);
  const app = createServiceApp({ ...parts, answerTimeoutMs: null });
  addServiceHealth(app, parts.dependencies);
  // Most of them are clients whose base address lacks /llm/v1.
  app.notFound(({ req }) =>
    refusalResponse({ name: 'notFound', message: unknownRoute(req.method, req.path) }, {}),
  );
  const answer = createAnswer(parts, { ...parts, bodyBounds, refusalOfRead: refuseReads(parts) });
  const crossOrigin = createCrossOrigin(parts.origins ?? []);
  const answerMcp = openMcp(parts, bodyBounds, crossOrigin);

  return {
    memory: { bodies: memory, answers: parts.answerMemory },
    async fetch(request, connection) {
      const path = pathOf(request.url);
      if (!path.startsWith(BASE_PATH)) return await app.fetch(request, connection);
      const requestId = requestIdOf(request);
      const arrived = { request, path, requestId, connection, hasRequestId: false };
      let response: Response;
      try {
        if (crossOrigin.isPreflight(request)) response = await answerPreflight(arrived);
        else response = await (path === MCP_PATH ? answerMcp : answer)(arrived);
      } catch (error) {
        log.error('a call failed', { requestId, path, error });
        arrived.hasRequestId = false;
        const wire = wireOfPath(path, request.headers);
        response = refusalResponse({ name: 'unavailable' }, {}, { wire, requestId });
      }
      if (!arrived.hasRequestId) {
        for (const name of requestIdHeaders(arrived)) response.headers.set(name, requestId);
      }
      return crossOrigin.admit(request, response);
    },
  };

  /** It needs no key, which browsers do not send with it, and counts as a request of its address. */
  async function answerPreflight({ request, connection }: Arrived): Promise<Response> {
    const address = parts.clientAddress(request, connection.peerAddress);
    const counted = await parts.limits.countAddress(address);
    if (counted.outcome === 'admitted') return crossOrigin.preflight(request);
    const refusal = { name: 'addressLimited', retryAfterMs: counted.retryAfterMs } as const;
    noteRefusal(parts, address, refusal, null);
    return refusalResponse(refusal, {});
  }
}

type OpenGatewayParts = GatewayParts & Pick<ModelCallParts, 'answerMemory' | 'keepAlive'>;

const LARGE_ANSWERS_BYTES = 1_024_000_000;
const LARGE_BODIES_BYTES = 512_000_000;
/** Of the largest bodies there is always room for two of one company: over MCP a call's body is there twice. */
const LARGEST_BODIES = 4;
const ID_HEADERS = [REQUEST_ID_HEADER] as const;
const MESSAGES_ID_HEADERS = [REQUEST_ID_HEADER, MESSAGES_REQUEST_ID_HEADER] as const;

function requestIdHeaders({ path, request }: Pick<Arrived, 'path' | 'request'>): readonly string[] {
  return wireOfPath(path, request.headers) === 'messages' ? MESSAGES_ID_HEADERS : ID_HEADERS;
}

/** Of a request to the endpoint that is refused before its tools are known. */
const MCP_ROUTE = { endpoint: 'mcp' } as const;

/** G-9: the tools walk the same functions as the routes do; only the address has been counted before. */
function openMcp(parts: OpenGatewayParts, bodyBounds: AdmitParts['bodyBounds'], crossOrigin: CrossOrigin) {
  const limits = { ...parts.limits, countAddress: () => ({ outcome: 'admitted' as const }) };
  return openMcpEndpoint({
    ...parts,
    bodyBounds,
    crossOrigin,
    mcp: parts.mcp,
    addressOf: ({ request, connection }) => parts.clientAddress(request, connection.peerAddress),
    noteRefusal({ requestId }, address, refusal, key) {
      const nowMs = parts.clock.now();
      const refused = { key, route: MCP_ROUTE, alias: null, refusal };
      const callClock = { requestId, overMcp: true, startedAtMs: nowMs, nowMs } as const;
      noteRefusal(parts, address, refusal, recordOfRefusal(parts.secrets.newId(), refused, callClock));
    },
    answer: createAnswer(
      { ...parts, limits },
      { ...parts, limits, bodyBounds, refusalOfRead: refuseReads(parts) },
      true,
    ),
  });
}

function refuseReads(parts: OpenGatewayParts): AdmitParts['refusalOfRead'] {
  return (asked) => refusalOfRead(parts, asked);
}

function createAnswer(parts: OpenGatewayParts, admitParts: AdmitParts, overMcp?: true) {
  const { clock, calls, tracer = null } = parts;
  return async (arrived: Arrived): Promise<Response> => {
    const { request, path, requestId, connection } = arrived;
    const client = { wire: wireOfPath(path, request.headers), requestId };
    const startedAtMs = clock.now();
    const address = parts.clientAddress(request, connection.peerAddress);
    const trace = tracer === null ? null : beginTrace(tracer, request, path, requestId);
    const arrival: Arrival = { request, path, address, startedAtMs, requestId, onStep: trace?.step };
    try {
      const admission = await admit(admitParts, arrival);
      trace?.admitted(admission);
      const callClock = () => ({ requestId, overMcp, startedAtMs, nowMs: clock.now() });
      if (admission.outcome === 'refused') {
        arrival.bodyShare?.release();
        const record = recordOfRefusal(parts.secrets.newId(), admission, callClock());
        noteRefusal(parts, address, admission.refusal, record);
        trace?.answered(refusalStatus(admission.refusal));
        return refusalResponse(admission.refusal, await allowanceHeaders(parts, admission), client);
      }
      const { call } = admission;
      parts.keys.noteUse(call.key.id);
      const headers = rateLimitHeaders(call.allowances);
      if (admission.outcome === 'read') {
        const answering = answerRead(parts, admission.call, {
          ...{ url: request.url, headers, client, clientSignal: request.signal },
        });
        const response = await answering.finally(() => call.reservation.end(0, []));
        calls.note(recordOfRead(admission.call, response.status, callClock()));
        trace?.answered(response.status);
        return response;
      }
      if (admission.outcome === 'replay') {
        arrival.bodyShare?.release();
        const response = await answerReplay(parts, admission.call, { arrived, headers, client, callClock });
        trace?.answered(response.status);
        return response;
      }
      connection.mayBeSilent();
      // Here and not on the finished answer, whose headers would have to be opened once more.
      for (const name of requestIdHeaders(arrived)) headers[name] = requestId;
      arrived.hasRequestId = true;
      const context = {
        requestId,
        overMcp,
        startedAtMs,
        clientSignal: request.signal,
        connection,
        forwardedHeaders: forwardedFrom(request, 'wire' in call.route ? call.route.wire : 'completions'),
        headers,
        trace,
        bodyShare: arrival.bodyShare,
      };
      const response = await answerPaid(parts, admission, context);
      connection.mustBeRead();
      return response;
    } catch (error) {
      arrival.bodyShare?.release();
      throw error;
    }
  };
}

function answerPaid(
  parts: OpenGatewayParts,
  admission: Extract<Admission, { outcome: 'parse' | 'model-call' }>,
  context: ModelCallContext,
): Promise<Response> {
  if (admission.outcome === 'parse') return answerParse(parts, admission.call, context);
  noteChanged(context.headers, admission.call);
  nameCacheUse(context.headers, admission.call.cache);
  return answerModelCall(parts, admission.call, context);
}

async function allowanceHeaders({ limits }: OpenGatewayParts, { allowances, key, refusal }: Refused) {
  // A flood of one address causes no further steps of shared state.
  if (refusal.name === 'addressLimited') return {};
  const shown = allowances ?? (key && (await limits.look(key)));
  return shown === null ? {} : rateLimitHeaders(shown);
}

interface Replaying {
  readonly arrived: Arrived;
  readonly headers: Record<string, string>;
  readonly client: RefusedClient;
  readonly callClock: () => Parameters<typeof recordOfReplay>[2];
}

async function answerReplay(
  { answerMemory, idempotency, calls }: OpenGatewayParts,
  call: AdmittedReplay,
  { arrived, headers, client, callClock }: Replaying,
): Promise<Response> {
  const { id, key, route } = call;
  const answering = {
    headers,
    share: answerMemory.share(key.companyId),
    clientSignal: arrived.request.signal,
  };
  const replaying = replay(idempotency, call.idempotent, answering);
  const replayed = await replaying.finally(() => call.reservation.end(0, []));
  if (replayed.outcome === 'refused') {
    const { refusal } = replayed;
    const record = recordOfRefusal(id, { key, route, alias: null, refusal }, callClock());
    if (record !== null) calls.note(record);
    return refusalResponse(refusal, headers, client);
  }
  calls.note(recordOfReplay(call, replayed.response.status, callClock()));
  return replayed.response;
}

/** Recorded for the key if it is known, else counted. Those for which the address matters are counted by it as well. */
function noteRefusal(
  { meters, addressRefusals, calls }: GatewayParts,
  address: string,
  refusal: Refusal,
  record: FinishedCall | null,
): void {
  if (record === null) meters?.countUnknown(refusal.name);
  else calls.note(record);
  if (record === null || refusal.name === 'addressLimited') {
    addressRefusals?.note(address, refusalReason(refusal));
  }
}

/** OpenAI's names, so that clients which know them pace themselves (G-41). */
export function rateLimitHeaders({ requests, tokens }: KeyAllowances): Record<string, string> {
  return {
    'x-ratelimit-limit-requests': String(requests.limit),
    'x-ratelimit-remaining-requests': String(requests.remaining),
    'x-ratelimit-reset-requests': resetIn(requests),
    'x-ratelimit-limit-tokens': String(tokens.limit),
    'x-ratelimit-remaining-tokens': String(tokens.remaining),
    'x-ratelimit-reset-tokens': resetIn(tokens),
  };
}

/** For what is answered before the gateway sees the request: in whose manner its path is answered. */
export const errorBodyOf: ErrorBody = (url, status, envelope, requestId) =>
  wireOfPath(pathOf(url)) === 'messages' ? messagesError(status, envelope, requestId) : null;

/** Without the query and slashes at its end, which some clients add, and without building a URL object. */
function pathOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('//') + 2);
  const query = url.indexOf('?', start);
  let end = query === -1 ? url.length : query;
  while (end > start + 1 && url.charCodeAt(end - 1) === SLASH) end -= 1;
  return url.slice(start, end);
}

const SLASH = 0x2f;

/** As OpenAI writes it: 250ms, 12.5s, 1m0s. */
function resetIn({ resetMs }: Allowance): string {
  if (resetMs < 1_000) return `${Math.ceil(resetMs)}ms`;
  if (resetMs < 60_000) return `${Math.ceil(resetMs) / 1_000}s`;
  const minutes = Math.floor(resetMs / 60_000);
  return `${minutes}m${Math.ceil((resetMs - minutes * 60_000) / 1_000)}s`;
}

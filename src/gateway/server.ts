import type { CallBook } from '../domain/calls/settle-call.ts';
import type { ClientAddress } from '../http/client-address.ts';
import type { DependencyChecks } from '../http/dependency-checks.ts';
import type { Connection } from '../http/listen.ts';
import { createRequestIds, REQUEST_ID_HEADER } from '../http/request-id.ts';
import { createServiceApp, type ServiceAppParts } from '../http/service-app.ts';
import { addServiceHealth } from '../http/service-health.ts';
import type { Tracer } from '../ports/tracer.ts';
import { type AdmitParts, admit } from './admit.ts';
import type { CallMeters } from './call-meters.ts';
import { recordOfRead, recordOfRefusal, recordOfReplay } from './call-record.ts';
import { beginTrace } from './call-trace.ts';
import { createConsoleOrigin } from './console-origin.ts';
import { replay } from './idempotency.ts';
import { answerRead, type ReadParts } from './listings.ts';
import type { Arrived } from './mcp/endpoint.ts';
import { type McpChoices, openMcpEndpoint } from './mcp/open-endpoint.ts';
import { answerModelCall, type ModelCallParts } from './model-calls.ts';
import { answerParse, type ParseParts } from './parse-routes.ts';
import { rateLimitHeaders } from './rate-limit-headers.ts';
import { refusalResponse, refusalStatus } from './refusals.ts';
import { BASE_PATH, MCP_PATH } from './routes.ts';

export interface GatewayParts
  extends Omit<ServiceAppParts, 'answerTimeoutMs'>,
    Omit<AdmitParts, 'bodyBounds'>,
    ReadParts,
    ParseParts,
    Omit<ModelCallParts, 'unpaidEndings'> {
  readonly dependencies: DependencyChecks;
  readonly clientAddress: ClientAddress;
  readonly bodyTimeoutMs: number;
  readonly calls: CallBook;
  readonly unpaidEndings: ModelCallParts['unpaidEndings'];
  /** The one origin whose pages may call from a browser. */
  readonly consoleOrigin?: string;
  readonly mcp?: McpChoices;
  readonly meters?: Pick<CallMeters, 'countUnknown'>;
  /** Null while tracing is off. */
  readonly tracer?: Tracer | null;
}

/** The client's headers that a provider may see; no other reaches it. */
const FORWARDED = ['openai-beta'] as const;

export interface Gateway {
  fetch(request: Request, connection: Connection): Promise<Response>;
}

/**
 * Surface 1: model calls, under /llm/v1. They do not go through the app of the other routes: what that does for
 * every request is done here, at a fraction of its cost.
 */
export function createGateway(parts: GatewayParts): Gateway {
  const { clock, log, secrets, maxBodyBytes } = parts;
  const bodyBounds = { maxBytes: maxBodyBytes, timeoutMs: parts.bodyTimeoutMs, clock };
  const requestIdOf = createRequestIds(secrets);
  const app = createServiceApp({ ...parts, answerTimeoutMs: null });
  addServiceHealth(app, parts.dependencies);
  const answer = createAnswer(parts, { ...parts, bodyBounds });
  const answerMcp = openMcp(parts, bodyBounds);
  const consoleOrigin = createConsoleOrigin(parts.consoleOrigin);

  return {
    async fetch(request, connection) {
      const path = pathOf(request.url);
      if (!path.startsWith(BASE_PATH)) return await app.fetch(request, connection);
      const preflight = consoleOrigin.preflight(request);
      if (preflight !== null) return preflight;
      const requestId = requestIdOf(request);
      const answering = path === MCP_PATH ? answerMcp : answer;
      const response = await answering({ request, path, requestId, connection }).catch((error: unknown) => {
        log.error('a call failed', { requestId, path, error });
        return refusalResponse({ name: 'unavailable' }, {});
      });
      response.headers.set(REQUEST_ID_HEADER, requestId);
      return consoleOrigin.admit(request, response);
    },
  };
}

/** G-9: the tools walk the same functions as the routes do; only the address has been counted before. */
function openMcp(parts: GatewayParts, bodyBounds: AdmitParts['bodyBounds']) {
  const limits = { ...parts.limits, countAddress: () => ({ outcome: 'admitted' as const }) };
  return openMcpEndpoint({
    ...parts,
    bodyBounds,
    consoleOrigin: parts.consoleOrigin,
    mcp: parts.mcp,
    addressOf: ({ request, connection }) => parts.clientAddress(request, connection.peerAddress),
    answer: createAnswer({ ...parts, limits }, { ...parts, limits, bodyBounds }),
  });
}

function createAnswer(parts: GatewayParts, admitParts: AdmitParts) {
  const { clock, calls, tracer = null } = parts;
  return async ({ request, path, requestId, connection }: Arrived): Promise<Response> => {
    const startedAtMs = clock.now();
    const address = parts.clientAddress(request, connection.peerAddress);
    const trace = tracer === null ? null : beginTrace(tracer, request, path, requestId);
    const admission = await admit(admitParts, { request, path, address, startedAtMs });
    trace?.admitted(admission);
    const callClock = () => ({ requestId, startedAtMs, nowMs: clock.now() });
    if (admission.outcome === 'refused') {
      const record = recordOfRefusal(parts.secrets.newId(), admission, callClock());
      if (record !== null) calls.note(record);
      else parts.meters?.countUnknown(admission.refusal.name);
      const allowances = admission.allowances ?? (admission.key && (await parts.limits.look(admission.key)));
      trace?.answered(refusalStatus(admission.refusal));
      return refusalResponse(admission.refusal, allowances === null ? {} : rateLimitHeaders(allowances));
    }
    const { call } = admission;
    parts.keys.noteUse(call.key.id);
    const headers = rateLimitHeaders(call.allowances);
    if (admission.outcome === 'read') {
      const answering = answerRead(parts, admission.call, { url: request.url, headers });
      const response = await answering.finally(() => call.reservation.end(0, []));
      calls.note(recordOfRead(admission.call, response.status, callClock()));
      trace?.answered(response.status);
      return response;
    }
    if (admission.outcome === 'replay') {
      const replaying = replay(parts.idempotency, admission.call.asked, headers);
      const replayed = await replaying.finally(() => call.reservation.end(0, []));
      trace?.answered(
        replayed.outcome === 'refused' ? refusalStatus(replayed.refusal) : replayed.response.status,
      );
      if (replayed.outcome === 'refused') {
        const { refusal } = replayed;
        const { id, key, route } = admission.call;
        const record = recordOfRefusal(id, { key, route, alias: null, refusal }, callClock());
        if (record !== null) calls.note(record);
        return refusalResponse(refusal, headers);
      }
      calls.note(recordOfReplay(admission.call, replayed.response.status, callClock()));
      return replayed.response;
    }
    connection.mayBeSilent();
    const context = {
      requestId,
      startedAtMs,
      clientSignal: request.signal,
      forwardedHeaders: forwardedFrom(request),
      headers,
      trace,
    };
    if (admission.outcome === 'parse') return await answerParse(parts, admission.call, context);
    return await answerModelCall(parts, admission.call, context);
  };
}

/** Without the query and without building a URL object. */
function pathOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('//') + 2);
  const query = url.indexOf('?', start);
  return query === -1 ? url.slice(start) : url.slice(start, query);
}

function forwardedFrom(request: Request): Record<string, string> {
  const forwarded: Record<string, string> = {};
  for (const name of FORWARDED) {
    const value = request.headers.get(name);
    if (value !== null) forwarded[name] = value;
  }
  return forwarded;
}

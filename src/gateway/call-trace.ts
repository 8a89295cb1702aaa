import type { UpstreamTarget } from '../ports/model-upstream.ts';
import type { Span, Tracer } from '../ports/tracer.ts';
import type { Admission, AdmittedModelCall } from './admit.ts';
import { type CallEnding, refusalReason } from './call-record.ts';
import { routeOf } from './routes.ts';

/**
 * What is taken down of one call, in OpenTelemetry's names: the request, its admission, each try at a provider and the
 * settlement. Tokens, models and ids; never a prompt, an answer or a key. Nothing of it runs while tracing is off.
 */
export interface CallTrace {
  admitted(admission: Admission): void;
  /** A try begins; what the provider is to be told of it. */
  trying(call: AdmittedModelCall, target: UpstreamTarget): Readonly<Record<string, string>>;
  /** The try came to nothing. */
  failed(reason: string): void;
  /** The model has answered to its end, or will not. */
  ended(ending: CallEnding): void;
  /** The call's row is written, or could not be. */
  settled(outcome: string): void;
  /** Of a request that calls no model. */
  answered(status: number): void;
}

const OPERATIONS: Readonly<Record<string, string>> = {
  'chat/completions': 'chat',
  completions: 'text_completion',
  embeddings: 'embeddings',
};

export function beginTrace(
  tracer: Tracer,
  request: Request,
  path: string,
  requestId: string,
): CallTrace | null {
  const { method } = request;
  // A path that is none of ours would be a name of its own for each.
  const name = routeOf(method, path) === null ? method : `${method} ${path}`;
  const root = tracer.begin(name, 'server', request.headers.get('traceparent'), {
    'http.request.method': method,
    'url.path': path,
    'turnpike.request.id': requestId,
  });
  return root === null ? null : traceOf(root);
}

function traceOf(root: Span): CallTrace {
  const admitting = root.begin('admit', 'internal');
  let asking: Span | null = null;
  let settling: Span | null = null;
  return {
    admitted(admission) {
      if (admission.outcome === 'refused') {
        const reason = refusalReason(admission.refusal);
        admitting.end(reason);
        return;
      }
      const { id, key } = admission.call;
      root.set({ 'turnpike.call.id': id, 'turnpike.company.id': key.companyId, 'turnpike.key.id': key.id });
      admitting.end();
    },
    trying({ alias, route, fields }, target) {
      const operation = OPERATIONS[route.endpoint] ?? route.endpoint;
      asking = root.begin(`${operation} ${alias.alias}`, 'client', {
        'gen_ai.operation.name': operation,
        'gen_ai.request.model': alias.alias,
        'gen_ai.response.model': target.model,
        'gen_ai.request.stream': fields.stream,
        ...(fields.maxTokens === null ? {} : { 'gen_ai.request.max_tokens': fields.maxTokens }),
        ...placeOf(target),
      });
      return { traceparent: asking.traceparent };
    },
    failed(reason) {
      asking?.end(reason);
      asking = null;
    },
    ended({ tokens, reason, httpStatus }) {
      root.set({ 'http.response.status_code': httpStatus });
      if (tokens !== null) {
        asking?.set({
          'gen_ai.usage.input_tokens': tokens.promptTokens,
          'gen_ai.usage.output_tokens': tokens.completionTokens,
        });
      }
      asking?.end(reason);
      settling = root.begin('settle', 'internal');
    },
    settled(outcome) {
      settling?.end(outcome === 'not-written' ? outcome : null);
      root.end(outcome === 'not-written' ? outcome : null);
    },
    answered(status) {
      root.set({ 'http.response.status_code': status });
      root.end(status >= 500 ? String(status) : null);
    },
  };
}

function placeOf({ id, baseUrl }: UpstreamTarget): Record<string, string | number> {
  if (baseUrl === null) return { 'turnpike.target.id': id, 'gen_ai.provider.name': 'embedded' };
  const { hostname, port, protocol } = new URL(baseUrl);
  const standard = protocol === 'https:' ? 443 : 80;
  return {
    'turnpike.target.id': id,
    'gen_ai.provider.name': 'openai',
    'server.address': hostname,
    'server.port': port === '' ? standard : Number(port),
  };
}

import { chargedTokens, type FinishedCall } from '../domain/calls/settlement/finished-call.ts';
import { type Alias, priceAt, priceOf } from '../domain/models/aliases.ts';
import type { UpstreamTarget } from '../ports/model-upstream.ts';
import type { Span, SpanAttributes, Tracer } from '../ports/tracer.ts';
import { routeTemplate } from './admission/routes.ts';
import { type CallTrace, refusalReason } from './forwarding/end-call.ts';
import { contentAttributes } from './traced-content.ts';

/**
 * The spans of a call, by OpenTelemetry's conventions for generative AI, plus what Langfuse and Phoenix read. They
 * contain models, tokens, cost, attempts and attribution; never a key, and prompts and answers only with `addContent`.
 */
const OPERATIONS: Readonly<Record<string, string>> = {
  'chat/completions': 'chat',
  completions: 'text_completion',
  embeddings: 'embeddings',
  responses: 'chat',
  'responses/input_tokens': 'count_tokens',
  'responses/compact': 'chat',
  messages: 'chat',
  'messages/count_tokens': 'count_tokens',
};

/** Where the conventions have another name than the preset. */
const PROVIDERS: Readonly<Record<string, string>> = {
  azure: 'azure.ai.openai',
  bedrock: 'aws.bedrock',
  gemini: 'gcp.gemini',
  mistral: 'mistral_ai',
};

export function beginTrace(
  tracer: Tracer,
  request: Request,
  path: string,
  requestId: string,
): CallTrace | null {
  const { method } = request;
  const template = routeTemplate(method, path);
  // An unknown path would be a separate span name each time, and may contain a key.
  const name = template === null ? method : `${method} ${template}`;
  const traceparent = request.headers.get('traceparent');
  const caller = traceparent === null ? null : { traceparent, tracestate: request.headers.get('tracestate') };
  const root = tracer.begin(name, 'server', caller, {
    'http.request.method': method,
    ...(template === null ? {} : { 'http.route': template }),
    ...(template === path ? { 'url.path': path } : {}),
    'turnpike.request.id': requestId,
  });
  return root === null ? null : traceOf(root);
}

function traceOf(root: Span): CallTrace {
  const admitting = root.begin('admit', 'internal');
  /** By target: a hedged call tries two at a time. */
  const trying = new Map<string, Span>();
  let settling: Span | null = null;
  let failure: string | null = null;
  let waits = false;
  let send: ((rest: SpanAttributes) => void) | null = null;
  return {
    step: (step) => admitting.event(step),
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
      const span = root.begin(`${operation} ${alias.alias}`, 'client', {
        'gen_ai.operation.name': operation,
        'gen_ai.request.model': alias.alias,
        'gen_ai.response.model': target.model,
        'gen_ai.request.stream': fields.stream,
        'openinference.span.kind': operation === 'embeddings' ? 'EMBEDDING' : 'LLM',
        'llm.model_name': target.model,
        ...(fields.maxTokens === null ? {} : { 'gen_ai.request.max_tokens': fields.maxTokens }),
        ...(fields.choices === 1 ? {} : { 'gen_ai.request.choice.count': fields.choices }),
        ...targetAttributes(target),
      });
      trying.set(target.id, span);
      const { traceparent, tracestate } = span;
      return tracestate === null ? { traceparent } : { traceparent, tracestate };
    },
    begun: ({ id }) => trying.get(id)?.event('answer'),
    failed(reason, { id }) {
      trying.get(id)?.end(reason);
      trying.delete(id);
    },
    whole(answer) {
      const reasons = finishReasons(answer);
      if (reasons.length === 0) return;
      for (const span of trying.values()) span.set({ 'gen_ai.response.finish_reasons': reasons });
    },
    ended(record, priced, isToWait) {
      waits = isToWait;
      if (record.httpStatus >= 500) failure = String(record.httpStatus);
      root.set({
        'http.response.status_code': record.httpStatus,
        ...attributionOf(record),
        ...triesOf(record),
      });
      const answered = record.targetId === null ? undefined : trying.get(record.targetId);
      answered?.set({ ...usageOf(record, priced), ...attributionOf(record), ...triesOf(record) });
      if (waits) send = answered?.endPending(record.reason) ?? null;
      else answered?.end(record.reason);
      settling = root.begin('settle', 'internal');
    },
    committing: () => settling?.event('statement'),
    settled(outcome) {
      const isWritten = outcome !== 'not-written';
      settling?.end(isWritten ? null : outcome);
      if (!isWritten) failure = outcome;
      root.event('settled');
      // A cached answer, and a call that no provider answered, have no span of their own.
      if (waits) send ??= root.endPending(failure);
    },
    /** The span of a request that ended with its settlement is not sent again. */
    released: () => root.end(failure),
    addContent: (content) => send?.(content === null ? {} : contentAttributes(content)),
    answered(status) {
      root.set({ 'http.response.status_code': status });
      root.end(status >= 500 ? String(status) : null);
    },
  };
}

function targetAttributes({ id, baseUrl, wire }: UpstreamTarget): SpanAttributes {
  if (baseUrl === null) return { 'turnpike.target.id': id, ...providerAttributes('embedded') };
  const { hostname, port, protocol } = new URL(baseUrl);
  const standard = protocol === 'https:' ? 443 : 80;
  const preset = wire?.provider ?? 'openai';
  return {
    'turnpike.target.id': id,
    ...providerAttributes(PROVIDERS[preset] ?? preset),
    'server.address': hostname,
    'server.port': port === '' ? standard : Number(port),
  };
}

/** `gen_ai.system` is its name in the conventions before 1.37, which many backends read. */
function providerAttributes(provider: string): SpanAttributes {
  return { 'gen_ai.provider.name': provider, 'gen_ai.system': provider, 'llm.provider': provider };
}

const MICRO_PER_CREDIT = 1_000_000;

function usageOf(record: FinishedCall, priced: Alias): SpanAttributes {
  const { tokens, streamed, firstByteMs, startedAtMs } = record;
  const begun: SpanAttributes =
    !streamed || firstByteMs === null
      ? {}
      : {
          'gen_ai.response.time_to_first_chunk': { fraction: firstByteMs / 1_000 },
          'langfuse.observation.completion_start_time': new Date(startedAtMs + firstByteMs).toISOString(),
        };
  if (tokens === null) return begun;
  const { promptTokens, completionTokens, cachedTokens, cacheWriteTokens = 0 } = tokens;
  const credits = { fraction: chargeMicro(record, priced) / MICRO_PER_CREDIT };
  return {
    ...begun,
    'gen_ai.usage.input_tokens': promptTokens,
    'gen_ai.usage.output_tokens': completionTokens,
    'gen_ai.usage.total_tokens': promptTokens + completionTokens,
    'gen_ai.usage.cache_read.input_tokens': cachedTokens,
    ...(cacheWriteTokens === 0 ? {} : { 'gen_ai.usage.cache_creation.input_tokens': cacheWriteTokens }),
    'gen_ai.usage.cost': credits,
    'turnpike.cost.credits': credits,
    ...(record.costMicro === undefined
      ? {}
      : { 'turnpike.provider_cost.credits': { fraction: record.costMicro / MICRO_PER_CREDIT } }),
    'llm.token_count.prompt': promptTokens,
    'llm.token_count.completion': completionTokens,
    'llm.token_count.total': promptTokens + completionTokens,
    'llm.token_count.prompt_details.cache_read': cachedTokens,
    'llm.cost.total': credits,
  };
}

const WHOLE_SHARE = 1_000_000n;

/** As the charging statement computes it, by the price in force when the call began. */
function chargeMicro(record: FinishedCall, priced: Alias): number {
  const tokens = chargedTokens(record);
  const price = priceAt(priced, record.startedAtMs);
  if (tokens === null || price === null || record.outcome !== 'SUCCEEDED') return 0;
  const { hourWriteTokens = 0, hourWriteFactorMillionths = Number(WHOLE_SHARE) } = record;
  const hourWrites = { tokens: hourWriteTokens, factorMillionths: hourWriteFactorMillionths };
  const { priceFactorMillionths, completionFactorMillionths } = record;
  const factors =
    priceFactorMillionths === undefined ? undefined : { priceFactorMillionths, completionFactorMillionths };
  const sum = priceOf(price, tokens, hourWrites, factors) + BigInt(record.surchargeMicro ?? 0);
  const share = BigInt(record.chargeShareMillionths ?? Number(WHOLE_SHARE));
  return Number((sum * share + WHOLE_SHARE - 1n) / WHOLE_SHARE);
}

/** The name of a session in `metadata`, as it appears among the tags. */
const SESSION_TAG = /^(?:session_id|session):(.+)$/;

/** On the trace and on its generation: backends filter by either. */
function attributionOf({ endUser, tags, project }: FinishedCall): SpanAttributes {
  const session = tags?.map((tag) => SESSION_TAG.exec(tag)?.[1]).find((id) => id !== undefined);
  return {
    ...(endUser === undefined ? {} : { 'user.id': endUser, 'langfuse.user.id': endUser }),
    ...(session === undefined
      ? {}
      : { 'session.id': session, 'langfuse.session.id': session, 'gen_ai.conversation.id': session }),
    ...(tags === undefined ? {} : { 'langfuse.trace.tags': tags, 'tag.tags': tags }),
    ...(project === undefined ? {} : { 'turnpike.project': project }),
  };
}

function triesOf({ tries = 1, servedBy }: FinishedCall): SpanAttributes {
  return {
    'turnpike.tries': tries,
    ...(servedBy === undefined ? {} : { 'turnpike.served_by': servedBy }),
  };
}

/** The reasons follow the content, at the end of an answer. */
const MOST_SEARCHED_BYTES = 16 * 1024;
/** Quotes within a text of the answer are escaped, so content cannot match. */
const FINISH_REASON = /"(?:finish_reason|stop_reason)"\s*:\s*"([a-z_]{1,40})"/g;
const MOST_REASONS = 128;

function finishReasons(answer: Uint8Array): readonly string[] {
  const text = new TextDecoder().decode(answer.subarray(-MOST_SEARCHED_BYTES));
  const found = [...text.matchAll(FINISH_REASON)];
  return found.slice(0, MOST_REASONS).map(([, reason = '']) => reason);
}

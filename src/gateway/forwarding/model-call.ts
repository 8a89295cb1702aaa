import type { AnswerCache, CachedAnswer } from '../../domain/answer-cache/answer-cache.ts';
import { elapsedMs } from '../../domain/calls/settlement/finished-call.ts';
import { readBeginning } from '../../domain/model-calls/begun-body.ts';
import { type CallAbort, createCallAbort } from '../../domain/model-calls/call-abort.ts';
import { servedOf } from '../../domain/model-calls/paid-call.ts';
import { maxTokensNameOf } from '../../domain/model-calls/translation/messages/model-names.ts';
import type { CallKind, ModelRequest, TryTargetsParts } from '../../domain/model-calls/try-target.ts';
import { type Tried, tryTargets } from '../../domain/model-calls/try-targets.ts';
import type { Alias } from '../../domain/models/aliases.ts';
import type { ModelDirectory } from '../../domain/models/model-directory.ts';
import { speaks } from '../../domain/models/providers.ts';
import type { UnpricedField } from '../../domain/models/tiers/unpriced-fields.ts';
import type { MemoryLimit, MemoryShare } from '../../http/memory-limit.ts';
import { gatherBody } from '../../http/read-body.ts';
import type { EndSignal, ModelEndpoint, UpstreamAnswer, UpstreamTarget } from '../../ports/model-upstream.ts';
import type { Secrets } from '../../ports/secrets.ts';
import type { AdmittedModelCall } from '../admission/admit.ts';
import { isFree } from '../admission/call-size.ts';
import { withoutDropped } from '../admission/dropped-fields.ts';
import { type Refusal, refusalResponse, refusalStatus } from '../admission/refusals.ts';
import { readWholeAnswer } from '../json/answer-body.ts';
import type { ClientWire } from '../json/client-wire.ts';
import { type BodyChanges, rewriteModelBody } from '../json/rewrite-body.ts';
import { answerStream } from '../streaming/answer-stream.ts';
import { EVENT_STREAM_TYPE, STREAM_HEADERS } from '../streaming/server-sent-events.ts';
import { createAnswerCosts } from './answer-costs.ts';
import { countedResponse, MEMORY_FULL } from './answer-memory.ts';
import {
  type Answering,
  type AnswerParts,
  createEnd,
  type EndCall,
  failure,
  idleTimeoutOf,
  logSilence,
  type ModelCallContext,
  refusalReason,
} from './end-call.ts';
import {
  passedOn,
  refusalInAnswer,
  silentFor,
  unavailable,
  withoutProviderNames,
} from './provider-errors.ts';
import { responseRecord } from './record-response.ts';

export interface ModelCallParts extends TryTargetsParts, AnswerParts {
  readonly models: ModelDirectory;
  readonly secrets: Secrets;
  readonly cache?: AnswerCache;
  readonly answerMemory: MemoryLimit;
}

/** Runs an admitted call, from its first target to the last byte, which waits for the call's commit. */
export async function answerModelCall(
  parts: ModelCallParts,
  call: AdmittedModelCall,
  context: ModelCallContext,
): Promise<Response> {
  const upstreamAbort = createCallAbort();
  const onClientLeft = () => upstreamAbort.abort();
  context.clientSignal.addEventListener('abort', onClientLeft, { once: true });
  // It may have left while the call was admitted, and the signal reports that only once.
  if (context.clientSignal.aborted) upstreamAbort.abort();
  const end = createEnd(parts, call, context);
  try {
    return await answerForwarded(parts, call, context, end, { upstreamAbort, onClientLeft });
  } catch (error) {
    // An unexpected failure: what the call holds is still released.
    upstreamAbort.abort();
    await end(failure('internal', 503, null));
    throw error;
  }
}

interface Aborting {
  readonly upstreamAbort: CallAbort;
  readonly onClientLeft: () => void;
}

async function answerForwarded(
  parts: ModelCallParts,
  call: AdmittedModelCall,
  context: ModelCallContext,
  end: EndCall,
  { upstreamAbort, onClientLeft }: Aborting,
): Promise<Response> {
  const share = parts.answerMemory.share(call.key.companyId);
  if (call.cache?.hit != null) return await answerCached(parts, call, context, end, share, call.cache.hit);
  const tried = await forward(parts, call, context, share, upstreamAbort);
  noteTries(call, context, tried);
  switch (tried.outcome) {
    case 'aborted':
      await end(failure('client-left', 499, tried.targetId));
      return refuse(call, context, { name: 'unavailable' });
    case 'request-refused': {
      const { target, answer } = tried;
      const refusal = await passedOn(call.alias.alias, target, answer, parts.clock);
      return await refuseAfterUpstream(call, context, end, refusal, target.id);
    }
    case 'failed':
      return await refuseAfterUpstream(call, context, end, unavailable(tried, call.alias), tried.targetId);
    case 'not-tried':
      return await refuseAfterUpstream(call, context, end, unavailable(tried, call.alias), null);
    case 'answered': {
      const { target, noteBroken } = tried;
      const taken = tried.answer.status === 200 ? tried.answer : { ...tried.answer, status: 200 };
      const firstByteMs = elapsedMs(context.startedAtMs, parts.clock.now());
      context.trace?.begun(target);
      const isNamed = !call.fields.stream || taken.contentType === EVENT_STREAM;
      const answer = isNamed ? taken : await named(taken, idleTimeoutOf({ parts, target }));
      if (context.clientSignal.aborted) {
        answer.body.cancel();
        await end(failure('client-left', 499, target.id, firstByteMs));
        return refuse(call, context, { name: 'unavailable' });
      }
      const hidesCosts = tried.alias.ownKey === undefined;
      const ending = { noteBroken, end, firstByteMs, upstreamAbort };
      const reasoning = reasoningCount(call, target);
      const answering = { parts, call, context, target, answer, hidesCosts, reasoning, ...ending };
      const isStream = call.fields.stream && answer.contentType === EVENT_STREAM;
      if (!isStream) return await answerWhole(answering, share);
      // From here on the stream decides whether to keep reading from the provider.
      context.clientSignal.removeEventListener('abort', onClientLeft);
      return answerStream(answering);
    }
  }
}

const EVENT_STREAM = 'text/event-stream';

/** The answer to a streamed call under another media type, which is a stream if it begins like one. */
async function named(answer: UpstreamAnswer, idleMs: number): Promise<UpstreamAnswer> {
  const { isStream, body } = await readBeginning(answer.body, idleMs);
  return { ...answer, body, ...(isStream ? { contentType: EVENT_STREAM } : {}) };
}

/**
 * Embeddings have no reasoning, and translated answers already count it. What hosted tools read is in the total too, and is
 * not billed as output.
 */
function reasoningCount({ route, hosted, unpriced }: AdmittedModelCall, { wire }: UpstreamTarget) {
  if (wire === undefined || route.endpoint !== 'chat/completions') return undefined;
  const hasTools = hosted != null || unpriced?.some(({ kind }) => !TOKEN_KINDS.includes(kind)) === true;
  return wire.reasoning === 'in-total' && hasTools ? undefined : wire.reasoning;
}

/** Unpriced fields that are no tools. */
const TOKEN_KINDS: readonly UnpricedField['kind'][] = ['tier', 'audio'];

export const TRIES_HEADER = 'x-turnpike-tries';
export const SERVED_BY_HEADER = 'x-turnpike-served-by';

/** For the client, and for the record if the answer is not from the first attempt at the requested alias. */
function noteTries(
  { alias }: AdmittedModelCall,
  context: ModelCallContext,
  tried: Tried<UpstreamAnswer>,
): void {
  if (tried.outcome === 'not-tried') return;
  context.headers[TRIES_HEADER] = String(tried.tries);
  const by = tried.outcome === 'answered' ? tried.alias : alias;
  const served = servedOf(alias, by, tried.tries);
  if (served === undefined) return;
  context.served = served;
  if (served.by !== null) context.headers[SERVED_BY_HEADER] = by.alias;
}

/**
 * Tries the alias's targets before the first byte and never after: the answer is taken at its status, before its body
 * is read. A target receives what the client sent, except for the model's name and, on streams, include_usage. No step
 * is added here: the loop's own promise is returned.
 */
function forward(
  parts: ModelCallParts,
  call: AdmittedModelCall,
  context: ModelCallContext,
  share: MemoryShare,
  signal: EndSignal,
): Promise<Tried<UpstreamAnswer>> {
  const { alias, fallbacks, route, fields } = call;
  const request = {
    alias,
    fallbacks,
    endpoint: route.endpoint,
    isStream: fields.stream,
    call,
    context,
    share,
  };
  return tryTargets(parts, FORWARDED_CALL, request, signal);
}

interface ForwardedCall extends ModelRequest {
  readonly call: AdmittedModelCall;
  readonly context: ModelCallContext;
  readonly share: MemoryShare;
}

const FORWARDED_CALL: CallKind<ForwardedCall, UpstreamAnswer> = {
  order: 'weighted',
  uses: 'all',
  bodyFor({ alias, call, context }, target) {
    const { bytes, fields } = alias.drop === call.alias.drop ? call : bodyOfFallback(alias, call, context);
    return rewriteModelBody(bytes, fields, changesFor(alias, call, target));
  },
  headersFor({ call, endpoint, context: { forwardedHeaders, trace = null } }, target) {
    // For a translated call they mean nothing to its provider.
    const forwarded = speaks(target, endpoint) ? forwardedHeaders : NO_HEADERS;
    return trace === null ? forwarded : { ...forwarded, ...trace.trying(call, target) };
  },
  holdFor: ({ share }) => share.hold,
  onFailure: ({ context }, reason, target) => context.trace?.failed(reason, target),
  logFields: ({ call, context }) => ({ callId: call.id, requestId: context.requestId }),
  whole: null,
};

const NO_HEADERS: Readonly<Record<string, string>> = {};

/** Without the fields that the fallback drops as well. */
function bodyOfFallback(alias: Alias, call: AdmittedModelCall, { headers }: ModelCallContext) {
  const reduced = withoutDropped(call, alias, call.route.wire);
  if (reduced === null) return call;
  const droppedFields = [...new Set([...(call.droppedFields ?? []), ...reduced.dropped])];
  noteChanged(headers, { droppedFields });
  return reduced;
}

export const DROPPED_TOOLS_HEADER = 'x-turnpike-dropped-tools';
export const DROPPED_FIELDS_HEADER = 'x-turnpike-dropped-fields';
export const UNPRICED_HEADER = 'x-turnpike-unpriced';

/** What was taken out of the body, and what is forwarded although no price covers it. */
export function noteChanged(
  headers: Record<string, string>,
  call: Pick<AdmittedModelCall, 'droppedTools' | 'droppedFields' | 'unpriced'>,
): void {
  const { droppedTools = [], droppedFields = [], unpriced = [] } = call;
  if (droppedTools.length > 0) headers[DROPPED_TOOLS_HEADER] = droppedTools.join(', ');
  if (droppedFields.length > 0) headers[DROPPED_FIELDS_HEADER] = droppedFields.join(', ');
  if (unpriced.length > 0) headers[UNPRICED_HEADER] = unpriced.map(({ name }) => name).join(', ');
}

function changesFor(
  alias: Alias,
  { route: { endpoint, wire: clientWire } }: AdmittedModelCall,
  target: Pick<UpstreamTarget, 'model' | 'wire'>,
): BodyChanges {
  const { model, wire } = target;
  const isBounded = alias.enforceMaxOutput && !UNBOUNDED.includes(endpoint);
  return {
    model,
    maxTokens: isBounded ? alias.maxOutputTokens : null,
    maxTokensName:
      isBounded && endpoint === 'chat/completions' ? maxTokensNameOf(target) : MAXIMUMS[clientWire],
    hasStreamOptions: clientWire === 'completions' ? wire?.hasStreamOptions : false,
  };
}

/** These have no member that bounds their answer. */
const UNBOUNDED: readonly ModelEndpoint[] = [
  ...(['embeddings', 'messages/count_tokens', 'responses/input_tokens', 'responses/compact'] as const),
];

/** Completions support max_tokens only. */
const MAXIMUMS = {
  completions: 'max_tokens',
  responses: 'max_output_tokens',
  messages: 'max_tokens',
} as const satisfies Record<ClientWire, BodyChanges['maxTokensName']>;

async function refuseAfterUpstream(
  call: AdmittedModelCall,
  context: ModelCallContext,
  end: EndCall,
  refusal: Refusal,
  targetId: string | null,
): Promise<Response> {
  const isWritten = await end(failure(refusalReason(refusal), refusalStatus(refusal), targetId));
  return refuse(call, context, isWritten ? refusal : { name: 'unavailable' });
}

function refuse({ route }: AdmittedModelCall, context: ModelCallContext, refusal: Refusal): Response {
  return refusalResponse(refusal, context.headers, { wire: route.wire, requestId: context.requestId });
}

/** The largest answer that is not streamed: 2,048 embeddings of 3,072 numbers are about 130 MB of text. */
const MOST_ANSWER_BYTES = 256 * 1024 * 1024;

/** What it holds in memory is released when it was sent, or could not be. */
async function answerWhole(answering: Answering, share: MemoryShare): Promise<Response> {
  try {
    const answered = await answerGathered(answering, share);
    if (answered instanceof Response) {
      share.release();
      return answered;
    }
    const { bytes, status, headers } = answered;
    return countedResponse(bytes, share, answering.context.clientSignal, { status, headers });
  } catch (error) {
    share.release();
    throw error;
  }
}

interface WholeToSend {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** An answer that is not streamed: read completely, its model replaced, the call committed, then sent. */
async function answerGathered(answering: Answering, share: MemoryShare): Promise<Response | WholeToSend> {
  const { parts, call, context, target, answer, end, firstByteMs, upstreamAbort } = answering;
  const bounds = { maxBytes: MOST_ANSWER_BYTES, idleMs: idleTimeoutOf(answering), hold: share.hold };
  const gathering = gatherBody(answer.body, bounds);
  const gathered = gathering instanceof Promise ? await gathering : gathering;
  if (gathered.outcome !== 'whole') {
    upstreamAbort.abort();
    const left = context.clientSignal.aborted;
    const outcome = share.wasRefused() ? 'memory-full' : gathered.outcome;
    if (!left && (outcome === 'idle' || outcome === 'broken')) {
      answering.noteBroken?.(outcome === 'idle' ? 'late' : 'broken-off');
    }
    const reason = left ? 'client-left' : outcome === 'memory-full' ? outcome : `upstream-${outcome}`;
    await end(failure(reason, left ? 499 : 503, target.id, firstByteMs));
    if (!left && outcome === 'idle') {
      logSilence(answering);
      return refuse(call, context, silentFor(bounds.idleMs));
    }
    return refuse(call, context, TOO_MUCH[outcome] ?? { name: 'unavailable' });
  }
  const isEmbedding = call.route.endpoint === 'embeddings';
  const withoutNames = (text: string) => withoutProviderNames(text, target, call.alias.alias);
  const { hidesCosts, reasoning } = answering;
  const rules = isEmbedding ? { hidesCosts, isEmbedding } : { hidesCosts, reasoning, withoutNames };
  const read = readWholeAnswer(gathered.bytes, call.alias.alias, call.route.wire, rules);
  if (!read.isJsonObject || read.isError) {
    const text = read.isError ? new TextDecoder().decode(gathered.bytes) : '';
    const { refusal, result } = refusalInAnswer(call.alias, target, text);
    if (typeof result === 'number') answering.noteBroken?.(result);
    const isWritten = await end(failure('upstream-broken', refusalStatus(refusal), target.id, firstByteMs));
    return refuse(call, context, isWritten ? refusal : { name: 'unavailable' });
  }
  context.trace?.whole(read.bytes);
  const usage = answer.body.lacksUsage?.() === true ? null : read.usage;
  const isFine = usage !== null || isFree(call.route);
  const costs = createAnswerCosts(call);
  costs?.noteWhole(gathered.bytes);
  const isWritten = await end({
    outcome: isFine ? 'SUCCEEDED' : 'FAILED',
    reason: isFine ? null : 'no-usage',
    httpStatus: answer.status,
    targetId: target.id,
    tokens: usage,
    firstByteMs,
    ...costs?.ending(context.served?.by ?? call.alias, usage !== null),
    ...(call.claim === null ? {} : { answer: { contentType: JSON_TYPE, bytes: read.bytes } }),
    copy: parts.answerRecorder?.whole(call, JSON_TYPE, read.bytes) ?? undefined,
    isWhole: true,
    response: responseRecord(answering, { id: null, last: read.bytes, isCharged: usage !== null }),
  });
  if (!isWritten) return refuse(call, context, { name: 'unavailable' });
  const headers = { ...context.headers, 'content-type': JSON_TYPE };
  return { bytes: read.bytes, status: answer.status, headers };
}

const ASK_LESS = 'Request less in one call: fewer inputs, embeddings as base64, no log probabilities.';
const TOO_MUCH: Readonly<Record<string, Refusal>> = {
  'too-large': {
    name: 'unavailable',
    message: `The answer of the model is larger than 256 MB. ${ASK_LESS}`,
  },
  'memory-full': { ...MEMORY_FULL, message: `${MEMORY_FULL.message} ${ASK_LESS}` },
};

const JSON_TYPE = 'application/json';

/** The cached answer, byte for byte. It is recorded and charged as a call, at the share of the price that hits cost. */
async function answerCached(
  parts: ModelCallParts,
  call: AdmittedModelCall,
  context: ModelCallContext,
  end: EndCall,
  share: MemoryShare,
  { contentType, bytes, tokens }: CachedAnswer,
): Promise<Response> {
  if (!share.hold(bytes.length)) {
    await end(failure('memory-full', 503, null));
    return refuse(call, context, MEMORY_FULL);
  }
  const isWritten = await end({
    ...{ outcome: 'SUCCEEDED', reason: null, httpStatus: 200, targetId: null, tokens },
    firstByteMs: elapsedMs(context.startedAtMs, parts.clock.now()),
    cacheHit: true,
    chargeShareMillionths: parts.cache?.priceShareMillionths ?? 0,
    ...(call.claim === null ? {} : { answer: { contentType, bytes } }),
    copy: parts.answerRecorder?.whole(call, contentType, bytes) ?? undefined,
    isWhole: true,
  });
  if (!isWritten) {
    share.release();
    return refuse(call, context, { name: 'unavailable' });
  }
  const stream = contentType === EVENT_STREAM_TYPE ? STREAM_HEADERS : {};
  const headers = { ...context.headers, ...stream, 'content-type': contentType };
  return countedResponse(bytes, share, context.clientSignal, { status: 200, headers });
}

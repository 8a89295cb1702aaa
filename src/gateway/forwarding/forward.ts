import { type Entry, judgeResult, serviceOf } from '../../domain/breakers/breaker.ts';
import type { Breakers } from '../../domain/breakers/breakers.ts';
import type { ModelDirectory } from '../../domain/models/model-directory.ts';
import { gatherBody } from '../../http/read-body.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type {
  ModelUpstream,
  UpstreamAnswer,
  UpstreamFailure,
  UpstreamTarget,
} from '../../ports/model-upstream.ts';
import type { Secrets } from '../../ports/secrets.ts';
import type { AdmittedModelCall } from '../admission/admit.ts';
import type { Refusal } from '../admission/refusals.ts';
import { rewriteModelBody } from '../json/request-body.ts';
import type { ModelCallContext } from './end-call.ts';

export interface ForwardParts {
  readonly models: ModelDirectory;
  readonly upstream: ModelUpstream;
  /** One for each provider: who keeps failing is left alone for a while. */
  readonly breakers: Pick<Breakers, 'enter'>;
  readonly secrets: Secrets;
  readonly clock: Clock;
  readonly log: Log;
}

type ForwardContext = Pick<ModelCallContext, 'requestId' | 'forwardedHeaders' | 'trace'>;

type Forwarded =
  | { readonly outcome: 'answered'; readonly target: UpstreamTarget; readonly answer: UpstreamAnswer }
  | { readonly outcome: 'refused'; readonly targetId: string | null; readonly refusal: Refusal }
  | { readonly outcome: 'client-left'; readonly targetId: string | null };

/** The upstream's own judgement of the request, which the client is told (G-36). Everything else is ours. */
const CLIENTS_FAULT = new Set([400, 413, 415, 422]);
const MOST_ERROR_BYTES = 64 * 1024;
const ERROR_BODY_MS = 5_000;

/**
 * Tries the alias's targets one after the other until one answers, before the first byte and never after. What
 * arrives there is what the client sent, but for the model's name and, on streams, include_usage. A target whose
 * provider's breaker is open is passed over; where all are, the client is told when to come again. How a call went is
 * told to the breaker by its status: what breaks off later is not counted.
 */
export async function forward(
  parts: ForwardParts,
  call: AdmittedModelCall,
  { requestId, forwardedHeaders, trace = null }: ForwardContext,
  signal: AbortSignal,
): Promise<Forwarded> {
  const { models, upstream, secrets } = parts;
  let targetId: string | null = null;
  const targets = [...models.order(call.alias, drawFrom(secrets))];
  const [only] = targets;
  let mayRepeat = targets.length === 1;
  let retryAfterMs: number | null = null;
  let wasAsked = false;
  for (const target of targets) {
    if (signal.aborted) return { outcome: 'client-left', targetId };
    const entry = await entered(parts, target);
    if (entry?.outcome === 'rejected') {
      retryAfterMs = Math.min(retryAfterMs ?? entry.retryAfterMs, entry.retryAfterMs);
      continue;
    }
    wasAsked = true;
    targetId = target.id;
    const body = rewriteModelBody(call.bytes, call.fields, target.model);
    let answer: UpstreamAnswer;
    const headers =
      trace === null ? forwardedHeaders : { ...forwardedHeaders, ...trace.trying(call, target) };
    try {
      answer = await upstream.send(target, {
        endpoint: call.route.endpoint,
        body,
        headers,
        signal,
      });
    } catch (error) {
      const reason = signal.aborted ? 'aborted' : ((error as UpstreamFailure).reason ?? 'broken');
      entry?.report(judgeResult({ kind: RESULTS[reason] }));
      trace?.failed(reason);
      if (signal.aborted) return { outcome: 'client-left', targetId };
      noteFailure(parts, { call, requestId }, target, reason);
      // A provider may drop a kept connection at the very moment a call is sent on it; a second target would
      // have caught that, so where there is none the only one is asked once more.
      if (reason === 'broken' && mayRepeat && only !== undefined) targets.push(only);
      mayRepeat = false;
      continue;
    }
    entry?.report(judgeResult({ kind: 'answered', status: answer.status }));
    if (answer.status >= 200 && answer.status < 300) {
      models.noteSuccess(target.id);
      return { outcome: 'answered', target, answer };
    }
    trace?.failed(String(answer.status));
    if (CLIENTS_FAULT.has(answer.status)) {
      models.noteSuccess(target.id);
      return { outcome: 'refused', targetId, refusal: await passedOn(parts, call, target, answer) };
    }
    answer.body.cancel().catch(() => {});
    noteFailure(parts, { call, requestId }, target, String(answer.status));
  }
  const resting = wasAsked || retryAfterMs === null ? {} : { retryAfterMs };
  return { outcome: 'refused', targetId, refusal: { name: 'unavailable', ...resting } };
}

const RESULTS = {
  connect: 'network',
  broken: 'network',
  'first-byte-time-out': 'time-out',
  aborted: 'aborted',
} as const;

/** Null for the embedded models, which need no breaker. A closed one answers at once: nothing is awaited for it. */
function entered({ breakers }: ForwardParts, target: UpstreamTarget): Entry | null | Promise<Entry> {
  const service = serviceOf(target);
  return service === null ? null : breakers.enter(service);
}

function noteFailure(
  { models, log }: ForwardParts,
  { call, requestId }: { readonly call: AdmittedModelCall; readonly requestId: string },
  target: UpstreamTarget,
  reason: string,
): void {
  models.noteFailure(target.id);
  log.warn('a model target failed', {
    alias: call.alias.alias,
    targetId: target.id,
    reason,
    callId: call.id,
    requestId,
  });
}

/** The upstream's message in our envelope, provider names replaced. */
async function passedOn(
  { clock }: ForwardParts,
  call: AdmittedModelCall,
  target: UpstreamTarget,
  answer: UpstreamAnswer,
): Promise<Refusal> {
  const gathered = await gatherBody(answer.body, {
    maxBytes: MOST_ERROR_BYTES,
    idleMs: ERROR_BODY_MS,
    clock,
  });
  const told = gathered.outcome === 'whole' ? messageIn(gathered.bytes) : null;
  const message =
    told === null
      ? `The model refused the request with status ${answer.status}.`
      : withoutProviderNames(told.message, target, call.alias.alias);
  return { name: 'invalidRequest', status: answer.status, message, param: told?.param ?? null };
}

const LONGEST_MESSAGE = 2_000;

function messageIn(bytes: Uint8Array): { message: string; param: string | null } | null {
  try {
    const body = JSON.parse(new TextDecoder().decode(bytes)) as { error?: unknown; message?: unknown };
    const error = (body.error ?? body) as { message?: unknown; param?: unknown } | string;
    const message = typeof error === 'string' ? error : error.message;
    if (typeof message !== 'string' || message === '') return null;
    const param = typeof error === 'string' ? null : error.param;
    return { message: message.slice(0, LONGEST_MESSAGE), param: typeof param === 'string' ? param : null };
  } catch {
    return null;
  }
}

/** A number from 0 up to 1. */
function drawFrom(secrets: Secrets): number {
  const [a = 0, b = 0, c = 0] = secrets.randomBytes(3);
  return ((a << 16) | (b << 8) | c) / 2 ** 24;
}

/** Models are addressed by alias only (G-16): the provider's model name and address do not reach a client. */
function withoutProviderNames(text: string, target: UpstreamTarget, alias: string): string {
  const host = target.baseUrl === null ? null : (URL.parse(target.baseUrl)?.host ?? null);
  let clean = text.replaceAll(target.model, alias);
  if (target.baseUrl !== null) clean = clean.replaceAll(target.baseUrl, 'the model');
  if (host !== null) clean = clean.replaceAll(host, 'the model');
  if (target.apiKey !== null) clean = clean.replaceAll(target.apiKey, '[redacted]');
  return clean;
}

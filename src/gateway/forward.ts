import type { ModelDirectory } from '../domain/models/model-directory.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type {
  ModelUpstream,
  UpstreamAnswer,
  UpstreamFailure,
  UpstreamTarget,
} from '../ports/model-upstream.ts';
import type { Secrets } from '../ports/secrets.ts';
import type { AdmittedModelCall } from './admit.ts';
import { gatherBody } from './gather-body.ts';
import { withoutProviderNames } from './provider-names.ts';
import type { Refusal } from './refusals.ts';
import { rewriteModelBody } from './rewrite-body.ts';

export interface ForwardParts {
  readonly models: ModelDirectory;
  readonly upstream: ModelUpstream;
  readonly secrets: Secrets;
  readonly clock: Clock;
  readonly log: Log;
}

export type Forwarded =
  | { readonly outcome: 'answered'; readonly target: UpstreamTarget; readonly answer: UpstreamAnswer }
  | { readonly outcome: 'refused'; readonly targetId: string | null; readonly refusal: Refusal }
  | { readonly outcome: 'client-left'; readonly targetId: string | null };

/** The upstream's own judgement of the request, which the client is told (G-36). Everything else is ours. */
const CLIENTS_FAULT = new Set([400, 413, 415, 422]);
const MOST_ERROR_BYTES = 64 * 1024;
const ERROR_BODY_MS = 5_000;

/**
 * Tries the alias's targets one after the other until one answers, before the first byte and never after. What
 * arrives there is what the client sent, but for the model's name and, on streams, include_usage.
 */
export async function forward(
  parts: ForwardParts,
  call: AdmittedModelCall,
  clientHeaders: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Forwarded> {
  const { models, upstream, secrets } = parts;
  let targetId: string | null = null;
  const targets = [...models.order(call.alias, drawFrom(secrets))];
  const [only] = targets;
  let mayRepeat = targets.length === 1;
  for (const target of targets) {
    if (signal.aborted) return { outcome: 'client-left', targetId };
    targetId = target.id;
    const body = rewriteModelBody(call.bytes, call.fields, target.model);
    let answer: UpstreamAnswer;
    try {
      answer = await upstream.send(target, {
        endpoint: call.route.endpoint,
        body,
        headers: clientHeaders,
        signal,
      });
    } catch (error) {
      if (signal.aborted) return { outcome: 'client-left', targetId };
      const reason = (error as UpstreamFailure).reason ?? 'broken';
      noteFailure(parts, call, target, reason);
      // A provider may drop a kept connection at the very moment a call is sent on it; a second target would
      // have caught that, so where there is none the only one is asked once more.
      if (reason === 'broken' && mayRepeat && only !== undefined) targets.push(only);
      mayRepeat = false;
      continue;
    }
    if (answer.status >= 200 && answer.status < 300) {
      models.noteSuccess(target.id);
      return { outcome: 'answered', target, answer };
    }
    if (CLIENTS_FAULT.has(answer.status)) {
      models.noteSuccess(target.id);
      return { outcome: 'refused', targetId, refusal: await passedOn(parts, call, target, answer) };
    }
    answer.body.cancel().catch(() => {});
    noteFailure(parts, call, target, String(answer.status));
  }
  return { outcome: 'refused', targetId, refusal: { name: 'unavailable' } };
}

function noteFailure(
  { models, log }: ForwardParts,
  call: AdmittedModelCall,
  target: UpstreamTarget,
  reason: string,
): void {
  models.noteFailure(target.id);
  log.warn('a model target failed', {
    alias: call.alias.alias,
    targetId: target.id,
    reason,
    callId: call.id,
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

import { type Breaker, createBreaker } from '../../domain/breakers/breaker.ts';
import type { CallAttribution } from '../../domain/calls/call-attribution.ts';
import type { KeyInUse } from '../../domain/keys/key-lookup.ts';
import type { CallReservation } from '../../domain/limits/call-reservation.ts';
import type { Alias } from '../../domain/models/aliases.ts';
import { readJson } from '../../http/read-json.ts';
import type { Clock } from '../../ports/clock.ts';
import { isObject } from '../../ports/json-object.ts';
import type { Log } from '../../ports/log.ts';
import type { WebhookAnswer, WebhookSender } from '../../ports/webhooks/webhook-sender.ts';
import { type ModelBodyFields, readModelBody } from '../json/request-body.ts';
import { fallbackAliases } from './fallback-aliases.ts';
import { aliasOfCompany, type CompanyAliasParts } from './own-keys.ts';
import { type ParseFields, readParseJson } from './read-parse-body.ts';
import type { Refusal } from './refusals.ts';
import type { Route } from './routes.ts';

/**
 * The operator's webhook before a call. It runs after every other check, when the call has its reservation: calls that
 * are refused anyway do not reach it. It allows the call, blocks it, or replaces its body; a replaced body is checked
 * again.
 */
export interface CallHook {
  decide(parts: CompanyAliasParts, call: HookedCall, request: HookedRequest): Promise<HookDecision>;
  counts(): Readonly<Record<HookOutcome, number>>;
  isOpen(): boolean;
}

interface HookedCall {
  readonly id: string;
  readonly route: Extract<Route, { kind: 'model-call' | 'parse' }>;
  readonly key: KeyInUse;
  readonly alias: Alias;
  readonly fallbacks?: readonly Alias[] | undefined;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly fields: ModelBodyFields | ParseFields;
  readonly attribution?: CallAttribution | null | undefined;
}

interface HookedRequest {
  readonly requestId: string;
  readonly startedAtMs: number;
  readonly request: Pick<Request, 'signal'>;
}

type HookDecision =
  | { readonly outcome: 'allowed' }
  | { readonly outcome: 'refused'; readonly refusal: Refusal }
  /** Admitted again; it does not count as a second request. */
  | { readonly outcome: 'replaced'; readonly body: HookedBody };

type HookedBody = Pick<HookedCall, 'alias' | 'fallbacks' | 'bytes' | 'fields'>;

type Hooked<Call> =
  | Exclude<HookDecision, { outcome: 'replaced' }>
  | { readonly outcome: 'replaced'; readonly call: Call & { readonly isHooked: true } };

/** Releases what the call holds unless it continues unchanged. */
export async function throughHook<Call extends HookedCall>(
  parts: CompanyAliasParts,
  hook: CallHook,
  call: Call,
  request: HookedRequest,
  reservation: CallReservation,
): Promise<Hooked<Call>> {
  let decision: HookDecision | null = null;
  try {
    decision = await hook.decide(parts, call, request);
  } finally {
    if (decision?.outcome !== 'allowed') await reservation.end(0, []);
  }
  if (decision.outcome !== 'replaced') return decision;
  return { outcome: 'replaced', call: { ...call, ...decision.body, isHooked: true } };
}

/** `failed` without a usable response; `skipped` while the breaker is open or too many calls wait. */
type HookOutcome = 'allowed' | 'blocked' | 'replaced' | 'failed' | 'skipped';

export interface CallHookParts {
  readonly webhooks: Pick<WebhookSender, 'send'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly url: string;
  /** The request is signed with each of them. */
  readonly secrets: readonly string[];
  readonly timeoutMs: number;
  /** A larger body is not sent to the hook, which then decides without it. */
  readonly maxBodyBytes: number;
  /** Whether a call is admitted if the hook makes no decision. */
  readonly onFailure: 'open' | 'closed';
}

/** The size limit of the response, not counting a replaced body. */
const ANSWER_BYTES = 64 * 1024;
/** The limit of calls that wait in this process: without it, a hook that hangs would keep every body in memory. */
const MOST_WAITING = 1_000;
const FAILURES_IN_A_ROW = 5;
const COOLDOWN_MS = 10_000;
const LONGEST_MESSAGE = 500;
/** Between two log lines about the same problem. */
const LOG_EVERY_MS = 10_000;

const ALLOWED: HookDecision = { outcome: 'allowed' };

export function createCallHook(parts: CallHookParts): CallHook {
  const { clock, log, webhooks, onFailure } = parts;
  const counts = { allowed: 0, blocked: 0, replaced: 0, failed: 0, skipped: 0 };
  const breaker = breakerOf(parts);
  let waiting = 0;
  let loggedAtMs = Number.NEGATIVE_INFINITY;

  function undecided(outcome: 'failed' | 'skipped', reason: string, retryAfterMs?: number): HookDecision {
    counts[outcome] += 1;
    if (clock.uptimeMs() - loggedAtMs >= LOG_EVERY_MS) {
      loggedAtMs = clock.uptimeMs();
      const effect = onFailure === 'open' ? 'calls pass without it' : 'calls are refused';
      log.warn(`the hook before calls gives no decision: ${effect}`, { reason });
    }
    if (onFailure === 'open') return ALLOWED;
    return refused({ ...UNDECIDED, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) });
  }

  async function ask(call: HookedCall, request: HookedRequest): Promise<WebhookAnswer> {
    const body = requestBody(call, request, parts.maxBodyBytes);
    waiting += 1;
    try {
      return await webhooks.send({
        ...{ url: parts.url, body, secrets: parts.secrets, timeoutMs: parts.timeoutMs },
        maxAnswerBytes: parts.maxBodyBytes + ANSWER_BYTES,
        signal: request.request.signal,
      });
    } finally {
      waiting -= 1;
    }
  }

  return {
    async decide(aliasParts, call, request) {
      if (waiting >= MOST_WAITING) return undecided('skipped', 'too many calls wait for it');
      const entered = breaker.enter();
      const entry = entered instanceof Promise ? await entered : entered;
      if (entry.outcome === 'rejected') {
        return undecided('skipped', 'it failed several times in a row', entry.retryAfterMs);
      }
      const answer = await ask(call, request);
      if (answer.outcome === 'failed' && answer.reason === 'aborted') {
        entry.report('ignored');
        return refused(UNDECIDED);
      }
      const read = readAnswer(answer);
      entry.report(read.action === 'none' ? { failure: read.reason } : 'success');
      switch (read.action) {
        case 'none':
          return undecided('failed', read.reason);
        case 'allow':
          counts.allowed += 1;
          return ALLOWED;
        case 'block':
          counts.blocked += 1;
          return refused({
            name: 'blockedByHook',
            ...(read.message === null ? {} : { message: read.message }),
          });
        case 'replace': {
          const replaced = replace(aliasParts, call, read.body);
          if (replaced.outcome === 'replaced') counts.replaced += 1;
          else {
            counts.failed += 1;
            // Fails closed whatever the setting is: a body that the hook wanted to change is not sent unchanged.
            log.error('a body that the hook before calls replaced cannot be used; the call is refused', {
              ...{ callId: call.id, reason: replaced.reason },
            });
          }
          return replaced.outcome === 'replaced' ? replaced : refused(UNDECIDED);
        }
      }
    },
    counts: () => counts,
    isOpen: () => breaker.state() !== 'closed',
  };
}

const UNDECIDED: Refusal = {
  name: 'unavailable',
  message: 'This request could not be checked by a policy of the operator. Retry with backoff.',
};

/** Keeps a hook that is down from adding its timeout to every call. Each process has its own breaker. */
function breakerOf({ clock, log, timeoutMs }: CallHookParts): Breaker {
  return createBreaker({
    clock,
    rules: { failures: FAILURES_IN_A_ROW, cooldownMs: COOLDOWN_MS, trialTimeoutMs: timeoutMs + 1_000 },
    claimTrial: async () => 'granted',
    releaseTrial: () => undefined,
    onChange: (cause) => log.warn('the breaker of the hook before calls has changed', { cause }),
  });
}

/** The body as it was sent, JSON within JSON: it was parsed before, so it is valid. */
function requestBody(call: HookedCall, { requestId, startedAtMs }: HookedRequest, maxBytes: number): string {
  const { id, route, key, alias, fields, attribution } = call;
  const body = shownBody(call, maxBytes);
  const facts = {
    ...{
      object: 'call_hook.before',
      id,
      request_id: requestId,
      created_at: new Date(startedAtMs).toISOString(),
    },
    company: { id: key.companyId },
    key: { id: key.id, name: key.name, project: key.project ?? null },
    ...{ endpoint: route.endpoint, model: alias.alias, stream: fields.stream },
    ...{ user: attribution?.endUser ?? null, tags: attribution?.tags ?? [] },
    ...{ body_bytes: call.bytes.length, is_body_omitted: body === null },
  };
  return `${JSON.stringify(facts).slice(0, -1)},"body":${body ?? 'null'}}`;
}

/** Null if it is too large. For a document only its name is included: its text has not been extracted yet. */
function shownBody({ bytes, fields }: HookedCall, maxBytes: number): string | null {
  if ('input' in fields) {
    const { input, model } = fields;
    if ('file' in input)
      return JSON.stringify({ model, file: { name: input.name, bytes: input.file.length } });
    return bytes.length > maxBytes ? null : JSON.stringify({ model, text: input.text });
  }
  return bytes.length > maxBytes ? null : new TextDecoder().decode(bytes);
}

type ReadAnswer =
  | { readonly action: 'allow' }
  | { readonly action: 'block'; readonly message: string | null }
  | { readonly action: 'replace'; readonly body: Readonly<Record<string, unknown>> }
  | { readonly action: 'none'; readonly reason: string };

function readAnswer(answer: WebhookAnswer): ReadAnswer {
  if (answer.outcome === 'failed') return none(answer.reason);
  if (answer.status === 204) return { action: 'allow' };
  if (answer.status !== 200) return none(`status ${answer.status}`);
  if (!answer.isWhole) return none('the answer is too large');
  const json = readJson(answer.body);
  const decision = json.outcome === 'read' ? json.value : null;
  if (!isObject(decision)) return none('the answer is not a JSON object');
  switch (decision.action) {
    case 'allow':
      return { action: 'allow' };
    case 'block':
      return { action: 'block', message: messageOf(decision.message) };
    case 'replace':
      if (!isObject(decision.body)) return none('the answer replaces the body by none');
      return { action: 'replace', body: decision.body };
    default:
      return none('the answer has no known action');
  }
}

function none(reason: string): ReadAnswer {
  return { action: 'none', reason };
}

/** One line of limited length, without control characters and bidirectional overrides. */
function messageOf(given: unknown): string | null {
  if (typeof given !== 'string') return null;
  const plain = given.toWellFormed().replace(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069\s]+/gu, ' ');
  return [...plain].slice(0, LONGEST_MESSAGE).join('').trim() || null;
}

type Replaced =
  | Extract<HookDecision, { outcome: 'replaced' }>
  | { readonly outcome: 'unusable'; readonly reason: string };

/** Reads it like a client's own body. It is serialized again, so that it has no duplicate members. */
function replace(
  parts: CompanyAliasParts,
  call: HookedCall,
  body: Readonly<Record<string, unknown>>,
): Replaced {
  const { route, key } = call;
  const bytes = new TextEncoder().encode(JSON.stringify(body));
  const read = route.kind === 'parse' ? readParseJson(bytes) : readModelBody(bytes, route.wire);
  if (read.outcome === 'refused') return unusable(read.refusal.message ?? read.refusal.name);
  if (read.outcome === 'invalid') return unusable(read.message);
  const { fields } = read;
  if (fields.stream !== call.fields.stream) return unusable('it changes stream, which the client relies on');
  const alias = fields.model === null ? call.alias : aliasOfCompany(parts, key.companyId, fields.model);
  if (alias === null || (key.models !== null && !key.models.includes(alias.alias))) {
    return unusable('the key may not call the model that it names');
  }
  if (!route.serves.includes(alias.kind)) return unusable('the route does not serve the model that it names');
  const allowed = key.models === null ? null : new Set(key.models);
  const fallbacks = fallbackAliases(parts, { key, alias, fields, allowed });
  if ('refusal' in fallbacks) return unusable(fallbacks.refusal.message ?? fallbacks.refusal.name);
  return { outcome: 'replaced', body: { alias, fallbacks, bytes, fields } };
}

function unusable(reason: string): Replaced {
  return { outcome: 'unusable', reason };
}

function refused(refusal: Refusal): HookDecision {
  return { outcome: 'refused', refusal };
}

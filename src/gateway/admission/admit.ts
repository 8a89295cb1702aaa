import type { AnswerCache } from '../../domain/answer-cache/answer-cache.ts';
import type { CallAttribution } from '../../domain/calls/call-attribution.ts';
import type { IdempotentCalls } from '../../domain/calls/idempotency/idempotent-calls.ts';
import type { IdempotentClaim, IdempotentRequest } from '../../domain/calls/idempotency/key-claims.ts';
import type { CallBook } from '../../domain/calls/settlement/settle-call.ts';
import type { BillingStatuses } from '../../domain/credits/holds/billing-status.ts';
import type { CreditHolds, Payer } from '../../domain/credits/holds/holds.ts';
import type { KeyDirectory } from '../../domain/keys/key-directory.ts';
import type { KeyInUse } from '../../domain/keys/key-lookup.ts';
import type { AbandonedStreams } from '../../domain/limits/abandoned-streams.ts';
import type { CallReservation } from '../../domain/limits/call-reservation.ts';
import type { KeyAllowances, Limits } from '../../domain/limits/limits.ts';
import type { HostedPlan, PaidCall } from '../../domain/model-calls/paid-call.ts';
import type { Alias } from '../../domain/models/aliases.ts';
import type { ModelDirectory } from '../../domain/models/model-directory.ts';
import type { UnpricedField } from '../../domain/models/tiers/unpriced-fields.ts';
import type { StoredResponses } from '../../domain/stored-responses/stored-responses.ts';
import type { MemoryShare } from '../../http/memory-limit.ts';
import { isDeclaredTooLarge, tooLargeMessage } from '../../http/read-body.ts';
import type { Secrets } from '../../ports/secrets.ts';
import type { ClientWire } from '../json/client-wire.ts';
import type { ModelBodyFields } from '../json/request-body.ts';
import { attributionOf } from './attribution.ts';
import { type CacheUse, cachingOf, findCached, holdsForHit, type RequestedCaching } from './cached-answer.ts';
import { type CallHook, throughHook } from './call-hook.ts';
import { estimateOf, holdsOf, sizeOf } from './call-size.ts';
import { keyIn } from './client-headers.ts';
import { continueResponse, isContinuation } from './continue-response.ts';
import { blockedBy, limitRefusal, NOT_PAYABLE_NOW, type NotAdmitted, payerOf } from './credit-refusals.ts';
import { withoutDropped } from './dropped-fields.ts';
import { fallbackAliases } from './fallback-aliases.ts';
import {
  claimOrRelease,
  IDEMPOTENCY_KEY_HEADER,
  idempotentRequestOf,
  isIdempotencyKey,
  refusalOfState,
  UNREADABLE_KEY,
} from './idempotency.ts';
import { aliasOfCompany, type CompanyAliasParts } from './own-keys.ts';
import { type PricingParts, planPrices } from './plan-prices.ts';
import { type CallBodyParts, readCallBody } from './read-call-body.ts';
import { type ParseFields, readParseBody } from './read-parse-body.ts';
import type { Refusal } from './refusals.ts';
import { type Route, routeOf, wireOfPath } from './routes.ts';
import { unknownRoute } from './unknown-routes.ts';

export interface AdmitParts extends CompanyAliasParts, CallBodyParts, PricingParts {
  readonly keys: KeyDirectory;
  readonly models: ModelDirectory;
  readonly limits: Limits;
  readonly billingStatuses: BillingStatuses;
  readonly holds: CreditHolds;
  readonly abandoned: AbandonedStreams;
  readonly calls: Pick<CallBook, 'hasRoom'>;
  readonly idempotency: IdempotentCalls;
  readonly responses: StoredResponses;
  readonly cache?: AnswerCache;
  /** Whether streams include a usage chunk that the client did not request, unless the key has its own setting. */
  readonly streamUsageChunk?: 'always' | 'asked';
  readonly secrets: Secrets;
  /** Undefined or null if no hook runs before calls. */
  readonly callHook?: CallHook | null;
  /** What is wrong with the parameters of a read, or null. */
  readonly refusalOfRead: (asked: AskedRead) => Refusal | null;
}

export interface AskedRead {
  readonly route: ReadRoute;
  readonly key: KeyInUse;
  readonly url: string;
  readonly wire: ClientWire;
}

export interface Arrival {
  readonly request: Request;
  readonly path: string;
  readonly address: string;
  readonly startedAtMs: number;
  readonly requestId: string;
  /** Called after each step that may wait; undefined if the call is not traced. */
  readonly onStep?: ((step: AdmissionStep) => void) | undefined;
  /** Set to the memory of a large body, which is released with the end of the call. */
  bodyShare?: MemoryShare | undefined;
}

/**
 * The completed step: the address is counted, the key found, the body read, the company's billing status known, the
 * limits reserved.
 */
export type AdmissionStep = 'address' | 'key' | 'body' | 'standing' | 'limits';

type ModelRoute = Extract<Route, { kind: 'model-call' }>;
type ParseRoute = Extract<Route, { kind: 'parse' }>;
type ReadRoute = Exclude<Route, ModelRoute | ParseRoute>;

interface AdmittedPaid<OwnRoute, Fields> extends PaidCall {
  readonly route: OwnRoute;
  readonly key: KeyInUse;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly fields: Fields;
  /** The fallback aliases, in order; undefined for nearly every call. */
  readonly fallbacks?: readonly Alias[] | undefined;
  readonly allowances: KeyAllowances;
  /** Null without an idempotency key. Ended with the call. */
  readonly claim: IdempotentClaim | null;
  /** What it may spend on hosted tools; null for nearly every call. */
  readonly hosted?: HostedPlan | null;
  /** For a call that uses the exact cache: the cached answer, if there is one. */
  readonly cache?: CacheUse | null;
  /** Types of tools that were taken out of the body. */
  readonly droppedTools?: readonly string[];
  /** What is forwarded although no price covers what the provider may charge for it; omitted for nearly every call. */
  readonly unpriced?: readonly UnpricedField[] | undefined;
  /** Top-level fields that the alias drops and the body had. */
  readonly droppedFields?: readonly string[] | undefined;
  /** Null if neither the client nor the key sets any. */
  readonly attribution: CallAttribution | null;
}

export type AdmittedModelCall = AdmittedPaid<ModelRoute, ModelBodyFields>;
export type AdmittedParse = AdmittedPaid<ParseRoute, ParseFields>;
export type AdmittedPaidCall = AdmittedModelCall | AdmittedParse;

/** A repeat of a call whose answer is stored. */
export interface AdmittedReplay {
  readonly id: string;
  readonly route: ModelRoute | ParseRoute;
  readonly key: KeyInUse;
  readonly idempotent: IdempotentRequest;
  readonly allowances: KeyAllowances;
  readonly reservation: CallReservation;
}

export interface AdmittedRead {
  readonly id: string;
  readonly route: ReadRoute;
  readonly key: KeyInUse;
  readonly allowances: KeyAllowances;
  readonly reservation: CallReservation;
}

/** A refusal contains what was known by then. */
export interface Refused {
  readonly outcome: 'refused';
  readonly refusal: Refusal;
  readonly route: Route | null;
  readonly key: KeyInUse | null;
  readonly alias: string | null;
  readonly allowances: KeyAllowances | null;
  readonly attribution?: CallAttribution | null;
}

export type Admission =
  | { readonly outcome: 'model-call'; readonly call: AdmittedModelCall }
  | { readonly outcome: 'parse'; readonly call: AdmittedParse }
  | { readonly outcome: 'replay'; readonly call: AdmittedReplay }
  | { readonly outcome: 'read'; readonly call: AdmittedRead }
  | Refused;

/**
 * All refusals of the gateway, in order (G-37): address 429, route 404, key 401, scope 403, body 413, 400 or 503, model 403,
 * overdue invoice 403, credits 402, the key's spending limit 403, budgets 403, key limits 429. Every request counts against
 * its address; a refused one consumes nothing else. Invoices and balances do not block reads; their parameters are checked
 * like a body. An idempotency key is validated with the body (400), and its state is checked after the model (409); a repeat
 * whose answer is stored continues like a read. Responses that a body refers to are looked up after that (404), and then
 * hosted tools and tiers that the model does not have are refused (400), or counted if unpriced fields are forwarded.
 */
export async function admit(parts: AdmitParts, arrival: Arrival): Promise<Admission> {
  const { request, path, address } = arrival;
  const counted = await parts.limits.countAddress(address);
  arrival.onStep?.('address');
  if (counted.outcome === 'refused') return refuseAddress(parts.keys, arrival, counted.retryAfterMs);
  const route = routeOf(request.method, path);
  if (route === null) {
    return refuse({ name: 'notFound', message: unknownRoute(request.method, path) });
  }
  let found = await findKey(parts, arrival, route);
  if (found.outcome === 'refused') return found;
  let { key } = found;
  const id = parts.secrets.newId();
  if (route.kind !== 'model-call' && route.kind !== 'parse') {
    const wire = wireOfPath(path, request.headers);
    return await admitRead(parts, id, { route, key, url: request.url, wire });
  }

  const { maxBytes } = parts.bodyBounds;
  if (isDeclaredTooLarge(request, maxBytes)) {
    return refuse({ name: 'tooLarge', message: tooLargeMessage(request, maxBytes) }, { route, key });
  }
  const idempotencyKey = request.headers.get(IDEMPOTENCY_KEY_HEADER);
  if (idempotencyKey !== null && !isIdempotencyKey(idempotencyKey)) {
    return refuse(UNREADABLE_KEY, { route, key });
  }
  const caching = cachingOf(parts.cache, request, key);
  if (caching?.outcome === 'refused') return refuse(caching.refusal, { route, key });
  const read =
    route.kind === 'parse'
      ? await readParseBody(request, parts.bodyBounds, key.companyId)
      : await readCallBody(request, parts, route.wire, key.companyId);
  arrival.onStep?.('body');
  if (read.outcome === 'refused') return refuse(read.refusal, { route, key });
  const { bytes, fields } = read;
  if (read.share !== undefined) arrival.bodyShare = read.share;
  if (parts.bodyBounds.clock.now() - arrival.startedAtMs > LATE_BODY_MS) {
    found = await findKey(parts, { ...arrival, onStep: undefined }, route);
    if (found.outcome === 'refused') return found;
    key = found.key;
  }
  // If a parse call names no model, the allowlist is checked for the default one (G-28).
  const named = fields.model ?? defaultAliasOf(parts.models, route.serves);
  const alias = aliasOfCompany(parts, key.companyId, named);
  const attributed = attributionOf(request, fields.attribution, key.project);
  if (attributed.outcome === 'refused') return refuse(attributed.refusal, { route, key });
  const { attribution } = attributed;
  const known = { route, key, alias: alias?.alias ?? null, attribution };
  if (alias === null || (found.models !== null && !found.models.has(alias.alias))) {
    return refuse({ name: 'modelNotAllowed', param: 'model' }, known);
  }
  if (!route.serves.includes(alias.kind)) {
    const message = `${alias.alias} is a model of the kind ${alias.kind}, which ${path} does not serve.`;
    return refuse({ name: 'invalidRequest', message, param: 'model' }, known);
  }
  const fallbacks = fallbackAliases(parts, { key, alias, fields, allowed: found.models });
  if ('refusal' in fallbacks) return refuse(fallbacks.refusal, known);
  const requested = { id, route, key, alias, fallbacks, bytes, fields, attribution, caching };
  if (idempotencyKey === null) return await admitPaidCall(parts, requested, arrival, null);

  const asking = { keyId: key.id, idempotencyKey, method: request.method, path, bytes };
  const idempotent = await idempotentRequestOf(parts.secrets, asking);
  const state = await parts.idempotency.find(idempotent);
  if (state === 'free') return await admitPaidCall(parts, requested, arrival, idempotent);
  if (state === 'answered') return await admitReplay(parts, requested, idempotent);
  return refuse(refusalOfState(state), known);
}

/** With its key only where this process knows it already: a flood of other keys causes no look-ups. */
function refuseAddress(keys: KeyDirectory, { request, path }: Arrival, retryAfterMs: number): Refused {
  const key = keys.known(keyIn(request, wireOfPath(path, request.headers) === 'messages'));
  const route = key === null ? null : routeOf(request.method, path);
  return refuse({ name: 'addressLimited', retryAfterMs }, { route, key });
}

async function findKey(parts: AdmitParts, { request, path, onStep }: Arrival, route: Route) {
  const isMessages = wireOfPath(path, request.headers) === 'messages';
  const found = await parts.keys.find(keyIn(request, isMessages));
  onStep?.('key');
  if (found.outcome === 'unavailable') {
    return refuse(KEYS_UNAVAILABLE, { route });
  }
  if (found.outcome === 'unknown') {
    return refuse(
      { name: 'unauthenticated', ...(isMessages ? { message: NO_KEY_OF_EITHER } : {}) },
      { route },
    );
  }
  if (!found.scopes.has(route.scope)) {
    const message = `This key lacks the scope ${route.scope}. Create a key with it.`;
    return refuse({ name: 'scopeDenied', message }, { route, key: found.key });
  }
  return found;
}

export const KEYS_UNAVAILABLE = {
  name: 'unavailable',
  message: 'API keys cannot be verified right now. Retry shortly.',
} as const satisfies Refusal;

/** After a body that took longer the key is looked up again: it may have been revoked or changed meanwhile (G-23). */
const LATE_BODY_MS = 100;

const NO_KEY_OF_EITHER =
  'No valid API key was given. Send "x-api-key: <key>" or "Authorization: Bearer <key>" with a live key of your company.';

interface NewCall
  extends Pick<
    AdmittedPaidCall,
    'id' | 'route' | 'key' | 'alias' | 'fallbacks' | 'bytes' | 'fields' | 'attribution'
  > {
  /** Null if it does not use the cache. */
  readonly caching: RequestedCaching | null;
  /** The hook before calls has already decided. */
  readonly isHooked?: true;
}

async function admitPaidCall(
  parts: AdmitParts,
  requested: NewCall,
  arrival: Arrival,
  repeated: IdempotentRequest | null,
): Promise<Admission> {
  const { id, route, key } = requested;
  const { startedAtMs, onStep } = arrival;
  const known = { route, key, alias: requested.alias.alias, attribution: requested.attribution };
  const continued = isContinuation(requested) ? await continueResponse(parts.responses, requested) : null;
  if (continued?.outcome === 'refused') return refuse(continued.refusal, known);
  const plain = withoutDroppedFields(route, continued ?? requested);
  const planning = planPrices(parts, {
    ...{ requested, call: plain, isContinued: continued !== null, request: arrival.request },
  });
  const planned = planning instanceof Promise ? await planning : planning;
  if (planned.outcome === 'refused') return refuse(planned.refusal, known);
  const { alias, bytes, fields, hosted, tiers, fallbacks } = planned;
  const status = await parts.billingStatuses.find(key.companyId);
  onStep?.('standing');
  const blocked = status === null ? NOT_PAYABLE_NOW : blockedBy(parts.calls, status, key, startedAtMs);
  if (status === null || blocked !== null) return refuse(blocked ?? NOT_PAYABLE_NOW, known);

  const cache = requested.caching === null ? null : await findCached(parts, requested.caching, requested);
  const hit = cache?.hit ?? null;
  const size = sizeOf(route, bytes, fields);
  const estimatedTokens = hit === null ? estimateOf(size) : 0;
  const payer = payerOf(key, startedAtMs, status.budgets, requested.attribution?.endUser);
  const listsFallbacks = 'models' in fields && fields.models !== null;
  const held = { route, alias, size, hosted, fallbacks, tiers, listsFallbacks };
  const holds = hit === null ? holdsOf(parts, payer, held) : holdsForHit(parts, payer, alias, hit);
  const marks = marksOf(parts, requested, hit === null && fields.stream);
  const limited = await parts.limits.reserve(key, id, estimatedTokens, holds, marks);
  onStep?.('limits');
  if (limited.outcome !== 'admitted') return refuseByLimit(limited, payer, known, hosted !== null);
  const { allowances, reservation } = limited;
  if (parts.callHook != null && requested.isHooked !== true) {
    const decision = await throughHook(parts, parts.callHook, requested, arrival, reservation);
    if (decision.outcome === 'refused') return refuse(decision.refusal, known);
    if (decision.outcome === 'replaced') return await admitPaidCall(parts, decision.call, arrival, repeated);
  }
  const claim = repeated === null ? null : { ...repeated, callId: id };
  const call = {
    id,
    route,
    key,
    payer,
    alias,
    fallbacks,
    bytes,
    fields,
    estimatedTokens,
    allowances,
    reservation,
    claim,
    hosted,
    tiers,
    listsFallbacks,
    cache,
    ...{ droppedTools: planned.dropped, droppedFields: plain.dropped },
    unpriced: hit === null && planned.unpriced.length > 0 ? planned.unpriced : undefined,
    attribution: requested.attribution,
  };
  // The route determines which of the two types the fields have.
  const admitted = { outcome: route.kind, call } as Extract<Admission, { outcome: 'model-call' | 'parse' }>;
  return claim === null ? admitted : await claimed(parts, admitted, claim, known);
}

function marksOf({ abandoned }: AdmitParts, { route, key, isHooked }: NewCall, isStream: boolean) {
  return {
    isOnlyStream: isStream && abandoned.isLimited(key.companyId),
    isDocument: route.kind === 'parse',
    isCounted: isHooked === true,
  };
}

type BodyOfCall = Pick<NewCall, 'alias' | 'bytes' | 'fields'> & { readonly dropped?: readonly string[] };

function withoutDroppedFields(route: ModelRoute | ParseRoute, call: BodyOfCall): BodyOfCall {
  const { alias, bytes, fields } = call;
  if (alias.drop.length === 0 || route.kind === 'parse' || !('modelValue' in fields)) return call;
  const without = withoutDropped({ bytes, fields }, alias, route.wire);
  return without === null ? call : { alias, ...without };
}

async function claimed(
  parts: AdmitParts,
  admitted: Extract<Admission, { outcome: 'model-call' | 'parse' }>,
  claim: IdempotentClaim,
  known: Partial<Refused>,
): Promise<Admission> {
  const { id, route, key, allowances, reservation } = admitted.call;
  const state = await claimOrRelease(parts, claim, reservation);
  if (state === 'claimed') return admitted;
  if (state === 'answered') {
    return { outcome: 'replay', call: { id, route, key, idempotent: claim, allowances, reservation } };
  }
  return refuse(refusalOfState(state), { ...known, allowances });
}

/** The first alias of these kinds: svc/extract-default. */
function defaultAliasOf(models: ModelDirectory, kinds: readonly Alias['kind'][]): string {
  return models.all().find(({ kind }) => kinds.includes(kind))?.alias ?? '';
}

async function admitRead(parts: AdmitParts, id: string, asked: AskedRead): Promise<Admission> {
  const { route, key } = asked;
  const refusal = parts.refusalOfRead(asked);
  if (refusal !== null) return refuse(refusal, { route, key });
  const limited = await parts.limits.reserve(key, id, 0, []);
  if (limited.outcome !== 'admitted') return refuseByLimit(limited, payerOf(key, 0), { route, key });
  const { allowances, reservation } = limited;
  return { outcome: 'read', call: { id, route, key, allowances, reservation } };
}

/** It counts as a request, but invoices and balances do not block it: it was paid for. */
async function admitReplay(parts: AdmitParts, call: NewCall, same: IdempotentRequest): Promise<Admission> {
  const { id, route, key, alias } = call;
  const limited = await parts.limits.reserve(key, id, 0, []);
  if (limited.outcome !== 'admitted') {
    return refuseByLimit(limited, payerOf(key, 0), { route, key, alias: alias.alias });
  }
  const { allowances, reservation } = limited;
  return { outcome: 'replay', call: { id, route, key, idempotent: same, allowances, reservation } };
}

function refuse(given: Refusal, known: Partial<Refused> = {}): Refused {
  const refusal = given.name === 'modelNotAllowed' ? notAllowedOn(known.route, given) : given;
  return { outcome: 'refused', refusal, route: null, key: null, alias: null, allowances: null, ...known };
}

/** G-27: Claude Code reads a 403 as a failed login. */
function notAllowedOn(route: Route | null | undefined, refusal: Refusal): Refusal {
  return route?.kind === 'model-call' && route.wire === 'messages' ? { ...refusal, status: 404 } : refusal;
}

function refuseByLimit(
  limited: NotAdmitted,
  payer: Payer,
  known: Partial<Refused>,
  isHostedCall = false,
): Refused {
  const refusal = limitRefusal(limited, payer, isHostedCall);
  return refuse(refusal, 'allowances' in limited ? { ...known, allowances: limited.allowances } : known);
}

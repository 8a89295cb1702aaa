import type { CallTokens, FinishedCall } from '../domain/calls/finished-call.ts';
import type { AnswerToKeep } from '../domain/calls/idempotent-calls.ts';
import type { AdmittedPaidCall, AdmittedRead, AdmittedReplay, Refused } from './admit.ts';
import { REFUSALS, type Refusal, refusalStatus } from './refusals.ts';

/** What is known about a call besides how it ended. */
export interface CallClock {
  readonly requestId: string;
  readonly startedAtMs: number;
  readonly nowMs: number;
}

export interface CallEnding {
  readonly outcome: 'SUCCEEDED' | 'FAILED';
  readonly reason: string | null;
  readonly httpStatus: number;
  readonly targetId: string | null;
  readonly tokens: CallTokens | null;
  readonly firstByteMs: number | null;
  /** In the place of the estimate it was admitted with. */
  readonly estimatedTokens?: number;
  /** Only of a call with an idempotency key. */
  readonly answer?: AnswerToKeep;
}

export function recordOf(
  { id, key, route, alias, fields, estimatedTokens }: AdmittedPaidCall,
  { requestId, startedAtMs, nowMs }: CallClock,
  ending: CallEnding,
): FinishedCall {
  return {
    id,
    companyId: key.companyId,
    keyId: key.id,
    requestId,
    endpoint: route.endpoint,
    alias: alias.alias,
    streamed: fields.stream,
    estimatedTokens: ending.estimatedTokens ?? estimatedTokens,
    startedAtMs,
    durationMs: nowMs - startedAtMs,
    monthlyLimitMicro: key.monthlySpendingLimitMicro,
    // One by one: this runs for every call, and copying an object whole costs several times as much.
    outcome: ending.outcome,
    reason: ending.reason,
    httpStatus: ending.httpStatus,
    targetId: ending.targetId,
    tokens: ending.tokens,
    firstByteMs: ending.firstByteMs,
  };
}

/** Null where no key was known: such refusals are counted, not stored. */
export function recordOfRefusal(
  id: string,
  { key, route, alias, refusal }: Pick<Refused, 'key' | 'route' | 'alias' | 'refusal'>,
  clock: CallClock,
): FinishedCall | null {
  if (key === null || route === null) return null;
  const base = { id, companyId: key.companyId, keyId: key.id, endpoint: route.endpoint, alias };
  return {
    ...base,
    ...untouched(clock),
    outcome: 'REFUSED',
    reason: refusalReason(refusal),
    httpStatus: refusalStatus(refusal),
  };
}

export function recordOfRead(
  { id, key, route }: AdmittedRead,
  httpStatus: number,
  clock: CallClock,
): FinishedCall {
  const base = { id, companyId: key.companyId, keyId: key.id, endpoint: route.endpoint, alias: null };
  return { ...base, ...untouched(clock), outcome: 'SUCCEEDED', reason: null, httpStatus };
}

/** As a read: of no model, and in no total. */
export function recordOfReplay(
  { id, key, route }: AdmittedReplay,
  httpStatus: number,
  clock: CallClock,
): FinishedCall {
  const base = { id, companyId: key.companyId, keyId: key.id, endpoint: route.endpoint, alias: null };
  return { ...base, ...untouched(clock), outcome: 'SUCCEEDED', reason: 'replayed', httpStatus };
}

export function refusalReason({ name }: Refusal): string {
  return REFUSALS[name].code ?? name;
}

/** Of a call that reached no upstream. */
function untouched({ requestId, startedAtMs, nowMs }: CallClock) {
  return {
    requestId,
    startedAtMs,
    durationMs: nowMs - startedAtMs,
    firstByteMs: null,
    targetId: null,
    tokens: null,
    streamed: false,
    estimatedTokens: 0,
    monthlyLimitMicro: null,
  };
}

import type { Statements } from '../../ports/database.ts';
import type { IdempotentEnding } from './idempotent-ending.ts';

export type CallOutcome = 'SUCCEEDED' | 'FAILED' | 'REFUSED';

export interface CallTokens {
  readonly promptTokens: number;
  /** A part of the prompt's. */
  readonly cachedTokens: number;
  readonly completionTokens: number;
}

export interface FinishedCall {
  readonly id: string;
  readonly companyId: string;
  /** Null for calls that the platform makes for a company. */
  readonly keyId: string | null;
  readonly requestId: string;
  readonly endpoint: string;
  readonly alias: string | null;
  readonly targetId: string | null;
  readonly outcome: CallOutcome;
  readonly reason: string | null;
  readonly httpStatus: number;
  readonly streamed: boolean;
  /** Null where the upstream did not tell. */
  readonly tokens: CallTokens | null;
  readonly estimatedTokens: number;
  readonly startedAtMs: number;
  readonly firstByteMs: number | null;
  readonly durationMs: number;
  /** The key's monthly spending limit as it was known; null without one. */
  readonly monthlyLimitMicro: bigint | null;
  /** Only of a call with an idempotency key. */
  readonly idempotent?: IdempotentEnding;
}

/**
 * For refusals and reads, which are never charged and in no total. All in one statement; a call whose id is there
 * already is left as it is. The rows go as one JSON text: writing eighteen array literals took four times as long in
 * this process.
 */
export async function insertCalls(statements: Statements, calls: readonly FinishedCall[]): Promise<void> {
  await statements.query(
    `insert into calls (id, company_id, key_id, request_id, endpoint, alias, target_id, outcome, reason, http_status,
       streamed, prompt_tokens, cached_tokens, completion_tokens, estimated_tokens, started_at, first_byte_ms,
       duration_ms)
     select id, company, key, request, endpoint, alias, target, outcome, reason, status, streamed, prompt, cached,
       completion, estimated, to_timestamp(started / 1000::float8), first_byte, duration
     from json_to_recordset($1::text::json) as given (id uuid, company uuid, key uuid, request text, endpoint text,
       alias text, target text, outcome text, reason text, status integer, streamed boolean, prompt bigint,
       cached bigint, completion bigint, estimated bigint, started bigint, first_byte integer, duration integer)
     on conflict (id) do nothing`,
    [JSON.stringify(calls.map(rowOf))],
  );
}

/** As both statements read it; the names are those of charge_calls. */
export function rowOf(call: FinishedCall) {
  return {
    id: call.id,
    company: call.companyId,
    key: call.keyId,
    request: call.requestId,
    endpoint: call.endpoint,
    alias: call.alias,
    // What it is priced by: the alias without its prefix.
    model: call.alias?.slice(call.alias.lastIndexOf('/') + 1),
    target: call.targetId,
    outcome: call.outcome,
    reason: call.reason,
    status: call.httpStatus,
    streamed: call.streamed,
    prompt: call.tokens?.promptTokens,
    cached: call.tokens?.cachedTokens,
    completion: call.tokens?.completionTokens,
    estimated: call.estimatedTokens,
    started: call.startedAtMs,
    first_byte: call.firstByteMs,
    duration: call.durationMs,
    spending_limit: call.monthlyLimitMicro?.toString(),
  };
}

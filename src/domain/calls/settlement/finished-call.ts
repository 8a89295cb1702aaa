import type { Statements } from '../../../ports/database.ts';
import type { BudgetSpending, CallBudget } from '../../credits/budgets/call-budgets.ts';
import type { AccountLevel } from '../../credits/ledger/credit-account.ts';
import { storedNameOf } from '../../models/aliases.ts';
import type { CallAttribution } from '../call-attribution.ts';
import type { ToolUses } from './call-surcharge.ts';
import { budgetSpendingOf } from './charged-budgets.ts';

type CallOutcome = 'SUCCEEDED' | 'FAILED' | 'REFUSED';

export interface CallTokens {
  readonly promptTokens: number;
  /** A part of the prompt's. */
  readonly cachedTokens: number;
  /** Another part of the prompt's: what the provider has written to its cache. Left out where it reported none. */
  readonly cacheWriteTokens?: number | undefined;
  readonly completionTokens: number;
}

/** The most tokens that a call is charged for, whatever its provider reports; what is beyond is withheld. */
export interface TokenBounds {
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** A count of tokens as a provider reports it; null for what is none: negative, fractional, past 2^53, not a number. */
export function reportedTokens(value: unknown): number | null {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : null;
}

/** Of one call that asked a model several times. */
export function addedTokens(one: CallTokens, other: CallTokens): CallTokens {
  const sum = (a: number, b: number) => Math.min(a + b, Number.MAX_SAFE_INTEGER);
  return {
    promptTokens: sum(one.promptTokens, other.promptTokens),
    cachedTokens: sum(one.cachedTokens, other.cachedTokens),
    ...cacheWrites(sum(one.cacheWriteTokens ?? 0, other.cacheWriteTokens ?? 0)),
    completionTokens: sum(one.completionTokens, other.completionTokens),
  };
}

/** Of what serves few calls: left out where it is not used, which costs nothing. */
export interface ServedCall {
  /** How often a provider was called, where that was more than once. */
  readonly tries?: number | undefined;
  /** The alias that answered, where it is not the one that was requested: the price is its. */
  readonly servedBy?: string | undefined;
  /** What of price and surcharge is charged, from 0 to 1,000,000, rounded up once; all of it where left out. */
  readonly chargeShareMillionths?: number | undefined;
  /** What the provider charges for it, in micro-credits. */
  readonly costMicro?: number | undefined;
  /** The company's own key at the provider was used. */
  readonly ownKey?: boolean | undefined;
  readonly cacheHit?: boolean | undefined;
  /** It came by a tool of MCP, not by REST. */
  readonly overMcp?: boolean | undefined;
}

export interface FinishedCall extends ServedCall, CallAttribution {
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
  /** Absent where there are no tokens, and in journals of earlier versions: then the database's own bound applies. */
  readonly tokenBounds?: TokenBounds | null | undefined;
  /** What its hosted tools cost besides its tokens, in micro-credits; charged only with tokens. */
  readonly surchargeMicro?: number | undefined;
  /** How often it used each hosted tool. */
  readonly toolUses?: ToolUses | undefined;
  readonly estimatedTokens: number;
  readonly startedAtMs: number;
  readonly firstByteMs: number | null;
  readonly durationMs: number;
  /** The key's monthly spending limit as it was known; null without one. */
  readonly monthlyLimitMicro: bigint | null;
  /** The budgets that it was admitted under. */
  readonly budgets?: readonly CallBudget[] | undefined;
  /** The user whose balance pays; absent where the company's does. */
  readonly payerId?: string | undefined;
  /** How many refusals it is the record of, where that is more than one. */
  readonly count?: number | undefined;
  /** Only of a call with an idempotency key. */
  readonly idempotent?: IdempotentEnding;
  /** Only of a call that made a response of the Responses API that can be read or continued. */
  readonly response?: ResponseRecord | undefined;
}

/** As many of the reported tokens as the call is charged for; null where none were reported. */
export function chargedTokens({
  tokens,
  tokenBounds,
}: Pick<FinishedCall, 'tokens' | 'tokenBounds'>): CallTokens | null {
  if (tokens === null || tokenBounds == null) return tokens;
  const promptTokens = Math.min(tokens.promptTokens, tokenBounds.promptTokens);
  const completionTokens = Math.min(tokens.completionTokens, tokenBounds.completionTokens);
  if (promptTokens === tokens.promptTokens && completionTokens === tokens.completionTokens) return tokens;
  const cachedTokens = Math.min(tokens.cachedTokens, promptTokens);
  const written = Math.min(tokens.cacheWriteTokens ?? 0, promptTokens - cachedTokens);
  return { promptTokens, cachedTokens, ...cacheWrites(written), completionTokens };
}

function cacheWrites(cacheWriteTokens: number): Pick<CallTokens, 'cacheWriteTokens'> {
  return cacheWriteTokens === 0 ? {} : { cacheWriteTokens };
}

/** The largest that the column of a duration takes: 24 days. */
const LONGEST_MS = 2 ** 31 - 1;

/** Between two readings of a clock that may have been set meanwhile: neither below zero nor beyond its column. */
export function elapsedMs(fromMs: number, toMs: number): number {
  return Math.min(Math.max(0, toMs - fromMs), LONGEST_MS);
}

/**
 * For refusals and reads, which are never charged and in no total. All in one statement; a call whose id is there
 * already is left as it is, unless it is the record of more refusals by now. The rows go as one JSON text: writing eighteen array literals took four times as long in
 * this process.
 */
export async function insertCalls(statements: Statements, calls: readonly FinishedCall[]): Promise<void> {
  await statements.query(
    `insert into calls (id, company_id, key_id, request_id, endpoint, alias, target_id, outcome, reason, http_status,
       streamed, prompt_tokens, cached_tokens, completion_tokens, estimated_tokens, started_at, first_byte_ms,
       duration_ms, end_user, tags, project, over_mcp, count)
     select distinct on (id) id, company, key, request, endpoint, alias, target, outcome, reason, status, streamed,
       prompt, cached, completion, estimated, to_timestamp(started / 1000::float8), first_byte, duration, end_user, tags,
       project, mcp, count
     from json_to_recordset($1::text::json) as given (id uuid, company uuid, key uuid, request text, endpoint text,
       alias text, target text, outcome text, reason text, status integer, streamed boolean, prompt bigint,
       cached bigint, completion bigint, estimated bigint, started bigint, first_byte integer, duration integer,
       end_user text, tags text[], project text, mcp boolean, count integer)
     order by id, count desc nulls last
     on conflict (id) do update set count = excluded.count, duration_ms = excluded.duration_ms
       where calls.outcome = 'REFUSED' and excluded.count > coalesce(calls.count, 1)`,
    [JSON.stringify(calls.map(callRowOf))],
  );
}

/** As all statements read it; the names are those of charge_calls. */
export function callRowOf(call: FinishedCall) {
  return {
    id: call.id,
    company: call.companyId,
    key: call.keyId,
    request: call.requestId,
    endpoint: call.endpoint,
    alias: call.alias,
    model: pricedAlias(call),
    target: call.targetId,
    outcome: call.outcome,
    reason: call.reason,
    status: call.httpStatus,
    streamed: call.streamed,
    prompt: call.tokens?.promptTokens,
    cached: call.tokens?.cachedTokens,
    cache_write: call.tokens?.cacheWriteTokens,
    completion: call.tokens?.completionTokens,
    estimated: call.estimatedTokens,
    started: call.startedAtMs,
    first_byte: call.firstByteMs,
    duration: call.durationMs,
    spending_limit: call.monthlyLimitMicro?.toString(),
    idempotency: call.idempotent?.idempotencyKey,
    prompt_bound: call.tokenBounds?.promptTokens,
    completion_bound: call.tokenBounds?.completionTokens,
    payer: call.payerId,
    surcharge: call.surchargeMicro,
    tool_uses: call.toolUses,
    end_user: call.endUser,
    tags: call.tags,
    project: call.project,
    tries: call.tries,
    share: call.chargeShareMillionths,
    cost: call.costMicro,
    own_key: call.ownKey,
    cache_hit: call.cacheHit,
    served_by: call.servedBy,
    mcp: call.overMcp,
    count: call.count,
    budgets: call.budgets,
  };
}

/** What it is priced by: the alias that answered, without its prefix. */
function pricedAlias({ alias, servedBy }: FinishedCall): string | undefined {
  const name = servedBy ?? alias;
  return name == null ? undefined : storedNameOf(name);
}

/** What the commit of a call with an idempotency key does besides: the answer is kept, or where it failed the key freed. */
interface IdempotentEnding {
  readonly idempotencyKey: string;
  /** Of what was asked, in hex. */
  readonly sha256: string;
  readonly contentType: string;
  /** Encrypted, in base64. Null where the call failed, or where the answer is too large to be kept. */
  readonly sealedAnswer: string | null;
  /** How long the key's own row is stored; absent in journals of earlier versions. */
  readonly storedForMs?: number | undefined;
}

/** As charge_calls_and_keep_answers reads them. */
function answerRows(calls: readonly FinishedCall[]) {
  const rows = [];
  for (const { id, keyId, outcome, httpStatus, startedAtMs, idempotent } of calls) {
    if (idempotent === undefined || keyId === null) continue;
    rows.push({
      call: id,
      key: keyId,
      idempotency: idempotent.idempotencyKey,
      sha256: idempotent.sha256,
      succeeded: outcome === 'SUCCEEDED',
      status: httpStatus,
      type: idempotent.contentType,
      sealed: idempotent.sealedAnswer,
      started: startedAtMs,
      stored_for: idempotent.storedForMs,
    });
  }
  return rows;
}

/** A response of the Responses API, which is recorded with its call. Every text in it is bounded. */
export interface ResponseRecord {
  readonly id: string;
  readonly itemIds: readonly string[];
  /** The call under which a later read charges it; null where it is charged. */
  readonly chargeCallId: string | null;
  readonly targetId: string;
  /** Encrypted, in base64. Null where its provider stores it. */
  readonly sealedContent: string | null;
  readonly contentBytes: number;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  /** What its company may have stored here. */
  readonly maxCompanyBytes: number;
}

/** As charge_call and charge_calls_and_record_responses read them; the first has company, key and alias from the call. */
function responseRowOf({ companyId, keyId, alias }: FinishedCall, response: ResponseRecord) {
  return {
    company: companyId,
    key: keyId,
    alias,
    id: response.id,
    target: response.targetId,
    items: response.itemIds,
    charge_call: response.chargeCallId,
    sealed: response.sealedContent,
    bytes: response.contentBytes,
    created: response.createdAtMs,
    expires: response.expiresAtMs,
    max_bytes: response.maxCompanyBytes,
  };
}

/** More in one statement would keep those who share the account waiting. */
const MOST_ANSWER_CHARACTERS = 8 * 1024 * 1024;

/** How many of these calls, from the first on, go into one statement: at least one, at most `most`. */
export function countThatFits<T>(
  waiting: readonly T[],
  most: number,
  callOf: (one: T) => FinishedCall,
): number {
  let characters = 0;
  let count = 0;
  for (const one of waiting) {
    const { idempotent, response } = callOf(one);
    characters += (idempotent?.sealedAnswer?.length ?? 0) + (response?.sealedContent?.length ?? 0);
    if (count === most || (count > 0 && characters > MOST_ANSWER_CHARACTERS)) break;
    count += 1;
  }
  return count;
}

/** What a key with a monthly spending limit has spent. */
export interface KeySpending {
  readonly keyId: string;
  /** Its first day, UTC: 'YYYY-MM-01'. */
  readonly month: string;
  readonly spentMicro: bigint;
  /** That of the account that pays: of two spendings the one with the higher is newer. */
  readonly version: bigint;
}

/** Only what these calls have changed. */
export interface ChargedCalls {
  readonly levels: readonly AccountLevel[];
  readonly spending: readonly KeySpending[];
  readonly budgets: readonly BudgetSpending[];
}

type ChargedRow = (AccountLevel & { readonly keyId: null }) | (KeySpending & { readonly accountId: string });

/**
 * Records calls and charges those that are to be charged, in one statement, so all of it or nothing, each call once
 * however often it is sent. What it does stands in the database's function charge_calls, whose plan a connection
 * makes once; where calls have idempotency keys, charge_calls_and_keep_answers, and where they made responses,
 * charge_calls_and_record_responses. What cannot be charged (no account, no price, a balance beyond 64 bits) refuses the
 * whole group.
 */
export async function chargeCalls(
  statements: Statements,
  calls: readonly FinishedCall[],
): Promise<ChargedCalls> {
  const [first] = calls;
  if (first === undefined) return { levels: [], spending: [], budgets: [] };
  const rows = await (calls.length === 1 && isPlain(first)
    ? statements.query<ChargedRow>(CHARGE_ONE, [JSON.stringify(loneRowOf(first)), accountsOf(calls)])
    : chargeGroup(statements, calls));
  const levels: AccountLevel[] = [];
  const spending: KeySpending[] = [];
  const budgets: BudgetSpending[] = [];
  for (const row of rows) {
    if (row.keyId === null) {
      const { accountId, balanceMicro, lineMicro, version } = row;
      levels.push({ accountId, balanceMicro, lineMicro, version });
    } else {
      const { keyId, month, spentMicro, version } = row;
      const ofBudget = budgetSpendingOf(row);
      if (ofBudget !== null) budgets.push(ofBudget);
      else spending.push({ keyId, month, spentMicro, version });
    }
  }
  return { levels, spending, budgets };
}

/** Whether charge_call does all that its commit does. */
function isPlain({ idempotent, endUser, tags, project, budgets }: FinishedCall): boolean {
  return (
    idempotent === undefined &&
    endUser === undefined &&
    tags === undefined &&
    project === undefined &&
    budgets === undefined
  );
}

function loneRowOf(call: FinishedCall) {
  const { response, keyId } = call;
  if (response === undefined || keyId === null) return callRowOf(call);
  return { ...callRowOf(call), response: responseRowOf(call, response) };
}

function chargeGroup(statements: Statements, calls: readonly FinishedCall[]): Promise<readonly ChargedRow[]> {
  const given = [JSON.stringify(calls.map(callRowOf)), accountsOf(calls)];
  const answers = jsonOf(answerRows(calls));
  const responses = jsonOf(responseRows(calls));
  if (responses !== null) return statements.query(CHARGE_AND_RECORD, [...given, answers, responses]);
  return answers === null
    ? statements.query(CHARGE, given)
    : statements.query(CHARGE_AND_KEEP, [...given, answers]);
}

function responseRows(calls: readonly FinishedCall[]) {
  const rows = [];
  for (const call of calls) {
    if (call.response === undefined || call.keyId === null) continue;
    rows.push(responseRowOf(call, call.response));
  }
  return rows;
}

/** Null without a row. */
function jsonOf(rows: readonly unknown[]): string | null {
  return rows.length === 0 ? null : JSON.stringify(rows);
}

function accountsOf(calls: readonly FinishedCall[]): readonly string[] {
  const accounts = new Set<string>();
  for (const { companyId, payerId } of calls) {
    accounts.add(companyId);
    if (payerId !== undefined) accounts.add(payerId);
  }
  return [...accounts];
}

const CHARGED = `select account_id as "accountId", balance_micro as "balanceMicro", line_micro as "lineMicro", version,
  key_id as "keyId", month, spent_micro as "spentMicro"`;
/** As text: the driver would make a JSON string of it. */
const CHARGE_ONE = `${CHARGED} from charge_call($1::text::json, $2::uuid[])`;
const CHARGE = `${CHARGED} from charge_calls($1::text, $2::uuid[])`;
const CHARGE_AND_RECORD = `${CHARGED}
  from charge_calls_and_record_responses($1::text, $2::uuid[], $3::text, $4::text)`;
const CHARGE_AND_KEEP = `${CHARGED} from charge_calls_and_keep_answers($1::text, $2::uuid[], $3::text)`;

import type { SqlValue, Statements } from '../../../ports/database.ts';
import { leastIdAt } from '../../../ports/secrets.ts';
import { findKey } from '../../keys/key-lifecycle.ts';
import { storedNameOf } from '../../models/aliases.ts';

/** A call as the log shows it. */
export interface LoggedCall {
  readonly id: string;
  readonly requestId: string;
  readonly companyId: string;
  /** Null for calls that the platform makes for a company. */
  readonly keyId: string | null;
  readonly startedAt: Date;
  readonly endpoint: string;
  readonly overMcp: boolean;
  /** As the client sent it. */
  readonly model: string | null;
  /** The alias that answered, if it is a different one. */
  readonly servedBy: string | null;
  /** The alias whose price applies, of a call that another alias than the requested one served and that was charged. */
  readonly pricedAs: string | null;
  readonly outcome: 'SUCCEEDED' | 'FAILED' | 'REFUSED';
  readonly httpStatus: number;
  /** Why it failed or was refused, as a code. */
  readonly code: string | null;
  readonly streamed: boolean;
  readonly promptTokens: bigint | null;
  readonly cachedTokens: bigint | null;
  readonly cacheWriteTokens: bigint | null;
  readonly completionTokens: bigint | null;
  readonly chargeMicro: bigint;
  readonly surchargeMicro: bigint;
  readonly firstByteMs: number | null;
  readonly durationMs: number;
  readonly endUser: string | null;
  readonly tags: readonly string[];
  readonly project: string | null;
  readonly cacheHit: boolean;
  readonly ownKey: boolean;
  /** The number of refusals that this record represents. */
  readonly count: number;
  readonly targetId: string | null;
  readonly tries: number;
  readonly costMicro: bigint | null;
  /** The version of the price that it was charged at; null if it was not charged. */
  readonly priceId: string | null;
  /** The provider's tier that served it, if its tokens have a different price there. */
  readonly tier: string | null;
  /** In millionths of the price; null at the regular price. */
  readonly priceFactorMillionths: number | null;
  /** Null if it is that of the prompt. */
  readonly completionFactorMillionths: number | null;
  /** Cache writes that stay for an hour, if they were charged as such. */
  readonly hourWriteTokens: bigint | null;
  /** The fields and tools for which the provider reported a cost that no price covers. */
  readonly unpriced: readonly string[];
}

/** A field that is null or omitted does not filter. */
export interface CallLogFilter {
  readonly id?: string | null | undefined;
  readonly companyId?: string | null | undefined;
  readonly keyId?: string | null | undefined;
  /** Inclusive. */
  readonly from?: Date | null | undefined;
  /** Exclusive. */
  readonly to?: Date | null | undefined;
  readonly model?: string | null | undefined;
  readonly status?: number | null | undefined;
  readonly code?: string | null | undefined;
  readonly endUser?: string | null | undefined;
  readonly tag?: string | null | undefined;
  readonly requestId?: string | null | undefined;
  readonly minDurationMs?: number | null | undefined;
  readonly minChargeMicro?: bigint | null | undefined;
}

export interface CallLogPage {
  readonly calls: readonly LoggedCall[];
  /** The cursor of the next page; null if there is none. */
  readonly next: string | null;
  /**
   * Set if a page has fewer calls than requested because no more may be read for one page: calls before this time may match
   * too, and `next` continues there.
   */
  readonly searchedUntil: Date | null;
}

/**
 * How many calls are read for one page, which takes about 30 ms. Otherwise a filter that matches few calls would make the
 * server read all of them.
 */
const MOST_SCANNED = 10_000;

/**
 * A page of the log, the newest first. Pages have no gaps and no repeats: each continues after the last call of the previous
 * one.
 */
export async function listCalls(
  statements: Statements,
  filter: CallLogFilter,
  page: { readonly limit: number; readonly after: string | null },
  mostScanned = MOST_SCANNED,
): Promise<CallLogPage> {
  if (!(await isOwnKey(statements, filter))) return { calls: [], next: null, searchedUntil: null };
  if (filter.id != null) {
    const calls = await findById(statements, filter, filter.id);
    return { calls, next: null, searchedUntil: null };
  }
  if (filter.requestId != null && page.after === null) {
    const found = await findByRequestId(statements, filter, filter.requestId);
    if (found.length > 0) return { calls: found.slice(0, page.limit), next: null, searchedUntil: null };
  }
  const after = page.after === null ? null : positionOf(page.after);
  const { values, place, order } = placeOf(filter, after);
  const matches = matching(filter, values);
  const most = `$${values.push(mostScanned)}::bigint`;
  // Every level repeats the order, so that the server stops at the last row of the page. The last call that may be read is
  // always returned, because the next page starts after it. A separate statement for it could get a plan that sorts all
  // calls.
  const rows = await statements.query<ScannedCall>(
    `select * from (
       select *, row_number() over (order by ${orderOfRows(order)}) = ${most} as "isLast" from (
         select ${COLUMNS}, ${matches} as matches from calls where ${place} order by ${order} limit ${most}) as scanned) as numbered
     where matches or "isLast" order by ${orderOfRows(order)} limit $${values.push(page.limit + 1)}`,
    values,
  );
  const found = rows.filter((row) => row.matches);
  const shown = found.slice(0, page.limit);
  const calls = shown.map(callOf);
  const last = found.length > page.limit ? shown.at(-1) : rows.find(({ isLast }) => isLast);
  if (last === undefined) return { calls, next: null, searchedUntil: null };
  return { calls, next: cursorOf(last), searchedUntil: shown.length === page.limit ? null : last.startedAt };
}

/** Calls of a key are read by the key alone, so `searchedUntil` could reveal something about another company's key. */
async function isOwnKey(statements: Statements, { companyId, keyId }: CallLogFilter): Promise<boolean> {
  return companyId == null || keyId == null || (await findKey(statements, companyId, keyId)) !== null;
}

/** Where a page starts, in the order of the log. */
interface Position {
  readonly startedMicros: bigint;
  readonly id: string;
}

const CURSOR = /^(\d{1,17})_([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/;

/** A cursor contains only a position. The filter decides whose calls are listed. */
export function isCallCursor(text: string): boolean {
  return CURSOR.test(text);
}

function cursorOf({ startedMicros, id }: Position): string {
  return `${startedMicros}_${id}`;
}

function positionOf(cursor: string): Position {
  const [, micros, id] = CURSOR.exec(cursor) ?? [];
  if (micros === undefined || id === undefined) throw new Error('not a cursor of calls');
  return { startedMicros: BigInt(micros), id };
}

/**
 * The time in an id differs slightly from the recorded start of the call, by minutes if the body arrived slowly. If the order
 * is by time, ids are only used to exclude partitions.
 */
const ID_ROOM_MS = 5 * 60_000;
const PARTITION_ROOM_MS = 24 * 60 * 60_000;
const BY_TIME = 'started_at desc, id desc';
const BY_ID = 'id desc';

interface Place {
  readonly values: SqlValue[];
  /** The condition that an index serves. */
  readonly place: string;
  readonly order: string;
}

/**
 * The index that the calls are read by: the one with the fewest. Conditions of a second index would not limit how many are
 * read. An end user has fewer calls than a key, and most calls of a key succeed.
 */
function indexOf(filter: CallLogFilter): 'end-user' | 'key' | 'failed' | 'all' {
  if (filter.companyId != null && filter.endUser != null) return 'end-user';
  if (filter.keyId != null) return 'key';
  return neverSucceeds(filter) ? 'failed' : 'all';
}

/**
 * Which calls are read: those of one index, in its order. Without a company or a key this is the primary key, whose ids
 * increase with time.
 */
function placeOf(filter: CallLogFilter, after: Position | null): Place {
  const { companyId, keyId, from, to, endUser } = filter;
  const index = indexOf(filter);
  const values: SqlValue[] = [];
  const value = (one: SqlValue) => `$${values.push(one)}`;
  const where: string[] = [];
  const isOfOne = companyId != null || keyId != null;
  const roomMs = isOfOne ? PARTITION_ROOM_MS : ID_ROOM_MS;
  if (companyId != null && index !== 'key') where.push(`company_id = ${value(companyId)}::uuid`);
  if (keyId != null && index === 'key') where.push(`key_id = ${value(keyId)}::uuid`);
  if (endUser != null && index === 'end-user') where.push(`end_user = ${value(endUser)}`);
  // These few have partial indexes, whose condition the statement must contain.
  if (index === 'failed') where.push(`outcome <> 'SUCCEEDED'`);
  if (from != null) {
    where.push(`started_at >= ${value(from)}::timestamptz`);
    where.push(`id >= ${value(leastIdAt(from.getTime() - roomMs))}::uuid`);
  }
  if (to != null) {
    where.push(`started_at < ${value(to)}::timestamptz`);
    where.push(`id < ${value(leastIdAt(to.getTime() + roomMs))}::uuid`);
  }
  if (after !== null && isOfOne) {
    const micros = value(after.startedMicros);
    where.push(`(started_at, id) < (${momentOf(micros)}, ${value(after.id)}::uuid)`);
    where.push(`id < ${value(leastIdAt(Number(after.startedMicros / 1_000n) + roomMs))}::uuid`);
  } else if (after !== null) where.push(`id < ${value(after.id)}::uuid`);
  return {
    values,
    place: where.length === 0 ? 'true' : where.join(' and '),
    order: isOfOne ? BY_TIME : BY_ID,
  };
}

/** The reason of a repeat that got the stored answer, which is a success. */
const REPLAYED = 'replayed';

function neverSucceeds({ code, status }: CallLogFilter): boolean {
  return (code != null && code !== REPLAYED) || (status != null && status >= 400);
}

function momentOf(micros: string): string {
  return `('epoch'::timestamptz + ${micros}::bigint * interval '1 microsecond')`;
}

function orderOfRows(order: string): string {
  return order === BY_TIME ? '"startedAt" desc, id desc' : BY_ID;
}

/** The complete filter, because the index serves only a part of it. Its values are appended to `values`. */
export function matching(filter: CallLogFilter, values: SqlValue[]): string {
  const value = (one: SqlValue) => `$${values.push(one)}`;
  const conditions = [
    ...(filter.companyId == null ? [] : [`company_id = ${value(filter.companyId)}::uuid`]),
    ...(filter.keyId == null ? [] : [`key_id = ${value(filter.keyId)}::uuid`]),
    ...(filter.model == null ? [] : [`alias = ${value(filter.model)}`]),
    ...(filter.status == null ? [] : [`http_status = ${value(filter.status)}::integer`]),
    ...(filter.code == null ? [] : [`reason = ${value(filter.code)}`]),
    ...(filter.endUser == null ? [] : [`end_user = ${value(filter.endUser)}`]),
    ...(filter.tag == null ? [] : [`${value(filter.tag)} = any (tags)`]),
    ...(filter.requestId == null ? [] : [`request_id = ${value(filter.requestId)}`]),
    ...(filter.minDurationMs == null ? [] : [`duration_ms >= ${value(filter.minDurationMs)}::integer`]),
    ...(filter.minChargeMicro == null ? [] : [`charge_micro >= ${value(filter.minChargeMicro)}::bigint`]),
  ];
  return conditions.length === 0 ? 'true' : `(${conditions.join(' and ')})`;
}

/** By the primary key. The rest of the filter applies too. */
async function findById(
  statements: Statements,
  filter: CallLogFilter,
  id: string,
): Promise<readonly LoggedCall[]> {
  const { values, place } = placeOf(filter, null);
  const matches = matching(filter, values);
  const rows = await statements.query<StoredCall>(
    `select ${COLUMNS} from calls where id = $${values.push(id)}::uuid and ${place} and ${matches}`,
    values,
  );
  return rows.map(callOf);
}

const OWN_REQUEST_ID = /^req_([0-9a-f]{12})[0-9a-f]{12}$/;
/** The start of a call is recorded shortly after its request id is created; a call over MCP may start later. */
const BEFORE_REQUEST_MS = 1_000;
const AFTER_REQUEST_MS = 10 * 60_000;
/** One MCP request may have several calls. */
const MOST_OF_REQUEST = 100;

/**
 * Finds calls by the time at the start of our own ids, or by the index of ids that clients sent. Empty if nothing is found:
 * then the newest calls are searched as for any other filter.
 */
async function findByRequestId(
  statements: Statements,
  filter: CallLogFilter,
  requestId: string,
): Promise<readonly LoggedCall[]> {
  const [, hex] = OWN_REQUEST_ID.exec(requestId) ?? [];
  const madeMs = hex === undefined ? null : Number.parseInt(hex, 16);
  const around =
    madeMs === null ? {} : { from: spanStart(filter.from, madeMs), to: spanEnd(filter.to, madeMs) };
  const { values, place, order } = placeOf({ ...filter, ...around }, null);
  const source =
    madeMs === null
      ? `select ${COLUMNS}, ${matching(filter, values)} as matches from calls
         where request_id not like 'req\\_%' and request_id = $${values.push(requestId)} and ${place}`
      : `select ${COLUMNS}, ${matching(filter, values)} as matches from calls where ${place}
         order by ${order.replaceAll('desc', 'asc')} limit ${MOST_SCANNED}`;
  const rows = await statements.query<StoredCall>(
    `select * from (${source}) as scanned where matches limit ${MOST_OF_REQUEST}`,
    values,
  );
  return rows.map(callOf).sort((one, other) => other.startedAt.getTime() - one.startedAt.getTime());
}

function spanStart(from: Date | null | undefined, madeMs: number): Date {
  return new Date(Math.max(from?.getTime() ?? 0, madeMs - BEFORE_REQUEST_MS));
}

function spanEnd(to: Date | null | undefined, madeMs: number): Date {
  return new Date(Math.min(to?.getTime() ?? Number.MAX_SAFE_INTEGER, madeMs + AFTER_REQUEST_MS));
}

const COLUMNS = `id, request_id as "requestId", company_id as "companyId", key_id as "keyId", started_at as "startedAt",
  (extract(epoch from started_at) * 1000000)::bigint as "startedMicros", endpoint, coalesce(over_mcp, false) as "overMcp",
  alias as model, served_by as "servedBy",
  case when served_by is not null then (select price.alias from model_prices as price where price.id = price_id) end as "pricedAs",
  outcome, http_status as "httpStatus", reason as code, streamed,
  prompt_tokens as "promptTokens", cached_tokens as "cachedTokens", cache_write_tokens as "cacheWriteTokens",
  completion_tokens as "completionTokens", charge_micro as "chargeMicro", coalesce(surcharge_micro, 0) as "surchargeMicro",
  first_byte_ms as "firstByteMs", duration_ms as "durationMs", end_user as "endUser", coalesce(tags, '{}') as tags, project,
  coalesce(cache_hit, false) as "cacheHit", coalesce(own_key, false) as "ownKey", coalesce(count, 1) as count,
  target_id as "targetId", coalesce(tries, 1) as tries, cost_micro as "costMicro", price_id as "priceId",
  tier, price_factor_millionths as "priceFactorMillionths", completion_factor_millionths as "completionFactorMillionths",
  hour_write_tokens as "hourWriteTokens", coalesce(unpriced, '{}') as unpriced`;

type StoredCall = LoggedCall & { readonly startedMicros: bigint };
type ScannedCall = StoredCall & { readonly matches: boolean; readonly isLast: boolean };

function callOf({ startedMicros: _, ...row }: StoredCall): LoggedCall {
  const { matches: __, isLast: ___, ...call } = row as LoggedCall & Record<string, unknown>;
  return {
    ...call,
    tags: [...call.tags],
    pricedAs: pricedAs(call as LoggedCall),
    unpriced: [...call.unpriced],
  } as LoggedCall;
}

/** The name that clients write, for the stored one. */
function pricedAs({ model, servedBy, pricedAs: stored }: LoggedCall): string | null {
  if (stored === null) return null;
  return model !== null && storedNameOf(model) === stored ? model : servedBy;
}

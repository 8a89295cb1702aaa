import type { AnswerCache, CachedAnswer } from '../../domain/answer-cache/answer-cache.ts';
import { type CreditHolds, estimateCost, type Payer } from '../../domain/credits/holds/holds.ts';
import type { KeyInUse } from '../../domain/keys/key-lookup.ts';
import { type Alias, priceAt } from '../../domain/models/aliases.ts';
import type { ModelBodyFields } from '../json/request-body.ts';
import { usageChunkForm } from '../json/usage-chunk.ts';
import { isFree } from './call-size.ts';
import { forwardedFrom } from './client-headers.ts';
import type { ParseFields } from './read-parse-body.ts';
import type { Refusal } from './refusals.ts';
import type { Route } from './routes.ts';

/** On a request, how to use the cache; on its response, `hit` or `miss`. */
export const CACHE_HEADER = 'x-turnpike-cache';

/** How an admitted call uses the cache. */
export interface CacheUse {
  /** Null if its answer cannot be cached. */
  readonly digest: Uint8Array<ArrayBuffer> | null;
  readonly ttlMs: number;
  readonly hit: CachedAnswer | null;
}

export interface RequestedCaching {
  readonly outcome: 'requested';
  readonly ttlMs: number;
  readonly request: Request;
}

type ReadCaching = RequestedCaching | { readonly outcome: 'refused'; readonly refusal: Refusal };

const TTL = /^ttl=(\d{1,9})$/i;

/** The call's own setting, otherwise the key's. Null if it does not use the cache, as nearly every call. */
export function cachingOf(
  cache: AnswerCache | undefined,
  request: Request,
  key: Pick<KeyInUse, 'cacheTtlSeconds'>,
): ReadCaching | null {
  const header = request.headers.get(CACHE_HEADER);
  if (header === null && key.cacheTtlSeconds === null) return null;
  const given = header?.trim() ?? '';
  if (given.toLowerCase() === 'no-store') return null;
  const most = cache?.maxTtlSeconds ?? 0;
  const ofKey = Math.min(key.cacheTtlSeconds ?? 0, most);
  const seconds = given === '' ? ofKey : Number(TTL.exec(given)?.[1] ?? Number.NaN);
  if (!(seconds >= 0) || (most > 0 && seconds > most) || (given !== '' && seconds === 0)) {
    return { outcome: 'refused', refusal: unreadable(most) };
  }
  return { outcome: 'requested', ttlMs: Math.min(seconds, most) * 1_000, request };
}

function unreadable(mostSeconds: number): Refusal {
  const most = mostSeconds === 0 ? 'seconds' : `seconds from 1 to ${mostSeconds}`;
  const message = `${CACHE_HEADER} must be "ttl=600", with ${most}, or "no-store".`;
  return { name: 'invalidRequest', message, param: CACHE_HEADER };
}

interface FindParts {
  readonly cache?: AnswerCache;
  readonly streamUsageChunk?: 'always' | 'asked';
}

interface CacheableCall {
  readonly route: Route;
  readonly key: KeyInUse;
  readonly alias: Alias;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly fields: ModelBodyFields | ParseFields;
}

/** Null for parse calls, which are not cached. */
export async function findCached(
  { cache, streamUsageChunk }: FindParts,
  { ttlMs, request }: RequestedCaching,
  { route, key, alias, bytes, fields }: CacheableCall,
): Promise<CacheUse | null> {
  if (route.kind !== 'model-call' || 'input' in fields) return null;
  if (cache === undefined || ttlMs === 0 || !isCacheable(route, fields)) return NOT_CACHED;
  const { endpoint, wire } = route;
  // The same bytes get another response for keys with another setting, and under another beta.
  const usageChunk =
    fields.stream &&
    wire === 'completions' &&
    usageChunkForm(streamUsageChunk, { key, route, bytes, fields });
  const variant = JSON.stringify([usageChunk, forwardedFrom(request, wire)]);
  const { companyId } = key;
  const digest = await cache.digestOf(companyId, { endpoint, alias: alias.alias, variant, bytes });
  return { digest, ttlMs, hit: await cache.find(companyId, digest, ttlMs) };
}

const NOT_CACHED: CacheUse = { digest: null, ttlMs: 0, hit: null };

/**
 * Excludes token counts, which are free; responses that are stored or continue an earlier one, because they must exist; and
 * hosted tools, whose results change.
 */
function isCacheable(
  route: Extract<Route, { kind: 'model-call' }>,
  { earlier, store, hosted }: ModelBodyFields,
): boolean {
  if (isFree(route) || earlier !== null || hosted !== null) return false;
  return route.wire !== 'responses' || store === false;
}

/**
 * The share of the price that a hit costs, in millionths. With a company's own provider key, it is a share of the fee.
 */
function hitShare(cache: AnswerCache | undefined, { ownKey }: Pick<Alias, 'ownKey'>): number {
  const share = cache?.priceShareMillionths ?? 0;
  return ownKey === undefined ? share : Math.ceil((share * ownKey.chargeShareMillionths) / 1_000_000);
}

/** The cost of a hit, which is known in advance: nothing is held if it is free. */
export function holdsForHit(
  { cache, holds }: { readonly cache?: AnswerCache; readonly holds: Pick<CreditHolds, 'of'> },
  payer: Payer,
  alias: Alias,
  { tokens }: CachedAnswer,
): ReturnType<CreditHolds['of']> {
  const share = hitShare(cache, alias);
  if (share === 0) return [];
  const price = estimateCost(priceAt(alias, payer.startedAtMs), tokens);
  return holds.of(payer, Math.ceil((price * share) / 1_000_000));
}

export function nameCacheUse(headers: Record<string, string>, use: CacheUse | null = null): void {
  if (use !== null) headers[CACHE_HEADER] = use.hit === null ? 'miss' : 'hit';
}

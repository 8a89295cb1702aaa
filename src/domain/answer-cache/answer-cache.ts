import type { Clock } from '../../ports/clock.ts';
import type { Database, Statements } from '../../ports/database.ts';
import type { QueueDefinition, QueueWork } from '../../ports/job-queue.ts';
import type { Log } from '../../ports/log.ts';
import type { AnswerCipher } from '../calls/idempotency/answer-cipher.ts';
import type { CallTokens } from '../calls/settlement/finished-call.ts';
import { isDatabaseFault } from '../calls/settlement/refused-rows.ts';
import { CHUNK_ROWS, changeInChunks } from '../retention/change-in-chunks.ts';
import { retentionQueue } from '../retention/retention-queue.ts';

/** What must be equal, besides the company, for an answer to be reused. */
interface CacheableRequest {
  readonly endpoint: string;
  readonly alias: string;
  /** Everything else that changes the answer: headers that reach the provider, the format of the stream. */
  readonly variant: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

export interface CachedAnswer {
  readonly contentType: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The tokens of the call that produced it. */
  readonly tokens: CallTokens;
}

export interface AnswerToCache extends CachedAnswer {
  readonly companyId: string;
  readonly keyId: string;
  readonly requestId: string;
  readonly endUser: string | null;
  readonly digest: Uint8Array<ArrayBuffer>;
  readonly ttlMs: number;
  /** When its call started: an answer stored after that is from a concurrent call, and stays. */
  readonly startedAtMs: number;
}

interface CacheCounts {
  readonly hits: number;
  readonly misses: number;
  readonly stored: number;
  /** Answers that could not be read or stored: the calls continued without the cache. */
  readonly failed: number;
}

/**
 * The exact cache: the same request of the same company gets the answer of an earlier call. It fails open: if it cannot be
 * read or written, calls go to their providers.
 */
export interface AnswerCache {
  /** The longest that an answer may be stored, in seconds; 0 turns the cache off. */
  readonly maxTtlSeconds: number;
  readonly maxAnswerBytes: number;
  /** The share of the price that a hit costs, in millionths. */
  readonly priceShareMillionths: number;
  digestOf(companyId: string, request: CacheableRequest): Promise<Uint8Array<ArrayBuffer>>;
  /** Null if there is none younger than `ttlMs`. */
  find(companyId: string, digest: Uint8Array<ArrayBuffer>, ttlMs: number): Promise<CachedAnswer | null>;
  /** Resolves when the answer can be found. It never rejects; an answer that is too large is not stored. */
  store(answer: AnswerToCache): Promise<void>;
  counts(): CacheCounts;
}

export interface AnswerCacheParts {
  readonly database: Database;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Log;
  readonly cipher: AnswerCipher;
  /** The first one keys the digests: after it changes, answers stored before are no longer found. */
  readonly masterKeys: readonly [string, ...string[]];
  readonly maxTtlSeconds: number;
  readonly maxAnswerBytes: number;
  /** How many bytes a company may store. The oldest answers are removed to make room for new ones. */
  readonly maxCompanyBytes: number;
  readonly maxCompanyAnswers: number;
  readonly priceShareMillionths: number;
}

export function createAnswerCache(parts: AnswerCacheParts): AnswerCache {
  const { database, clock, log, cipher, maxTtlSeconds, maxAnswerBytes, priceShareMillionths } = parts;
  const counts = { hits: 0, misses: 0, stored: 0, failed: 0 };
  let keying: Promise<CryptoKey> | null = null;
  let isFailing = false;

  function noteFailure(error: unknown): void {
    counts.failed += 1;
    if (!isFailing) log.warn('the answer cache is not available; calls go to their providers', { error });
    isFailing = true;
  }

  async function read(companyId: string, digest: Uint8Array<ArrayBuffer>, ttlMs: number) {
    const now = clock.now();
    const values = [companyId, digest, new Date(now), new Date(now - ttlMs)];
    const [row] = await database.query<CachedRow>(FIND, values);
    isFailing = false;
    if (row === undefined) return null;
    const bytes = await cipher.open(row.sealedAnswer, boundTo(companyId, digest));
    if (bytes === null) {
      log.warn('a cached answer cannot be decrypted with MASTER_KEY: was it changed?', { companyId });
      return null;
    }
    return { contentType: row.contentType, bytes, tokens: tokensOf(row) };
  }

  async function write(answer: AnswerToCache): Promise<void> {
    const { companyId, digest, tokens, bytes, ttlMs } = answer;
    const sealed = await cipher.seal(bytes, boundTo(companyId, digest));
    const now = clock.now();
    await database.query(STORE, [
      ...[companyId, digest, answer.keyId, answer.requestId, answer.endUser, answer.contentType, sealed],
      ...[sealed.length, tokens.promptTokens, tokens.cachedTokens, tokens.cacheWriteTokens ?? null],
      ...[tokens.completionTokens, new Date(now), new Date(now + ttlMs), new Date(answer.startedAtMs)],
      ...[parts.maxCompanyAnswers, parts.maxCompanyBytes],
    ]);
    counts.stored += 1;
  }

  return {
    maxTtlSeconds,
    maxAnswerBytes,
    priceShareMillionths,
    async digestOf(companyId, { endpoint, alias, variant, bytes }) {
      keying ??= digestKey(parts.masterKeys[0]);
      const ofBody = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)).toHex();
      const text = JSON.stringify([companyId, endpoint, alias, variant, ofBody]);
      return new Uint8Array(await crypto.subtle.sign('HMAC', await keying, utf8(text)));
    },
    async find(companyId, digest, ttlMs) {
      try {
        const found = await read(companyId, digest, ttlMs);
        counts[found === null ? 'misses' : 'hits'] += 1;
        return found;
      } catch (error) {
        if (!isDatabaseFault(error)) throw error;
        noteFailure(error);
        return null;
      }
    },
    async store(answer) {
      if (answer.bytes.length > maxAnswerBytes || answer.bytes.length > parts.maxCompanyBytes) return;
      try {
        await write(answer);
      } catch (error) {
        noteFailure(error);
      }
    },
    counts: () => ({ ...counts }),
  };
}

interface CachedRow {
  readonly contentType: string;
  readonly sealedAnswer: Uint8Array;
  readonly promptTokens: bigint;
  readonly cachedTokens: bigint;
  readonly cacheWriteTokens: bigint | null;
  readonly completionTokens: bigint;
}

function tokensOf({ promptTokens, cachedTokens, cacheWriteTokens, completionTokens }: CachedRow): CallTokens {
  return {
    promptTokens: Number(promptTokens),
    cachedTokens: Number(cachedTokens),
    ...(cacheWriteTokens === null ? {} : { cacheWriteTokens: Number(cacheWriteTokens) }),
    completionTokens: Number(completionTokens),
  };
}

const FIND = `select content_type as "contentType", sealed_answer as "sealedAnswer", prompt_tokens as "promptTokens",
    cached_tokens as "cachedTokens", cache_write_tokens as "cacheWriteTokens", completion_tokens as "completionTokens"
  from cached_answers where company_id = $1 and digest = $2 and expires_at > $3 and created_at > $4`;

/**
 * One answer per digest. An answer that existed when the call started was expired or too old for it, and is replaced; of
 * concurrent calls, the first answer stays. The rest of the statement makes room: the company's newest answers stay.
 */
const STORE = `with stored as (
    insert into cached_answers as present (company_id, digest, key_id, request_id, end_user, content_type, sealed_answer,
      bytes, prompt_tokens, cached_tokens, cache_write_tokens, completion_tokens, created_at, expires_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
    on conflict (company_id, digest) do update set key_id = excluded.key_id, request_id = excluded.request_id,
      end_user = excluded.end_user, content_type = excluded.content_type, sealed_answer = excluded.sealed_answer,
      bytes = excluded.bytes, prompt_tokens = excluded.prompt_tokens, cached_tokens = excluded.cached_tokens,
      cache_write_tokens = excluded.cache_write_tokens, completion_tokens = excluded.completion_tokens,
      created_at = excluded.created_at, expires_at = excluded.expires_at
    where present.created_at < $15 or present.expires_at <= $13),
  newest as (
    select digest, row_number() over (order by created_at desc, digest) as place,
      sum(bytes) over (order by created_at desc, digest) as up_to
    from cached_answers where company_id = $1 and digest <> $2)
  delete from cached_answers where company_id = $1 and digest = any (array(
    select present.digest from cached_answers as present join newest on newest.digest = present.digest
    where present.company_id = $1 and (newest.place >= $16::bigint or newest.up_to + $8::bigint > $17::bigint)
    for update of present skip locked))`;

/** Binds an answer to its company, so that write access to the database is not enough to give it to another company. */
function boundTo(companyId: string, digest: Uint8Array<ArrayBuffer>): string {
  return `cache ${companyId} ${digest.toHex()}`;
}

const DIGEST_PURPOSE = 'turnpike: digests of cached requests, version 1';

/** Derived from MASTER_KEY, so that a digest does not reveal whether a guessed prompt was sent. */
async function digestKey(masterKey: string): Promise<CryptoKey> {
  const material = await crypto.subtle.importKey('raw', utf8(masterKey), 'HKDF', false, ['deriveKey']);
  const derivation = { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(32), info: utf8(DIGEST_PURPOSE) };
  const hmac = { name: 'HMAC', hash: 'SHA-256', length: 256 };
  return await crypto.subtle.deriveKey(derivation, material, hmac, false, ['sign']);
}

function utf8(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

/** Removes all cached answers of a company. Returns their number. */
export async function clearCachedAnswers(statements: Statements, companyId: string): Promise<number> {
  return await removed(statements, 'company_id = $1', [companyId]);
}

/** Removes what was cached for the calls of these keys, after they were revoked. */
export async function dropAnswersOfKeys(
  statements: Statements,
  companyId: string,
  keyIds: readonly string[],
): Promise<number> {
  if (keyIds.length === 0) return 0;
  return await removed(statements, 'company_id = $1 and key_id = any ($2::uuid[])', [companyId, keyIds]);
}

/** Removes what was cached for a request or an end user, when their prompts and answers are erased. */
export async function dropAnswersOf(
  statements: Statements,
  companyId: string,
  { requestId, endUser }: { readonly requestId: string | null; readonly endUser: string | null },
): Promise<number> {
  const which =
    'company_id = $1 and ($2::text is null or request_id = $2) and ($3::text is null or end_user = $3)';
  return await removed(statements, which, [companyId, requestId, endUser]);
}

async function removed(
  statements: Statements,
  which: string,
  values: readonly (string | null | readonly string[])[],
): Promise<number> {
  const [row] = await statements.query<{ count: bigint }>(
    `with removed as (delete from cached_answers where ${which} returning 1) select count(*) from removed`,
    values,
  );
  return Number(row?.count ?? 0);
}

/** The rest is left for the next run. */
const MOST_CHUNKS = 50;

const PURGE = `delete from cached_answers
  where ctid = any (array(
    select ctid from cached_answers where expires_at <= $1
    order by expires_at limit ${CHUNK_ROWS} for update skip locked))`;

/** Removes expired answers. Several processes may do this concurrently. */
export async function purgeCachedAnswers({
  database,
  clock,
}: Pick<AnswerCacheParts, 'database' | 'clock'>): Promise<number> {
  const values = [new Date(clock.now())];
  return (await changeInChunks(database, { sql: PURGE, values, maxChunks: MOST_CHUNKS })).rows;
}

const CACHED_ANSWERS_QUEUE = retentionQueue('cached-answers-retention');

export const ANSWER_CACHE_QUEUES: readonly QueueDefinition[] = [CACHED_ANSWERS_QUEUE];

export function answerCacheWork(parts: Parameters<typeof purgeCachedAnswers>[0]): readonly QueueWork[] {
  const handler = async () => void (await purgeCachedAnswers(parts));
  return [{ queue: CACHED_ANSWERS_QUEUE, concurrency: 1, cron: '*/10 * * * *', handler }];
}

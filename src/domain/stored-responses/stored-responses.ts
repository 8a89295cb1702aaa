import type { Clock } from '../../ports/clock.ts';
import type { Database } from '../../ports/database.ts';
import type { QueueDefinition, QueueWork } from '../../ports/job-queue.ts';
import type { Log } from '../../ports/log.ts';
import type { AnswerCipher } from '../calls/idempotency/answer-cipher.ts';
import {
  boundedChunk,
  type ResealedRows,
  resealRows,
  type SealedRow,
} from '../calls/idempotency/reseal-rows.ts';
import type { ResponseRecord } from '../calls/settlement/finished-call.ts';
import { isDatabaseFault } from '../calls/settlement/refused-rows.ts';
import { CHUNK_ROWS, changeInChunks } from '../retention/change-in-chunks.ts';
import { retentionQueue } from '../retention/retention-queue.ts';
import { parseContent, type ResponseContent, writeContent } from './response-content.ts';

/** A response that has just been created. */
export interface NewResponse {
  readonly id: string;
  readonly companyId: string;
  readonly targetId: string;
  readonly itemIds: readonly string[];
  /** The call as which a later read charges it; null if it is already charged. */
  readonly chargeCallId: string | null;
  /** Null if the provider stores it. */
  readonly content: ResponseContent | null;
}

export interface StoredResponse {
  readonly id: string;
  readonly keyId: string;
  readonly alias: string;
  readonly targetId: string;
  readonly itemIds: readonly string[];
  readonly chargeCallId: string | null;
  readonly content: ResponseContent | null;
}

/** The ids that a request refers to. */
interface EarlierIds {
  readonly responseId: string | null;
  readonly itemIds: readonly string[];
}

type FoundResponses =
  | {
      readonly outcome: 'searched';
      /** The response `responseId`; null if the request named none, or it is missing. */
      readonly previous: StoredResponse | null;
      /** The responses that contain the items, each once. */
      readonly holders: readonly StoredResponse[];
      /** Ids that the company does not have: unknown, expired, deleted, or of another company. */
      readonly missing: readonly string[];
    }
  | { readonly outcome: 'unavailable' };

export interface StoredResponses {
  /** Whether responses that no provider stores are stored here. */
  readonly isOn: boolean;
  /** The largest response that is stored here, including its input. */
  readonly maxBytes: number;
  /**
   * What is recorded of a response with the commit of its call; null if nothing is. Asynchronous only for content that is
   * stored here. Fails open: a response that cannot be recorded is just not found later.
   */
  recordOf(response: NewResponse): ResponseRecord | Promise<ResponseRecord | null> | null;
  find(companyId: string, ids: EarlierIds): Promise<FoundResponses>;
  remove(companyId: string, id: string): Promise<'removed' | 'not-found' | 'unavailable'>;
  /** Reports that a read has charged it. */
  charged(companyId: string, id: string): Promise<void>;
}

export interface StoredResponseParts {
  readonly database: Database;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Log;
  readonly cipher: AnswerCipher;
  readonly isOn: boolean;
  /** For those that a provider stores. */
  readonly keepMs: number;
  /** For those that are stored here. */
  readonly contentKeepMs: number;
  readonly maxBytes: number;
  /** How many bytes a company may store here. */
  readonly maxCompanyBytes: number;
}

/**
 * Ids contain only word characters and hyphens: no other ids were ever issued, and no other ids are put into a provider's
 * URL.
 */
const ID = /^[\w-]{1,200}$/;
const MOST_ITEM_IDS = 1_000;

function isResponseId(id: string): boolean {
  return ID.test(id);
}

export function createStoredResponses(parts: StoredResponseParts): StoredResponses {
  const { database, clock, log, cipher, isOn, maxBytes, maxCompanyBytes } = parts;

  function recordWith(response: NewResponse, sealed: Uint8Array<ArrayBuffer> | null): ResponseRecord {
    const { id, itemIds, chargeCallId, targetId } = response;
    const now = clock.now();
    return {
      id,
      itemIds: itemIds.filter(isResponseId).slice(0, MOST_ITEM_IDS),
      chargeCallId,
      targetId,
      sealedContent: sealed === null ? null : sealed.toBase64(),
      contentBytes: sealed?.length ?? 0,
      createdAtMs: now,
      expiresAtMs: now + (sealed === null ? parts.keepMs : parts.contentKeepMs),
      maxCompanyBytes,
    };
  }

  async function sealedRecord(
    response: NewResponse,
    content: ResponseContent,
  ): Promise<ResponseRecord | null> {
    const { id, companyId } = response;
    try {
      const bytes = writeContent(content);
      if (bytes.length > maxBytes) return null;
      return recordWith(response, await cipher.seal(bytes, boundTo(companyId, id)));
    } catch (error) {
      log.warn('a response could not be recorded and cannot be continued', { companyId, error });
      return null;
    }
  }

  async function opened(companyId: string, row: ResponseRow): Promise<StoredResponse | null> {
    const { sealedContent, ...rest } = row;
    if (sealedContent === null) return { ...rest, content: null };
    const bytes = await cipher.open(sealedContent, boundTo(companyId, row.id));
    const content = bytes === null ? null : parseContent(bytes);
    if (content !== null) return { ...rest, content };
    log.warn('a stored response cannot be decrypted with MASTER_KEY: was it changed?', { keyId: row.keyId });
    return null;
  }

  async function search(companyId: string, { responseId, itemIds }: EarlierIds): Promise<FoundResponses> {
    const ids = responseId === null ? [] : [responseId];
    const rows = await database.query<ResponseRow>(FIND, [
      ...[companyId, ids.filter(isResponseId), itemIds.filter(isResponseId), new Date(clock.now())],
      MOST_READ_BYTES,
    ]);
    const all = await Promise.all(rows.map((row) => opened(companyId, row)));
    const found = all.filter((one) => one !== null);
    const has = (item: string) => found.some((one) => one.itemIds.includes(item));
    const previous = found.find(({ id }) => id === responseId) ?? null;
    return {
      outcome: 'searched',
      previous,
      holders: found.filter((one) => itemIds.some((item) => one.itemIds.includes(item))),
      missing: [...(previous === null ? ids : []), ...itemIds.filter((item) => !has(item))],
    };
  }

  return {
    isOn,
    maxBytes,
    recordOf(response) {
      const { content } = response;
      if (!isResponseId(response.id)) return null;
      return content === null ? recordWith(response, null) : sealedRecord(response, content);
    },
    find: async (companyId, ids) =>
      (await orUnavailable(search(companyId, ids))) ?? { outcome: 'unavailable' },
    async remove(companyId, id) {
      if (!isResponseId(id)) return 'not-found';
      const removed = await orUnavailable(database.query<{ id: string }>(REMOVE, [companyId, id]));
      if (removed === null) return 'unavailable';
      return removed.length === 0 ? 'not-found' : 'removed';
    },
    async charged(companyId, id) {
      await database.query(CHARGED, [companyId, id]);
    },
  };
}

interface ResponseRow extends Omit<StoredResponse, 'content'> {
  readonly sealedContent: Uint8Array | null;
}

/** Each is read whole, for one of its items too. What is beyond it, the oldest ones, is not found. */
const MOST_READ_BYTES = 64 * 1024 * 1024;

const FIND = `select id, key_id as "keyId", alias, target_id as "targetId", item_ids as "itemIds",
    charge_call_id as "chargeCallId", sealed_content as "sealedContent"
  from stored_responses
  where id = any (array(
    select id from (
      select id, sum(content_bytes) over (order by id = any ($2::text[]) desc, created_at desc, id) as bytes
      from stored_responses
      where company_id = $1 and expires_at > $4 and deleted_at is null
        and (id = any ($2::text[]) or item_ids && $3::text[])) as found
    where bytes <= $5))`;

/** The row stays until it expires, so that a replayed journal does not restore the response. */
const REMOVE = `update stored_responses set deleted_at = now(), sealed_content = null, content_bytes = 0, item_ids = '{}'
  where company_id = $1 and id = $2 and deleted_at is null returning id`;

const CHARGED = 'update stored_responses set charge_call_id = null where company_id = $1 and id = $2';

/** Binds a response to its company, so that write access to the database is not enough to give it to another company. */
function boundTo(companyId: string, id: string): string {
  return `response ${companyId} ${id}`;
}

interface SealedResponse extends SealedRow {
  readonly id: string;
}

const SEALED = boundedChunk(
  `select id, 'response ' || company_id || ' ' || id as "boundTo", sealed_content as sealed
   from stored_responses where sealed_content is not null and ($1::text is null or id > $1)`,
  'id',
);

/** For a change of MASTER_KEY. */
export async function resealResponses({
  database,
  cipher,
}: Pick<StoredResponseParts, 'database' | 'cipher'>): Promise<ResealedRows> {
  return await resealRows<SealedResponse>(cipher, {
    read: (after) => database.query(SEALED, [after?.id ?? null]),
    write: (rows) =>
      database.query(
        `update stored_responses set sealed_content = decode(given.sealed, 'base64')
         from unnest($1::text[], $2::text[]) as given (id, sealed) where stored_responses.id = given.id`,
        [rows.map(({ row }) => row.id), rows.map(({ sealed }) => sealed)],
      ),
  });
}

/** Null if the database is unavailable. */
async function orUnavailable<T>(asking: Promise<T>): Promise<T | null> {
  try {
    return await asking;
  } catch (error) {
    if (isDatabaseFault(error)) return null;
    throw error;
  }
}

/** The rest is left for the next run. */
const MOST_CHUNKS = 50;

const PURGE = `delete from stored_responses
  where id = any (array(
    select id from stored_responses where expires_at <= $1
    order by expires_at limit ${CHUNK_ROWS} for update skip locked))`;

/** Removes expired responses. Several processes may do this concurrently. */
export async function purgeStoredResponses({
  database,
  clock,
}: Pick<StoredResponseParts, 'database' | 'clock'>): Promise<number> {
  const values = [new Date(clock.now())];
  return (await changeInChunks(database, { sql: PURGE, values, maxChunks: MOST_CHUNKS })).rows;
}

const STORED_RESPONSES_QUEUE = retentionQueue('stored-responses-retention');

export const STORED_RESPONSE_QUEUES: readonly QueueDefinition[] = [STORED_RESPONSES_QUEUE];

export function storedResponseWork(parts: Parameters<typeof purgeStoredResponses>[0]): readonly QueueWork[] {
  const handler = async () => void (await purgeStoredResponses(parts));
  return [{ queue: STORED_RESPONSES_QUEUE, concurrency: 1, cron: '*/20 * * * *', handler }];
}

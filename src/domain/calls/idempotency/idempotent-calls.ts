import type { Clock } from '../../../ports/clock.ts';
import type { Database, Statements } from '../../../ports/database.ts';
import type { Log } from '../../../ports/log.ts';
import type { FinishedCall } from '../settlement/finished-call.ts';
import { isDatabaseFault } from '../settlement/refused-rows.ts';
import type { Settled } from '../settlement/settle-call.ts';
import type { AnswerCipher } from './answer-cipher.ts';
import {
  claimIdempotencyKey,
  createIdempotentLeases,
  findIdempotencyState,
  freeIdempotencyKey,
  type IdempotencyState,
  type IdempotentClaim,
  type IdempotentRequest,
} from './key-claims.ts';
import { boundedChunk, type ResealedRows, resealRows, type SealedRow } from './reseal-rows.ts';

export interface AnswerToKeep {
  readonly contentType: string;
  /** Null if it was too large to collect. */
  readonly bytes: Uint8Array | null;
}

interface StoredAnswer {
  readonly httpStatus: number;
  readonly contentType: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The request id of the call that produced it. */
  readonly requestId: string;
}

/**
 * Calls that may be repeated without a second effect. The states of an idempotency key:
 *   free -> claimed        in the database, before the upstream is called; renewed while the call runs
 *   claimed -> answered    by the commit that charges the call, together with the answer
 *   claimed -> free        by the commit of a call that failed; after the lease, if its process has died
 *   answered -> free       by age
 * The database accepts only the first answer of a key: a call that has lost its claim costs nothing.
 */
export interface IdempotentCalls {
  /** 'unavailable' if the database is unavailable. */
  find(request: IdempotentRequest): Promise<IdempotencyState | 'unavailable'>;
  /** 'claimed', or the state of the key instead. The claimant calls `ended` once, on every path. */
  claim(claim: IdempotentClaim): Promise<'claimed' | Exclude<IdempotencyState, 'free'> | 'unavailable'>;
  /** Collects an answer that is sent in pieces. */
  gather(claim: IdempotentClaim): AnswerGathering;
  /** The record to settle, with what its commit stores for the key. */
  withAnswer(claim: IdempotentClaim, call: FinishedCall, answer: AnswerToKeep | null): Promise<FinishedCall>;
  ended(claim: IdempotentClaim, settled: Settled): void;
  /** Null if it no longer exists, or cannot be opened. */
  read(request: IdempotentRequest): Promise<StoredAnswer | 'unavailable' | null>;
  runningCount(): number;
  close(): void;
}

export interface IdempotentCallParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly cipher: AnswerCipher;
  /** A larger answer is not stored. */
  readonly maxAnswerBytes: number;
  /** The minimum time that a key is stored. */
  readonly keepMs: number;
}

export function createIdempotentCalls(parts: IdempotentCallParts): IdempotentCalls {
  const { database, log, cipher, maxAnswerBytes, keepMs: storedForMs } = parts;
  const leases = createIdempotentLeases(parts);
  const gatherings = createAnswerGatherings(maxAnswerBytes);

  async function sealed(claim: IdempotentClaim, answer: AnswerToKeep | null): Promise<string | null> {
    const bytes = answer?.bytes ?? null;
    if (bytes === null || bytes.length > maxAnswerBytes) return null;
    try {
      return (await cipher.seal(bytes, boundTo(claim, claim.callId))).toBase64();
    } catch (error) {
      // The call has happened and is charged. Its client gets the answer; only a repeat does not.
      log.error('an answer could not be encrypted and is not stored', { callId: claim.callId, error });
      return null;
    }
  }

  return {
    find: (request) => orUnavailable(findIdempotencyState(database, request)),
    async claim(claim) {
      const claimed = await orUnavailable(claimIdempotencyKey(database, claim));
      if (claimed === 'unavailable') return 'unavailable';
      if (!claimed) {
        const state = await orUnavailable(findIdempotencyState(database, claim));
        // Freed in the meantime: the call that had it has just ended.
        return state === 'free' ? 'running' : state;
      }
      leases.keep(claim);
      return 'claimed';
    },
    gather: ({ callId }) => gatherings.begin(callId),
    async withAnswer(claim, call, answer) {
      const { idempotencyKey, sha256 } = claim;
      const ending = { idempotencyKey, sha256: sha256.toHex(), contentType: answer?.contentType ?? '' };
      const sealedAnswer = call.outcome === 'SUCCEEDED' ? await sealed(claim, answer) : null;
      return { ...call, idempotent: { ...ending, sealedAnswer, storedForMs } };
    },
    ended(claim, settled) {
      gatherings.end(claim.callId);
      // A journaled or deferred call keeps its key until it is in the database.
      if (settled.outcome === 'journaled' || settled.outcome === 'deferred') {
        const drop = () => leases.drop(claim);
        settled.committed.then(drop, drop);
        return;
      }
      leases.drop(claim);
      // If this fails too, the lease expires.
      if (settled.outcome === 'not-written') freeIdempotencyKey(database, claim).catch(() => {});
    },
    async read(request) {
      const { keyId, idempotencyKey, sha256 } = request;
      const rows = await orUnavailable(
        database.query<AnswerRow>(READ_ANSWER, [keyId, idempotencyKey, sha256]),
      );
      if (rows === 'unavailable') return 'unavailable';
      const [row] = rows;
      if (row === undefined) return null;
      const { callId, sealedAnswer, ...rest } = row;
      const bytes = await cipher.open(sealedAnswer, boundTo(request, callId));
      if (bytes !== null) return { ...rest, bytes };
      log.warn('a stored answer cannot be decrypted with MASTER_KEY: was it changed?', { callId });
      return null;
    },
    runningCount: leases.count,
    close: leases.close,
  };
}

interface AnswerRow extends Omit<StoredAnswer, 'bytes'> {
  readonly callId: string;
  readonly sealedAnswer: Uint8Array;
}

const READ_ANSWER = `select call_id as "callId", kept.http_status as "httpStatus", content_type as "contentType",
    sealed_answer as "sealedAnswer", request_id as "requestId"
  from idempotency_keys as kept join calls on calls.id = call_id
  where kept.key_id = $1 and idempotency_key = $2 and sha256 = $3 and sealed_answer is not null`;

/** Binds an answer to its key, so that write access to the database is not enough to give one client's answer to another. */
function boundTo({ keyId, idempotencyKey }: IdempotentRequest, callId: string): string {
  return `${callId} ${keyId} ${idempotencyKey}`;
}

interface SealedAnswerRow extends SealedRow {
  readonly keyId: string;
  readonly idempotencyKey: string;
  readonly callId: string;
}

const SEALED = boundedChunk(
  `select key_id, idempotency_key, call_id || ' ' || key_id || ' ' || idempotency_key as "boundTo", sealed_answer as sealed,
     key_id as "keyId", idempotency_key as "idempotencyKey", call_id as "callId"
   from idempotency_keys
   where sealed_answer is not null and ($1::uuid is null or (key_id, idempotency_key) > ($1, $2))`,
  'key_id, idempotency_key',
);

/** For a change of MASTER_KEY. */
export async function resealAnswers(statements: Statements, cipher: AnswerCipher): Promise<ResealedRows> {
  return await resealRows<SealedAnswerRow>(cipher, {
    read: (after) => statements.query(SEALED, [after?.keyId ?? null, after?.idempotencyKey ?? null]),
    write: (rows) =>
      statements.query(
        `update idempotency_keys as stored set sealed_answer = decode(given.sealed, 'base64')
         from unnest($1::uuid[], $2::text[], $3::uuid[], $4::text[]) as given (key_id, idempotency_key, call_id, sealed)
         where stored.key_id = given.key_id and stored.idempotency_key = given.idempotency_key
           and stored.call_id = given.call_id`,
        [
          rows.map(({ row }) => row.keyId),
          rows.map(({ row }) => row.idempotencyKey),
          rows.map(({ row }) => row.callId),
          rows.map(({ sealed }) => sealed),
        ],
      ),
  });
}

async function orUnavailable<T>(query: Promise<T>): Promise<T | 'unavailable'> {
  try {
    return await query;
  } catch (error) {
    if (isDatabaseFault(error)) return 'unavailable';
    throw error;
  }
}

/** An answer that is collected while it is sent in pieces. */
interface AnswerGathering {
  push(piece: Uint8Array): void;
  /** If the answer is too large, its start with `storesStart`, otherwise null. */
  bytes(): Uint8Array<ArrayBuffer> | null;
  isTooLarge(): boolean;
}

interface AnswerGatherings {
  /** With `storesStart`, the start of an answer that is too large is kept. */
  begin(callId: string, storesStart?: boolean): AnswerGathering;
  /** Frees the share of the memory limit that the call used. */
  end(callId: string): void;
}

/** The limit for all running calls of a process together; answers beyond it are not stored. */
const MOST_GATHERED_BYTES = 256 * 1024 * 1024;

export function createAnswerGatherings(
  maxAnswerBytes: number,
  mostBytes = MOST_GATHERED_BYTES,
): AnswerGatherings {
  const sizes = new Map<string, number>();
  let total = 0;

  function resize(callId: string, size: number): void {
    total += size - (sizes.get(callId) ?? 0);
    sizes.set(callId, size);
  }

  return {
    begin(callId, storesStart = false) {
      let pieces: Uint8Array[] | null = [];
      let size = 0;
      let isFull = false;
      resize(callId, 0);
      return {
        push(piece) {
          // Pieces after `end` are ignored.
          if (isFull || pieces === null || !sizes.has(callId)) return;
          if (size + piece.length > maxAnswerBytes || total + piece.length > mostBytes) {
            isFull = true;
            if (storesStart) return;
            pieces = null;
            resize(callId, 0);
            return;
          }
          // A copy, because the reader may reuse the memory of a piece.
          pieces.push(piece.slice());
          size += piece.length;
          resize(callId, size);
        },
        bytes: () => (pieces === null ? null : joined(pieces, size)),
        isTooLarge: () => isFull,
      };
    },
    end(callId) {
      total -= sizes.get(callId) ?? 0;
      sizes.delete(callId);
    },
  };
}

function joined(pieces: readonly Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

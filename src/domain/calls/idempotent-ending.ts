import type { FinishedCall } from './finished-call.ts';

/** What the commit of a call with an idempotency key does besides: the answer is kept, or where it failed the key freed. */
export interface IdempotentEnding {
  readonly idempotencyKey: string;
  /** Of what was asked, in hex. */
  readonly sha256: string;
  readonly contentType: string;
  /** Encrypted, in base64. Null where the call failed, or where the answer is too large to be kept. */
  readonly sealedAnswer: string | null;
}

/** As charge_calls_and_keep_answers reads them. */
export function answerRows(calls: readonly FinishedCall[]) {
  const rows = [];
  for (const { id, keyId, outcome, httpStatus, idempotent } of calls) {
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
    });
  }
  return rows;
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
    characters += callOf(one).idempotent?.sealedAnswer?.length ?? 0;
    if (count === most || (count > 0 && characters > MOST_ANSWER_CHARACTERS)) break;
    count += 1;
  }
  return count;
}

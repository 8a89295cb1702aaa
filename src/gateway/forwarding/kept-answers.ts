import type { AnswerCache } from '../../domain/answer-cache/answer-cache.ts';
import {
  type AnswerGathering,
  createAnswerGatherings,
} from '../../domain/calls/idempotency/idempotent-calls.ts';
import type { CallTokens, FinishedCall } from '../../domain/calls/settlement/finished-call.ts';
import type { AdmittedModelCall, AdmittedPaidCall } from '../admission/admit.ts';

/** The answer of a call as it left, for what is stored of it after its end. */
export interface AnswerCopy extends Pick<AnswerGathering, 'push' | 'bytes'> {
  readonly contentType: string;
}

/** What of an ending matters here. */
interface KeptEnding {
  readonly copy?: AnswerCopy | undefined;
  /** The answer came to its end, and all of it was passed on. */
  readonly isWhole?: boolean | undefined;
  readonly tokens: CallTokens | null;
}

/**
 * What is stored of answers besides those of idempotent calls. A call that opted in to nothing meets one look at its own
 * fields, and nothing is made for it.
 */
export interface KeptAnswers {
  /** For an answer that leaves piece by piece; null for nearly every call. */
  gather(call: AdmittedModelCall, contentType: string): AnswerCopy | null;
  /** For an answer in one piece. */
  whole(call: AdmittedModelCall, contentType: string, bytes: Uint8Array<ArrayBuffer>): AnswerCopy | null;
  /** After the commit of the call. Null where nothing is to be waited for. */
  ended(call: AdmittedPaidCall, record: FinishedCall, ending: KeptEnding): Promise<void> | null;
}

export interface KeptAnswerParts {
  readonly cache: AnswerCache;
}

export function createKeptAnswers({ cache }: KeptAnswerParts): KeptAnswers {
  const gatherings = createAnswerGatherings(cache.maxAnswerBytes);

  /** The call waits for it, so that the same request finds the answer as soon as this one has its last byte. */
  function toCache(
    { cache: use = null, key }: AdmittedPaidCall,
    { requestId, endUser, outcome, httpStatus, servedBy, startedAtMs }: FinishedCall,
    { copy, isWhole = false, tokens }: KeptEnding,
  ): Promise<void> | null {
    if (use === null || use.digest === null || use.hit !== null || copy === undefined) return null;
    const isUsable = isWhole && outcome === 'SUCCEEDED' && httpStatus === 200 && servedBy === undefined;
    const bytes = isUsable ? copy.bytes() : null;
    if (bytes === null || tokens === null) return null;
    return cache.store({
      ...{
        companyId: key.companyId,
        keyId: key.id,
        requestId,
        endUser: endUser ?? null,
        startedAtMs,
        tokens,
        bytes,
      },
      ...{ digest: use.digest, ttlMs: use.ttlMs, contentType: copy.contentType },
    });
  }

  return {
    gather(call, contentType) {
      if (!isToBeCached(call)) return null;
      const gathering = gatherings.begin(call.id);
      return { contentType, push: gathering.push, bytes: gathering.bytes };
    },
    whole: (call, contentType, bytes) =>
      isToBeCached(call) ? { contentType, push: () => {}, bytes: () => bytes } : null,
    ended(call, record, ending) {
      if (call.cache == null) return null;
      const storing = toCache(call, record, ending);
      gatherings.end(call.id);
      return storing;
    },
  };
}

function isToBeCached({ cache = null }: AdmittedModelCall): boolean {
  return cache !== null && cache.digest !== null && cache.hit === null;
}

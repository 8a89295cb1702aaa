import type { AnswerCache } from '../../domain/answer-cache/answer-cache.ts';
import type { PayloadContent } from '../../domain/call-payloads/call-payloads.ts';
import type { PayloadLog } from '../../domain/call-payloads/payload-log.ts';
import { createAnswerGatherings } from '../../domain/calls/idempotency/idempotent-calls.ts';
import type { CallTokens, FinishedCall } from '../../domain/calls/settlement/finished-call.ts';
import type { AdmittedModelCall, AdmittedPaidCall } from '../admission/admit.ts';
import type { ClientWire } from '../json/client-wire.ts';
import { foldedAnswer } from '../streaming/folded-answer.ts';
import { EVENT_STREAM_TYPE } from '../streaming/server-sent-events.ts';

/** A copy of the answer as it was sent, for what is stored of it after the call. */
export interface AnswerCopy {
  readonly contentType: string;
  push(piece: Uint8Array): void;
  /** All of it; null if it is too large for the cache, or not to be cached. */
  cached(): Uint8Array<ArrayBuffer> | null;
  /** As much of it as is stored; null if it is not to be stored. */
  logged(): LoggedAnswer | null;
}

interface LoggedAnswer {
  readonly bytes: Uint8Array;
  /** The answer is longer than these bytes. */
  readonly isCut: boolean;
}

/** What of an ending matters here. */
interface AnswerEnding {
  readonly copy?: AnswerCopy | undefined;
  /** The answer is complete, and all of it was passed on. */
  readonly isWhole?: boolean | undefined;
  readonly tokens: CallTokens | null;
}

/**
 * What is stored of answers besides those of idempotent calls: in the cache, and with their prompts if the key has
 * opted in. For a call that opted in to nothing only its own fields are checked.
 */
export interface AnswerRecorder {
  /** For a streamed answer; null for nearly every call. */
  gather(call: AdmittedModelCall, contentType: string): AnswerCopy | null;
  /** For an answer that is not streamed. */
  whole(call: AdmittedModelCall, contentType: string, bytes: Uint8Array<ArrayBuffer>): AnswerCopy | null;
  /** Whether the trace of the call waits for its prompt and answer. */
  isTraced(call: AdmittedPaidCall): boolean;
  /** After the commit of the call. Null if there is nothing to wait for. */
  ended(
    call: AdmittedPaidCall,
    record: FinishedCall,
    ending: AnswerEnding,
    trace?: ContentTrace | null,
  ): Promise<void> | null;
}

/** A trace that waits for the prompt and answer, redacted and cut; null if they are lost. */
interface ContentTrace {
  addContent(content: PayloadContent | null): void;
}

interface AnswerRecorderParts {
  readonly cache: AnswerCache;
  readonly payloads: PayloadLog;
  /** TRACE_PAYLOADS: traces contain what is stored for keys that opted in. */
  readonly tracesPayloads: boolean;
}

export function createAnswerRecorder({
  cache,
  payloads,
  tracesPayloads,
}: AnswerRecorderParts): AnswerRecorder {
  const toBeCached = createAnswerGatherings(cache.maxAnswerBytes);
  const toBeLogged = createAnswerGatherings(payloads.maxTakenBytes);
  const isLogged = ({ key }: AdmittedPaidCall) => key.logPayloads && payloads.isOn;
  const isLoggedModelCall = (call: AdmittedPaidCall): call is AdmittedModelCall =>
    isLogged(call) && !('input' in call.fields);

  /** The call waits for it, so that the same request finds the answer as soon as this one has ended. */
  function toCache(
    { cache: use = null, key }: AdmittedPaidCall,
    { requestId, endUser, outcome, httpStatus, servedBy, startedAtMs }: FinishedCall,
    { copy, isWhole = false, tokens }: AnswerEnding,
  ): Promise<void> | null {
    if (use === null || use.digest === null || use.hit !== null || copy === undefined) return null;
    const isUsable = isWhole && outcome === 'SUCCEEDED' && httpStatus === 200 && servedBy === undefined;
    const bytes = isUsable ? copy.cached() : null;
    if (bytes === null || tokens === null) return null;
    return cache.store({
      ...{ companyId: key.companyId, keyId: key.id, requestId, endUser: endUser ?? null, startedAtMs },
      ...{ digest: use.digest, ttlMs: use.ttlMs, contentType: copy.contentType, bytes, tokens },
    });
  }

  /** Nothing waits for it. */
  function toLog(
    call: AdmittedModelCall,
    { requestId, endUser }: FinishedCall,
    copy: AnswerCopy | undefined,
    trace: ContentTrace | null,
  ): void {
    const { id: callId, key, route, bytes } = call;
    const { maxTakenBytes: most } = payloads;
    const answer = copy?.logged() ?? null;
    payloads.note({
      ...{ callId, companyId: key.companyId, keyId: key.id, requestId, endUser: endUser ?? null },
      endpoint: route.endpoint,
      // A large body is not kept in memory for its beginning.
      request: bytes.length > most ? bytes.slice(0, most) : bytes,
      response: answer && { ...answer, textOf: (taken) => answerText(taken, copy?.contentType, route.wire) },
      ...(trace === null || !tracesPayloads ? {} : { traced: trace.addContent }),
    });
  }

  return {
    gather(call, contentType) {
      const cached = isToBeCached(call) ? toBeCached.begin(call.id) : null;
      const logged = isLogged(call) ? toBeLogged.begin(call.id, true) : null;
      if (cached === null && logged === null) return null;
      return {
        contentType,
        push(piece) {
          cached?.push(piece);
          logged?.push(piece);
        },
        cached: () => cached?.bytes() ?? null,
        logged: () => logged && { bytes: logged.bytes() ?? new Uint8Array(), isCut: logged.isTooLarge() },
      };
    },
    whole(call, contentType, bytes) {
      const [cached, logged] = [isToBeCached(call), isLogged(call)];
      if (!cached && !logged) return null;
      const { maxTakenBytes: most } = payloads;
      const isCut = bytes.length > most;
      return {
        contentType,
        push: () => {},
        cached: () => (cached ? bytes : null),
        logged: () => (logged ? { bytes: isCut ? bytes.slice(0, most) : bytes, isCut } : null),
      };
    },
    isTraced: (call) => tracesPayloads && isLoggedModelCall(call),
    ended(call, record, ending, trace = null) {
      const logged = isLoggedModelCall(call);
      if (call.cache == null && !logged) return null;
      const storing = toCache(call, record, ending);
      if (logged) toLog(call, record, ending.copy, trace);
      toBeCached.end(call.id);
      toBeLogged.end(call.id);
      return storing;
    },
  };
}

function isToBeCached({ cache = null }: AdmittedModelCall): boolean {
  return cache !== null && cache.digest !== null && cache.hit === null;
}

function answerText(bytes: Uint8Array, contentType: string | undefined, wire: ClientWire): string {
  const text = new TextDecoder().decode(bytes);
  return contentType === EVENT_STREAM_TYPE ? foldedAnswer(text, wire) : text;
}

import type { BodyRead, EndSignal, UpstreamBody, UpstreamFailure } from '../../../ports/model-upstream.ts';
import type { AnswerHead } from './answer-head.ts';
import type { RequestBytes } from './request-bytes.ts';

/** Why a call has no answer. */
export interface ExchangeFailure {
  readonly reason: UpstreamFailure['reason'];
  readonly cause: unknown;
}

/** What carries an exchange: its connection, or the line of calls that wait for one. */
export interface Carrier {
  /** The caller waits for bytes for at most so long. */
  awaitBytes(idleMs: number): void;
  /** The bytes came, or are not waited for any more. */
  stopAwaiting(): void;
  /** What is unread has become little: the upstream may send on. */
  resume(): void;
  /** The caller has ended the exchange before its end. */
  drop(exchange: Exchange): void;
}

/**
 * One call and its answer, whatever connection they are on:
 *
 *   waiting ─► sent ─► answering ─► ended (whole or broken)
 *      └─────────┴── failed or dropped
 */
export interface Exchange {
  /** Null once something of it is written: it is not written again, and a long one is not kept while the answer comes. */
  request: RequestBytes | null;
  /** When it began, by the clock's uptime. */
  readonly begunMs: number;
  carrier: Carrier | null;
  /** The answer's head is there: `answered` came, or the failure. */
  isSettled: boolean;
  answered(head: AnswerHead): void;
  failed(failure: ExchangeFailure): void;
  /** Bytes of the body. Returns how many are unread by now. */
  push(bytes: Uint8Array): number;
  ended(how: 'whole' | 'broken'): void;
  /** Nothing came for as long as the reader waits. */
  idle(): void;
}

/** Where fewer bytes than this are unread, a paused upstream goes on. */
const ENOUGH_UNREAD_BYTES = 64 * 1024;

interface ExchangeParts<Answer> {
  readonly request: RequestBytes;
  readonly begunMs: number;
  readonly signal: EndSignal;
  toAnswer(head: AnswerHead, body: UpstreamBody): Answer;
  toError(failure: ExchangeFailure): Error;
}

/** `answer` settles when the head is there; the body follows in it. */
export function createExchange<Answer>(parts: ExchangeParts<Answer>): Exchange & { answer: Promise<Answer> } {
  // Not kept as a whole: the request is in it.
  const { signal, toAnswer, toError } = parts;
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const unread: Uint8Array[] = [];
  let unreadBytes = 0;
  let end: 'whole' | 'broken' | null = null;
  let reader: ((read: BodyRead) => void) | null = null;

  function giveReader(read: BodyRead): void {
    const waiting = reader;
    reader = null;
    exchange.carrier?.stopAwaiting();
    waiting?.(read);
  }

  /** The caller ends it: what is unread is gone, and the upstream sees it at once. */
  function drop(): void {
    const { carrier } = exchange;
    if (end !== null) {
      // Whole, and partly read: what is gone must not look like the end.
      if (unread.length > 0) end = 'broken';
    } else if (exchange.isSettled) exchange.ended('broken');
    else exchange.failed({ reason: 'aborted', cause: null });
    unread.length = 0;
    unreadBytes = 0;
    carrier?.drop(exchange);
  }

  function read(idleMs: number): BodyRead | Promise<BodyRead> {
    const next = unread.shift();
    if (next !== undefined) {
      unreadBytes -= next.length;
      if (unreadBytes < ENOUGH_UNREAD_BYTES) exchange.carrier?.resume();
      return next as Uint8Array<ArrayBuffer>;
    }
    if (end !== null) return end === 'whole' ? null : end;
    exchange.carrier?.awaitBytes(idleMs);
    return new Promise((settle) => {
      reader = settle;
    });
  }

  const exchange: Exchange & { answer: Promise<Answer> } = {
    request: parts.request,
    begunMs: parts.begunMs,
    answer: promise,
    carrier: null,
    isSettled: false,
    answered(head) {
      exchange.isSettled = true;
      resolve(toAnswer(head, { read, cancel: drop }));
    },
    failed(failure) {
      exchange.isSettled = true;
      exchange.ended('broken');
      reject(toError(failure));
    },
    push(bytes) {
      if (reader !== null) giveReader(bytes as Uint8Array<ArrayBuffer>);
      else {
        unread.push(bytes);
        unreadBytes += bytes.length;
      }
      return unreadBytes;
    },
    ended(how) {
      if (end !== null) return;
      end = how;
      signal.removeEventListener('abort', drop);
      if (reader !== null) giveReader(how === 'whole' ? null : how);
      exchange.carrier = null;
    },
    idle() {
      if (reader !== null) giveReader('idle');
    },
  };
  signal.addEventListener('abort', drop);
  return exchange;
}

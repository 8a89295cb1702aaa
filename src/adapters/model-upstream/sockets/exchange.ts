import type { BodyRead, EndSignal, UpstreamBody, UpstreamFailure } from '../../../ports/model-upstream.ts';
import type { AnswerHead } from './answer-head.ts';
import type { RequestBytes } from './request-bytes.ts';

/** Why a call got no answer. */
export interface ExchangeFailure {
  readonly reason: UpstreamFailure['reason'];
  readonly cause: unknown;
  /** The time-out that was reached. */
  readonly limitMs?: number;
}

/** The carrier of an exchange: its connection, or the queue of calls that wait for one. */
export interface Carrier {
  /** The caller waits for bytes, at most for this time. */
  awaitBytes(idleMs: number): void;
  /** The caller no longer waits. */
  stopAwaiting(): void;
  /** Few bytes are unread, so the upstream may continue. */
  resume(): void;
  /** The caller has ended the exchange early. */
  drop(exchange: Exchange): void;
}

/**
 * A call and its answer, independent of the connection:
 *
 *   waiting ─► sent ─► answering ─► ended (whole or broken)
 *      └─────────┴── failed or dropped
 */
export interface Exchange {
  /** Null once any of it is written: it is never sent again, and a long one does not stay in memory. */
  request: RequestBytes | null;
  /** The start, by the clock's uptime. */
  readonly begunMs: number;
  /** The time limit for the answer's head, from the start. */
  readonly timeoutMs: number;
  carrier: Carrier | null;
  /** Whether the answer's head has arrived or the exchange has failed. */
  isSettled: boolean;
  answered(head: AnswerHead): void;
  failed(failure: ExchangeFailure): void;
  /** Adds bytes of the body. Returns the number of unread bytes. */
  push(bytes: Uint8Array): number;
  ended(how: 'whole' | 'broken'): void;
  /** Nothing arrived in the reader's time. */
  idle(): void;
}

/** With fewer unread bytes than this, a paused upstream is resumed. */
const ENOUGH_UNREAD_BYTES = 64 * 1024;

interface ExchangeParts<Answer> {
  readonly request: RequestBytes;
  readonly begunMs: number;
  readonly timeoutMs: number;
  readonly signal: EndSignal;
  toAnswer(head: AnswerHead, body: UpstreamBody): Answer;
  toError(failure: ExchangeFailure): Error;
}

/** Created for every call: one object with methods is cheaper than a dozen closures. It is also the body of the answer. */
class OneExchange<Answer> implements Exchange, UpstreamBody {
  request: RequestBytes | null;
  readonly begunMs: number;
  readonly timeoutMs: number;
  readonly answer: Promise<Answer>;
  carrier: Carrier | null = null;
  isSettled = false;
  readonly #signal: EndSignal;
  readonly #toAnswer: ExchangeParts<Answer>['toAnswer'];
  readonly #toError: ExchangeParts<Answer>['toError'];
  readonly #resolve: (answer: Answer) => void;
  readonly #reject: (error: Error) => void;
  readonly #unread: Uint8Array[] = [];
  #unreadBytes = 0;
  #end: 'whole' | 'broken' | null = null;
  #reader: ((read: BodyRead) => void) | null = null;

  constructor({ request, begunMs, timeoutMs, signal, toAnswer, toError }: ExchangeParts<Answer>) {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    this.request = request;
    this.begunMs = begunMs;
    this.timeoutMs = timeoutMs;
    this.answer = promise;
    this.#signal = signal;
    this.#toAnswer = toAnswer;
    this.#toError = toError;
    this.#resolve = resolve;
    this.#reject = reject;
    signal.addEventListener('abort', this.cancel);
  }

  /** The caller ends it: unread bytes are discarded and the connection is closed. Bound, because it is the signal's listener. */
  readonly cancel = (): void => {
    const { carrier } = this;
    if (this.#end !== null) {
      // Complete, but only partly read: discarding the rest must not look like the end.
      if (this.#unread.length > 0) this.#end = 'broken';
    } else if (this.isSettled) this.ended('broken');
    else this.failed({ reason: 'aborted', cause: null });
    this.#unread.length = 0;
    this.#unreadBytes = 0;
    carrier?.drop(this);
  };

  read(idleMs: number): BodyRead | Promise<BodyRead> {
    const next = this.#unread.shift();
    if (next !== undefined) {
      this.#unreadBytes -= next.length;
      if (this.#unreadBytes < ENOUGH_UNREAD_BYTES) this.carrier?.resume();
      return next as Uint8Array<ArrayBuffer>;
    }
    if (this.#end !== null) return this.#end === 'whole' ? null : this.#end;
    this.carrier?.awaitBytes(idleMs);
    return new Promise((settle) => {
      this.#reader = settle;
    });
  }

  answered(head: AnswerHead): void {
    this.isSettled = true;
    this.#resolve(this.#toAnswer(head, this));
  }

  failed(failure: ExchangeFailure): void {
    this.isSettled = true;
    this.ended('broken');
    this.#reject(this.#toError(failure));
  }

  push(bytes: Uint8Array): number {
    if (this.#reader !== null) this.#giveReader(bytes as Uint8Array<ArrayBuffer>);
    else {
      this.#unread.push(bytes);
      this.#unreadBytes += bytes.length;
    }
    return this.#unreadBytes;
  }

  ended(how: 'whole' | 'broken'): void {
    if (this.#end !== null) return;
    this.#end = how;
    this.#signal.removeEventListener('abort', this.cancel);
    if (this.#reader !== null) this.#giveReader(how === 'whole' ? null : how);
    this.carrier = null;
  }

  idle(): void {
    if (this.#reader !== null) this.#giveReader('idle');
  }

  #giveReader(read: BodyRead): void {
    const waiting = this.#reader;
    this.#reader = null;
    this.carrier?.stopAwaiting();
    waiting?.(read);
  }
}

/** `answer` settles when the head has arrived; it contains the body. */
export function createExchange<Answer>(parts: ExchangeParts<Answer>): Exchange & { answer: Promise<Answer> } {
  return new OneExchange(parts);
}

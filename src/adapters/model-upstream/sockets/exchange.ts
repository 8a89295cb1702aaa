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
  /** Until the answer's head, from when it began; null: as the pool has it. */
  readonly timeoutMs: number | null;
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
  readonly timeoutMs: number | null;
  readonly signal: EndSignal;
  toAnswer(head: AnswerHead, body: UpstreamBody): Answer;
  toError(failure: ExchangeFailure): Error;
}

/** One object with methods in the place of a dozen closures: it is made for every call. It is the answer's body too. */
class OneExchange<Answer> implements Exchange, UpstreamBody {
  request: RequestBytes | null;
  readonly begunMs: number;
  readonly timeoutMs: number | null;
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

  /** The caller ends it: what is unread is gone, and the upstream sees it at once. Bound: it is the signal's listener. */
  readonly cancel = (): void => {
    const { carrier } = this;
    if (this.#end !== null) {
      // Whole, and partly read: what is gone must not look like the end.
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

/** `answer` settles when the head is there; the body follows in it. */
export function createExchange<Answer>(parts: ExchangeParts<Answer>): Exchange & { answer: Promise<Answer> } {
  return new OneExchange(parts);
}

import type { Clock } from '../../ports/clock.ts';
import type { Database } from '../../ports/database.ts';
import type { Log } from '../../ports/log.ts';
import type { AnswerCipher } from '../calls/idempotency/answer-cipher.ts';
import {
  addPayloads,
  boundTo,
  DAY_MS,
  findPayloadSettings,
  type NewPayload,
  type PayloadBounds,
  type PayloadContent,
  type PayloadSettings,
} from './call-payloads.ts';
import { createRedactor, type RedactedKind, type Redactor } from './redaction.ts';

/** A call that has ended, with its request and response. */
export interface EndedCall {
  readonly callId: string;
  readonly companyId: string;
  readonly keyId: string;
  readonly requestId: string;
  readonly endUser: string | null;
  readonly endpoint: string;
  readonly request: Uint8Array;
  /** Null if there was none. */
  readonly response: EndedResponse | null;
  /**
   * Receives what is stored, truncated to TRACED_BYTES, for a trace; null if it is lost. Called more than once if storing is
   * retried.
   */
  readonly traced?: (content: PayloadContent | null) => void;
}

/** The most bytes of a request, and of a response, in a trace. */
const TRACED_BYTES = 32 * 1024;

interface EndedResponse {
  readonly bytes: Uint8Array;
  /** Whether the response was longer than these bytes. */
  readonly isCut: boolean;
  /**
   * The response as JSON text; for a stream, the response that it adds up to. Runs when the payload is written, not when the
   * call ends.
   */
  textOf(bytes: Uint8Array): string;
}

/**
 * Stores prompts and answers of calls whose key has opted in, in the background: they wait in a limited queue and are
 * redacted, truncated, encrypted and written in batches. If the queue is full or the database does not accept them, they are
 * lost and counted; no call waits or fails because of it.
 */
export interface PayloadLog {
  /** False if nothing is stored, whatever the settings of keys. */
  readonly isOn: boolean;
  /** The most bytes of a request or a response that are collected before redaction. */
  readonly maxTakenBytes: number;
  note(call: EndedCall): void;
  counts(): { readonly stored: number; readonly dropped: number };
  /** Writes the pending payloads. */
  close(): Promise<void>;
}

export interface PayloadLogParts extends PayloadBounds {
  readonly database: Database;
  readonly clock: Pick<Clock, 'now' | 'turn' | 'sleep'>;
  readonly log: Log;
  readonly cipher: AnswerCipher;
  /** The most bytes that are stored of a request, and of a response. */
  readonly maxBytes: number;
  readonly redacts: readonly RedactedKind[];
}

const MOST_WAITING = 500;
const MOST_WAITING_BYTES = 64 * 1024 * 1024;
const MOST_IN_A_BATCH = 20;
/** A stream has about ten times the bytes of its content. */
const TAKEN_FOR_STORED = 12;
const PAUSES_MS = [200, 1_000] as const;

export function createPayloadLog(parts: PayloadLogParts): PayloadLog {
  const { database, clock, log, cipher, maxBytes, maxRetentionDays } = parts;
  const kinds = new Set(parts.redacts);
  const counts = { stored: 0, dropped: 0 };
  let waiting: EndedCall[] = [];
  let waitingBytes = 0;
  let writing: Promise<void> | null = null;
  let isFailing = false;
  let isClosed = false;

  function note(call: EndedCall): void {
    const size = sizeOf(call);
    const isFull = waiting.length >= MOST_WAITING || waitingBytes + size > MOST_WAITING_BYTES;
    if (isClosed || isFull) {
      drop([call], isClosed ? 'the process stops' : 'too many wait');
      return;
    }
    waiting.push(call);
    waitingBytes += size;
    writing ??= write();
  }

  function drop(calls: readonly EndedCall[], reason: unknown): void {
    counts.dropped += calls.length;
    for (const { traced } of calls) traced?.(null);
    if (!isFailing) log.warn('prompts and answers could not be stored; calls are not affected', { reason });
    isFailing = true;
  }

  async function write(): Promise<void> {
    // Lets the call end first.
    await clock.turn();
    while (waiting.length > 0) {
      const batch = waiting.slice(0, MOST_IN_A_BATCH);
      waiting = waiting.slice(MOST_IN_A_BATCH);
      for (const call of batch) waitingBytes -= sizeOf(call);
      await writeBatch(batch);
    }
    writing = null;
  }

  async function writeBatch(batch: readonly EndedCall[]): Promise<void> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        const companyIds = [...new Set(batch.map(({ companyId }) => companyId))];
        const settings = await findPayloadSettings(database, parts, companyIds);
        const payloads: NewPayload[] = [];
        for (const call of batch) {
          const own = settings.get(call.companyId);
          if (own !== undefined) payloads.push(await sealed(call, own));
          // Lets calls continue in between: a large payload takes milliseconds.
          await clock.turn();
        }
        await addPayloads(database, payloads);
        counts.stored += payloads.length;
        isFailing = false;
        return;
      } catch (error) {
        const pauseMs = PAUSES_MS[attempt];
        if (pauseMs === undefined || isClosed) {
          drop(batch, error);
          return;
        }
        await clock.sleep(pauseMs);
      }
    }
  }

  async function sealed(call: EndedCall, settings: PayloadSettings): Promise<NewPayload> {
    const { callId, companyId, keyId, requestId, endUser } = call;
    const redactor = createRedactor(kinds, settings.redactionPatterns);
    const redacted = redactedOf(call, redactor, maxBytes);
    const content = new TextEncoder().encode(JSON.stringify(contentOf(redacted, maxBytes)));
    call.traced?.(contentOf(redacted, Math.min(maxBytes, TRACED_BYTES)));
    const storedAtMs = clock.now();
    return {
      ...{ callId, companyId, keyId, requestId, endUser, storedAtMs },
      expiresAtMs: storedAtMs + settings.retentionDays * DAY_MS,
      sealed: await cipher.seal(content, boundTo(companyId, callId)),
    };
  }

  return {
    isOn: maxRetentionDays > 0,
    maxTakenBytes: maxBytes * TAKEN_FOR_STORED,
    note,
    counts: () => ({ ...counts }),
    async close() {
      isClosed = true;
      await writing;
    },
  };
}

function sizeOf({ request, response }: EndedCall): number {
  return request.length + (response?.bytes.length ?? 0);
}

interface RedactedText {
  readonly text: string;
  /** Whether there was more text than this. */
  readonly isCut: boolean;
}

interface RedactedCall {
  readonly endpoint: string;
  readonly request: RedactedText;
  readonly response: RedactedText | null;
}

/** Redacts before truncating, so that no cut hides a part of what must be redacted. */
function redactedOf(call: EndedCall, redactor: Redactor, maxBytes: number): RedactedCall {
  const { endpoint, request, response } = call;
  // Bytes far beyond the limit are not processed; a margin ensures that the end is redacted too.
  const taken = request.subarray(0, maxBytes + ROOM_BYTES);
  const prompt = redactor.json(new TextDecoder().decode(taken));
  return {
    endpoint,
    request: { text: prompt, isCut: taken.length < request.length },
    response: response && { text: redactor.json(response.textOf(response.bytes)), isCut: response.isCut },
  };
}

function contentOf({ endpoint, request, response }: RedactedCall, maxBytes: number): PayloadContent {
  const prompt = cut(request, maxBytes);
  const answered = response && cut(response, maxBytes);
  return {
    endpoint,
    request: prompt.text,
    response: answered?.text ?? null,
    isRequestCut: prompt.isCut,
    isResponseCut: answered?.isCut ?? false,
  };
}

const ROOM_BYTES = 4_096;
const CUT_MARK = ' … [cut: the rest is not stored]';

function cut({ text, isCut }: RedactedText, maxBytes: number): RedactedText {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= maxBytes) return { text: isCut ? text + CUT_MARK : text, isCut };
  // Without `fatal`, an incomplete character at the end becomes a replacement character, which is removed.
  const kept = new TextDecoder().decode(bytes.subarray(0, maxBytes)).replace(/\uFFFD+$/, '');
  return { text: kept + CUT_MARK, isCut: true };
}

import type { Clock } from '../../../ports/clock.ts';
import {
  type BodyRead,
  type ModelEndpoint,
  type ModelUpstream,
  STREAM_LIMITS,
  type UpstreamAnswer,
  type UpstreamBody,
  type UpstreamCall,
  type UpstreamTarget,
} from '../../../ports/model-upstream.ts';
import type { Secrets } from '../../../ports/secrets.ts';
import { speaks } from '../../models/providers.ts';
import { readBeginning } from '../begun-body.ts';
import { createEventReader } from './event-reader.ts';
import { estimateInputTokens, estimateResponseTokens } from './messages/count-tokens.ts';
import { maxTokensNameOf } from './messages/model-names.ts';
import type { AnswerTranslation, StreamTranslation, TranslationTarget, Translator } from './translator.ts';

/** From the endpoint of a call to one that the target has. */
export interface TranslationPair {
  readonly from: ModelEndpoint;
  readonly to: ModelEndpoint;
  readonly translator: Translator;
}

interface TranslatingParts {
  readonly upstream: ModelUpstream;
  readonly pairs: readonly TranslationPair[];
  readonly secrets: Pick<Secrets, 'newId'>;
  readonly clock: Pick<Clock, 'now' | 'uptimeMs'>;
}

/**
 * Sends calls of one API to targets that have another. If a target has the endpoint of the call, call and answer are
 * passed on unchanged, at the cost of one comparison. Otherwise both are translated, and the caller sees only the API
 * of the call. A call that cannot be translated is answered with 400, as a provider would.
 */
export function createTranslatingUpstream({
  upstream,
  pairs,
  secrets,
  clock,
}: TranslatingParts): ModelUpstream {
  function pairFor(target: UpstreamTarget, endpoint: ModelEndpoint): TranslationPair | null {
    return pairs.find(({ from, to }) => from === endpoint && speaks(target, to)) ?? null;
  }

  return {
    send(target, call) {
      if (speaks(target, call.endpoint)) {
        const answering = upstream.send(target, call);
        return NOT_EVERYWHERE.has(call.endpoint)
          ? answering.then((answer) => unlessUnserved(target, call, answer))
          : answering;
      }
      const counted = countedHere(target, call);
      if (counted !== null) return Promise.resolve(counted);
      const pair = pairFor(target, call.endpoint);
      return pair === null ? Promise.resolve(unspoken(call)) : sendTranslated(target, call, pair);
    },
  };

  /** Counts tokens here, free and immediately, if the target cannot count them. Null for every other call. */
  function countedHere(target: UpstreamTarget, { endpoint, body }: UpstreamCall): UpstreamAnswer | null {
    const counts = COUNTS[endpoint];
    if (counts === undefined || !(speaks(target, counts) || pairFor(target, counts) !== null)) return null;
    const toChat = pairs.find(({ from, to }) => from === 'responses' && to === 'chat/completions');
    const counted =
      counts === 'messages' || toChat === undefined
        ? estimateInputTokens(body, bodyTarget(target))
        : estimateResponseTokens(toChat.translator, body, bodyTarget(target));
    return counted.outcome === 'refused' ? refused(counted.message, counted.param) : ours(200, counted.body);
  }

  /** Compatible servers often lack these endpoints, which says nothing about the target. */
  function unlessUnserved(target: UpstreamTarget, call: UpstreamCall, answer: UpstreamAnswer) {
    if (!UNSERVED.includes(answer.status)) return answer;
    answer.body.cancel();
    return countedHere(target, call) ?? unspoken(call);
  }

  async function sendTranslated(
    target: UpstreamTarget,
    call: UpstreamCall,
    { to, translator }: TranslationPair,
  ): Promise<UpstreamAnswer> {
    const translated = translator.translateRequest(call.body, bodyTarget(target), {
      newId: () => secrets.newId().replaceAll('-', ''),
      nowSeconds: Math.floor(clock.now() / 1_000),
    });
    if (translated.outcome === 'refused') return refused(translated.message, translated.param);
    const { body, answer } = translated;
    const sent = await upstream.send(target, { ...call, endpoint: to, body });
    return translatedAnswer(sent, answer, clock, call.hold);
  }
}

/** Endpoints that count tokens, and the endpoint of the calls that they count. */
const COUNTS: Partial<Record<ModelEndpoint, 'messages' | 'responses'>> = {
  'messages/count_tokens': 'messages',
  'responses/input_tokens': 'responses',
};
const NOT_EVERYWHERE: ReadonlySet<ModelEndpoint> = new Set([
  ...(['messages/count_tokens', 'responses/input_tokens', 'responses/compact'] as const),
]);
const UNSERVED: readonly number[] = [404, 405, 501];

/** For targets without configuration. */
const DEFAULT_MAX_TOKENS = 16_384;

function bodyTarget(target: UpstreamTarget): TranslationTarget {
  const { model, wire } = target;
  return {
    model,
    maxTokensName: maxTokensNameOf(target),
    hasStreamOptions: wire?.hasStreamOptions ?? true,
    reasoning: wire?.reasoning,
    defaultMaxTokens: wire?.maxOutputTokens ?? DEFAULT_MAX_TOKENS,
    cacheBreakpoints: wire?.cacheBreakpoints ?? true,
    provider: wire?.provider,
  };
}

function unspoken({ endpoint }: UpstreamCall): UpstreamAnswer {
  const instead =
    endpoint === 'responses/compact'
      ? 'Use another model, or have the model summarize the conversation by /responses.'
      : 'Use another model.';
  return refused(`The provider of this model does not serve /${endpoint}. ${instead}`, 'model');
}

function refused(message: string, param: string | null): UpstreamAnswer {
  const error = { message, type: 'invalid_request_error', param, code: null };
  return ours(400, new TextEncoder().encode(JSON.stringify({ error })));
}

function ours(status: number, bytes: Uint8Array<ArrayBuffer>): UpstreamAnswer {
  return { status, contentType: 'application/json', body: bodyOf(bytes), isOurs: true };
}

/** Errors keep their provider's format: the code that reads them knows all formats. */
function translatedAnswer(
  answer: UpstreamAnswer,
  translation: AnswerTranslation,
  clock: Pick<Clock, 'uptimeMs'>,
  hold: UpstreamCall['hold'],
): UpstreamAnswer {
  if (answer.status < 200 || answer.status > 299) return answer;
  return { ...answer, body: translatedBody(answer, translation, clock, hold) };
}

function translatedBody(
  { contentType, body }: UpstreamAnswer,
  translation: AnswerTranslation,
  clock: Pick<Clock, 'uptimeMs'>,
  hold: UpstreamCall['hold'],
): UpstreamBody {
  if (contentType === 'text/event-stream') return streamedBody(body, translation.stream(), clock);
  let known: UpstreamBody | null = null;
  async function find(idleMs: number): Promise<BodyRead> {
    const begun = await readBeginning(body, idleMs);
    known = begun.isStream
      ? streamedBody(begun.body, translation.stream(), clock)
      : wholeBody(begun.body, translation, hold);
    return await known.read(idleMs);
  }
  return {
    read: (idleMs) => (known === null ? find(idleMs) : known.read(idleMs)),
    cancel: () => (known ?? body).cancel(),
    lacksUsage: () => known?.lacksUsage?.() === true,
  };
}

function streamedBody(
  body: UpstreamBody,
  translation: StreamTranslation,
  clock: Pick<Clock, 'uptimeMs'>,
): UpstreamBody {
  const reader = createEventReader(STREAM_LIMITS.maxEventBytes);
  const encoder = new TextEncoder();
  let isOver = false;
  let isFailed = false;
  /** By the clock's uptime, once it is read on after the last event. */
  let graceEndMs: number | null = null;

  /** Translates received bytes for the client; `more` if they yield nothing yet. */
  function translate(chunk: BodyRead): BodyRead | 'more' {
    if (typeof chunk === 'string') {
      if (!translation.isDone()) return chunk;
      // The target kept or dropped its connection after the last event; the answer is complete either way.
      body.cancel();
      return translate(null);
    }
    const events = chunk === null ? reader.end() : reader.push(chunk);
    if (events === 'too-large') return broken();
    let text = '';
    for (const { name, data } of events) {
      const emitted = translation.event(name, data);
      if (emitted === 'failed') {
        text += errorEvent(data);
        return text === '' ? broken() : failedAfter(text);
      }
      text += emitted;
    }
    if (chunk === null) {
      const last = translation.end();
      if (last === 'cut-off') return text === '' ? broken() : failedAfter(text);
      text += last;
      isOver = true;
      return text === '' ? null : encoder.encode(text);
    }
    return text === '' ? 'more' : encoder.encode(text);
  }

  function broken(): BodyRead {
    body.cancel();
    isFailed = true;
    return 'broken';
  }

  /** Text from before the failure is still sent to the client. */
  function failedAfter(text: string): BodyRead {
    broken();
    return encoder.encode(text);
  }

  function readNext(idleMs: number): BodyRead | Promise<BodyRead> {
    if (!translation.isDone()) return body.read(idleMs);
    // One grace period in all: pings do not extend it.
    const nowMs = clock.uptimeMs();
    graceEndMs ??= nowMs + STREAM_LIMITS.doneGraceMs;
    return graceEndMs <= nowMs ? 'idle' : body.read(Math.min(idleMs, graceEndMs - nowMs));
  }

  async function readOn(idleMs: number, first: BodyRead | Promise<BodyRead>): Promise<BodyRead> {
    for (let next = await first; ; next = await readNext(idleMs)) {
      const read = translate(next);
      if (read !== 'more') return read;
    }
  }

  return {
    read(idleMs) {
      if (isFailed) return 'broken';
      if (isOver) return null;
      for (;;) {
        const next = readNext(idleMs);
        if (next instanceof Promise) return readOn(idleMs, next);
        const read = translate(next);
        if (read !== 'more') return read;
      }
    },
    cancel: () => body.cancel(),
    lacksUsage: () => translation.lacksUsage?.() === true,
  };
}

/** As the provider wrote it: the reader of the stream knows every provider's errors. Empty if the event is no error. */
function errorEvent(data: string): string {
  return isError(data) ? `event: error\ndata: ${data.replace(/\r\n|\r|\n/g, ' ')}\n\n` : '';
}

function isError(data: string): boolean {
  try {
    const read: unknown = JSON.parse(data);
    return typeof read === 'object' && read !== null && 'error' in read && Boolean(read.error);
  } catch {
    return false;
  }
}

/** It is parsed, which takes many times its size. Larger answers are embeddings and log probabilities, which are not translated. */
const MOST_ANSWER_BYTES = 32 * 1024 * 1024;

function wholeBody(
  body: UpstreamBody,
  translation: AnswerTranslation,
  hold: UpstreamCall['hold'],
): UpstreamBody {
  let isOver = false;
  async function gather(idleMs: number): Promise<BodyRead> {
    const pieces: Uint8Array[] = [];
    let size = 0;
    for (;;) {
      const next = await body.read(idleMs);
      if (typeof next === 'string') return next;
      if (next === null) break;
      pieces.push(next);
      size += next.length;
      if (size > MOST_ANSWER_BYTES || hold?.(size) === false) return broken();
    }
    isOver = true;
    return translation.whole(Buffer.concat(pieces, size)) ?? 'broken';
  }
  function broken(): BodyRead {
    body.cancel();
    return 'broken';
  }
  return {
    read: (idleMs) => (isOver ? null : gather(idleMs)),
    cancel: () => body.cancel(),
    lacksUsage: () => translation.lacksUsage?.() === true,
  };
}

function bodyOf(bytes: Uint8Array<ArrayBuffer>): UpstreamBody {
  let isRead = false;
  return {
    read() {
      if (isRead) return null;
      isRead = true;
      return bytes;
    },
    cancel() {},
  };
}

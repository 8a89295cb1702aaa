import type { ReasoningCount } from '../../ports/model-upstream.ts';
import type { AnswerCosts } from '../forwarding/answer-costs.ts';
import {
  cleanedError,
  createRestampedBytes,
  isErrorAt,
  isUsageChunkAt,
  type WithoutNames,
} from '../json/answer-body.ts';
import type { ClientWire } from '../json/client-wire.ts';
import { isName, stringIn } from '../json/json-text.ts';
import { createStreamUsage, type Usage } from '../json/reported-usage.ts';
import { type AnswerFields, createAnswerFields, scanAnswer } from '../json/scan-answer.ts';
import {
  type EventChange,
  emptyChoiceIn,
  inputEstimateIn,
  type UsageChunkForm,
} from '../json/usage-chunk.ts';
import {
  createSseEventCutter,
  placeInEvent,
  readSseEventData,
  type SseEvent,
  type SseEventData,
} from './server-sent-events.ts';

/**
 * Reads a model's stream while it is passed to the client. Every event is passed on as soon as it is complete, in order and
 * byte for byte except for the names of models and providers and for hidden costs (`createRestampedBytes`). That includes
 * comments, ids, pings, and data that are not JSON. Three types of events are not passed on directly:
 *
 * - `[DONE]` is held until the end, so that the charge is settled before the last byte is sent (G-33). Anything that an
 *   upstream sends after it is read as usual and sent before it: clients stop reading at `[DONE]`, and still receive late
 *   usage.
 * - The usage chunk, with usage and without choices, is passed on, given an empty choice, or dropped, as `usageChunk` says
 *   (G-13). A chunk that also has choices is part of the answer and is passed on.
 * - An error event means that the upstream broke the stream. The call then failed and is free, even if usage was seen (G-30).
 *   Nothing more is passed on: the caller reports the failure in our own envelope (G-38).
 *
 * Streams of Responses and Messages end with their own event instead of `[DONE]`: response.completed (or incomplete or
 * failed), and message_stop. It is held in the same way.
 */
export interface UsageTap {
  push(chunk: Uint8Array): TapOutput;
  /** Call once, at the end of the upstream's body. */
  end(): TapEnd;
  /** The data of the error event, if `broken` is `error-event`. */
  errorText(): string;
  /** The last usage that could be read (G-30), even if the stream broke later; null if there is none yet. */
  usage(): Usage | null;
  /** False if that usage may be of one of several answers only: it stood beside a choice. */
  isOfAll(): boolean;
  /**
   * Bytes of text that the model has written so far, to estimate the cost of a broken call (G-31). Counted as escaped in
   * JSON: an escaped quote counts as two.
   */
  contentBytes(): number;
  /** The number of events with data so far, which is the sequence number of the next event of a response. */
  events(): number;
  /** The id in the first event, on Responses and Messages; null until it has arrived. */
  responseId(): string | null;
}

export interface TapOutput {
  /** Complete events; null if there are none. They may share the memory of the chunk. */
  readonly bytes: Uint8Array | null;
  /** Whether `[DONE]`, or the last event of the wire format, has arrived. */
  readonly done: boolean;
  /** Permanent once set: nothing more is read. `bytes` still contains the complete events before the break. */
  readonly broken: 'too-large' | 'error-event' | null;
}

export interface TapEnd {
  /** A last event that lacked only its blank line, which is added. */
  readonly bytes: Uint8Array | null;
  /** `[DONE]` or the last event as the upstream wrote it; null if it is missing or the stream is broken. */
  readonly doneBytes: Uint8Array | null;
  /**
   * `cut-off`: the body ended within an event, before `[DONE]`. The incomplete event is not passed on. On Responses and
   * Messages it also means that the body ended without its last event and without usage: clients would wait for that event.
   */
  readonly broken: 'too-large' | 'error-event' | 'cut-off' | null;
}

interface UsageTapOptions {
  readonly wire?: ClientWire;
  readonly alias: string;
  /** The limit of bytes buffered for one incomplete event. */
  readonly maxEventBytes: number;
  readonly usageChunk?: UsageChunkForm;
  /**
   * Only for messages: shown in message_start where the provider counts its prompt at the end. The usage read here never has
   * it. 0 for none.
   */
  readonly inputEstimate?: number;
  /** Null if the call costs nothing besides the price of its tokens. */
  readonly costs?: Pick<AnswerCosts, 'note'> | null;
  /**
   * Whether the stream has several answers. Where a client asks vLLM for usage in every chunk, each counts the answer that it
   * belongs to; only the last chunk, without choices, counts all of them.
   */
  readonly hasSeveral?: boolean;
  /** Whether what the provider charges for the call is removed. */
  readonly hidesCosts?: boolean;
  /** Only for chat completions. */
  readonly reasoning?: ReasoningCount | undefined;
  /** What clients may read of a text of the provider; all of it if omitted. */
  readonly withoutNames?: WithoutNames;
}

const COLON = 0x3a;

const MOST_ERROR_BYTES = 64 * 1024;
const LINE_END = /\r\n|\r|\n/;
const DATA_LINE = /^data: ?(.*)$/;

/** The object in which events contain the model, and the events that end a stream. */
const STREAMS = {
  completions: { inner: null, last: [] },
  responses: { inner: 'response', last: ['response.completed', 'response.incomplete', 'response.failed'] },
  messages: { inner: 'message', last: ['message_stop'] },
} as const satisfies Record<ClientWire, { inner: AnswerFields['inner']; last: readonly string[] }>;

export function createUsageTap(options: UsageTapOptions): UsageTap {
  const {
    wire = 'completions',
    alias,
    maxEventBytes,
    usageChunk = 'as-sent',
    inputEstimate = 0,
    costs = null,
    hasSeveral = false,
    hidesCosts = false,
    reasoning,
    withoutNames,
  } = options;
  const { inner, last } = STREAMS[wire];
  const cutter = createSseEventCutter({ maxEventBytes });
  const output = createRestampedBytes(alias);
  const held = createRestampedBytes(alias);
  const fields = createAnswerFields(inner, hidesCosts);
  const counted = createStreamUsage(wire, reasoning);
  let isOfAll = true;
  let contentBytes = 0;
  let events = 0;
  let responseId: string | null = null;
  let heldBytes = 0;
  let done = false;
  /** The fate of the previous event, which also applies to a late line feed. */
  let wasHeld = false;
  let wasDropped = false;
  let broken: TapOutput['broken'] = null;
  let errorText = '';

  function breakByEvent({ source, start, end }: SseEvent): false {
    const text = new TextDecoder().decode(source.subarray(start, Math.min(end, start + MOST_ERROR_BYTES)));
    const lines = text.split(LINE_END).flatMap((line) => DATA_LINE.exec(line)?.[1] ?? []);
    errorText = lines.join('\n');
    return breakBy('error-event');
  }

  function take(event: SseEvent): boolean {
    if (event.isLateLineFeed) return wasDropped || passOrHold(event);
    const data = readSseEventData(event);
    wasHeld = data.kind === 'done';
    wasDropped = false;
    if (data.kind === 'data') return takeData(event, data);
    if (data.kind === 'error') return breakByEvent(event);
    if (wasHeld) done = true;
    return passOrHold(event);
  }

  function breakBy(reason: NonNullable<TapOutput['broken']>): false {
    broken = reason;
    return false;
  }

  function passOrHold({ source, start, end }: SseEvent): boolean {
    if (!wasHeld) {
      output.keep(source, start, end);
      return true;
    }
    // Held bytes are copied, because they outlive their chunk.
    held.keep(source.slice(start, end), 0, end - start);
    return fitsHeld(end - start);
  }

  /** Limits held bytes to the size of one event, for an upstream that ends its stream repeatedly. */
  function fitsHeld(size: number): boolean {
    heldBytes += size;
    return heldBytes <= maxEventBytes || breakBy('too-large');
  }

  function takeData(event: SseEvent, data: Extract<SseEventData, { kind: 'data' }>): boolean {
    const { bytes, start, end } = data;
    scanAnswer(bytes, start, end, fields);
    const { errorStart, errorEnd } = fields;
    if (errorEnd > 0 && isErrorAt(bytes, errorStart, errorEnd)) return breakByEvent(event);
    events += 1;
    if (inner !== null && !takeOwnEvent(bytes)) return breakByEvent(event);
    contentBytes += inner === 'response' ? fields.deltaBytes : fields.contentBytes;
    if (fields.isWhole) counted.note(bytes, start, end, fields);
    if (hasSeveral && fields.isWhole && fields.usageEnd > 0) isOfAll = isUsageChunkAt(bytes, start, end);
    if (costs !== null && fields.isWhole) costs.note(bytes, start, end, fields);
    if (
      usageChunk !== 'as-sent' &&
      fields.isWhole &&
      fields.usageEnd > 0 &&
      isUsageChunkAt(bytes, start, end)
    ) {
      wasDropped = usageChunk === 'hidden';
      if (usageChunk !== 'hidden') {
        restamp(output, event, data, 0, emptyChoiceIn(bytes, start, end, usageChunk));
      }
      return true;
    }
    if (!wasHeld) {
      const { innerUsageStart, innerUsageEnd, isWhole } = fields;
      const isEstimated = inputEstimate > 0 && innerUsageEnd > 0 && isWhole;
      const change = isEstimated
        ? inputEstimateIn(bytes, innerUsageStart, innerUsageEnd, inputEstimate)
        : null;
      restamp(output, event, data, 0, change);
      return true;
    }
    restamp(held, copyOf(event), data, event.start);
    return fitsHeld(event.end - event.start);
  }

  /** For Responses and Messages. Returns false if the type of the event is an error. */
  function takeOwnEvent(bytes: Uint8Array): boolean {
    const { typeStart, typeEnd, innerIdStart, innerIdEnd, isWhole } = fields;
    if (responseId === null && innerIdEnd > 0) responseId = stringIn(bytes, innerIdStart, innerIdEnd);
    if (typeEnd === 0 || !isWhole) return true;
    if (isName(bytes, typeStart, typeEnd, 'error')) return false;
    wasHeld = last.some((name) => isName(bytes, typeStart, typeEnd, name));
    if (wasHeld) done = true;
    return true;
  }

  /** Incomplete objects are restamped too: clients cannot parse them, but they may name the provider. */
  function restamp(
    into: typeof output,
    { source, start, end }: Pick<SseEvent, 'source' | 'start' | 'end'>,
    { bytes, joinedFrom }: Extract<SseEventData, { kind: 'data' }>,
    shift = 0,
    change: EventChange | null = null,
  ): void {
    const { toRestamp, toRemove, toClean } = fields;
    if (change !== null) {
      const later = toRestamp.findIndex((at, index) => index % 2 === 0 && at > change.start);
      toRestamp.splice(later === -1 ? toRestamp.length : later, 0, change.start, change.end);
    }
    let at = start;
    let removed = 0;
    let cleaned = 0;
    for (let next = 0; next < toRestamp.length; next += 2) {
      const from = toRestamp[next] as number;
      const to = toRestamp[next + 1] as number;
      const valueStart = placeInEvent(joinedFrom, from) - shift;
      const valueEnd = placeInEvent(joinedFrom, to) - shift;
      into.keep(source, at, valueStart);
      if (from === toRemove[removed]) removed += 1;
      else if (from === change?.start) into.keep(change.bytes, 0, change.bytes.length);
      else if (from === toClean[cleaned]) {
        cleaned += 1;
        const error = cleanedError(bytes, from, to, withoutNames);
        into.keep(error ?? source, error === null ? valueStart : 0, error?.length ?? valueEnd);
      } else into.stamp();
      at = valueEnd;
    }
    into.keep(source, at, end);
  }

  /** Returns false if the rest may be an incomplete event. A trailing comment is dropped. */
  function takeRest(event: SseEvent): boolean {
    const data = readSseEventData(event);
    if (data.kind === 'none') return event.lines === 1 && event.source[event.start] === COLON;
    if (data.kind === 'data') {
      scanAnswer(data.bytes, data.start, data.end, fields);
      if (!fields.isWhole) return false;
    }
    take(event);
    return true;
  }

  return {
    push(chunk) {
      if (broken !== null) return { bytes: null, done, broken };
      const fit = cutter.push(chunk, take);
      if (fit === 'too-large') broken = 'too-large';
      return { bytes: output.take(), done, broken };
    },
    end() {
      const rest = broken === null ? cutter.rest() : null;
      const isHalf = rest !== null && !takeRest(rest);
      const isUnfinished = inner !== null && broken === null && counted.usage() === null;
      const why = !done && (isHalf || isUnfinished) ? 'cut-off' : broken;
      return { bytes: output.take(), doneBytes: why === null ? held.take() : null, broken: why };
    },
    errorText: () => errorText,
    usage: counted.usage,
    isOfAll: () => isOfAll,
    contentBytes: () => contentBytes,
    events: () => events,
    responseId: () => responseId,
  };
}

function copyOf({ source, start, end }: SseEvent): Pick<SseEvent, 'source' | 'start' | 'end'> {
  return { source: source.slice(start, end), start: 0, end: end - start };
}

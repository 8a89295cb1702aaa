import {
  createRestampedBytes,
  createStreamUsage,
  isErrorAt,
  isUsageChunkAt,
  type Usage,
} from '../json/answer-body.ts';
import type { ClientWire } from '../json/client-wire.ts';
import { isName, stringIn } from '../json/json-text.ts';
import type { TierReader } from '../json/reported-tiers.ts';
import { type AnswerFields, createAnswerFields, scanAnswer } from '../json/scan-answer.ts';
import type { ToolUseCounter } from '../json/tool-uses.ts';
import {
  createSseEventCutter,
  placeInEvent,
  readSseEventData,
  type SseEvent,
  type SseEventData,
} from './server-sent-events.ts';

/**
 * Reads along while a model's stream goes to the client. Every event passes as soon as it is whole, in its order
 * and byte for byte but for the names (`createRestampedBytes`): comments, ids and pings, the usage event asked for or not
 * (G-13), data that are no JSON. Three kinds do not pass:
 *
 * - `[DONE]` waits until the end, so that the charge is settled before the last byte leaves (G-33). What an
 *   upstream sends after it is read like the rest and goes out before it: clients stop reading at `[DONE]`, and
 *   usage that came late reaches them all the same.
 * - The usage chunk, with usage and no choices, where `hidesUsageChunk` says so: it is read and dropped. A chunk that has
 *   choices besides is the answer's and passes.
 * - An error event says that the upstream broke the stream, which then is a failure and free whatever usage was
 *   seen (G-30). Nothing passes from there on: the caller tells the client in our own envelope (G-38).
 *
 * Streams of Responses and Messages end with an event of their own in the place of `[DONE]`: response.completed and its
 * like, message_stop. It waits in the same way.
 */
export interface UsageTap {
  push(chunk: Uint8Array): TapOutput;
  /** At the end of the upstream's body. Once. */
  end(): TapEnd;
  /** What the error event said, after `broken` was `error-event`. */
  errorText(): string;
  /** The last one that could be read (G-30), also of a stream that broke later; null where none has come. */
  usage(): Usage | null;
  /**
   * Bytes of text that the model has written so far, for the estimate of what a broken call cost (G-31). As they
   * stand in JSON: an escaped quote counts two.
   */
  contentBytes(): number;
  /** Events with data so far: the number that the next event of a response has. */
  events(): number;
  /** Of a stream of Responses, once its first event has come. */
  responseId(): string | null;
}

export interface TapOutput {
  /** Whole events; null where none has become whole. They may lie in the chunk's own memory. */
  readonly bytes: Uint8Array | null;
  /** `[DONE]`, or the wire's last event, has come, now or before. */
  readonly done: boolean;
  /** Set once and for good: nothing more is read. `bytes` still holds the whole events before the break. */
  readonly broken: 'too-large' | 'error-event' | null;
}

export interface TapEnd {
  /** A last event that had come but for its blank line, and is given one. */
  readonly bytes: Uint8Array | null;
  /** `[DONE]` or the last event as the upstream wrote it; null where it did not, or where the stream is broken. */
  readonly doneBytes: Uint8Array | null;
  /**
   * `cut-off`: the body ended within an event, before `[DONE]`. That half is not passed on. On the other two wires also
   * where it ended without its last event and without usage: clients would wait for it.
   */
  readonly broken: 'too-large' | 'error-event' | 'cut-off' | null;
}

export interface UsageTapOptions {
  readonly wire?: ClientWire;
  readonly alias: string;
  /** The most that waits inside for the end of one event. */
  readonly maxEventBytes: number;
  readonly hidesUsageChunk?: boolean;
  /** Null where the call may use no hosted tool. */
  readonly toolUses?: ToolUseCounter | null;
  /** Null where the price of the call depends on no tier. */
  readonly tiers?: TierReader | null;
}

const COLON = 0x3a;

const MOST_ERROR_BYTES = 64 * 1024;
const LINE_END = /\r\n|\r|\n/;
const DATA_LINE = /^data: ?(.*)$/;

/** With which a stream ends, and in which object its first event has the model. */
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
    hidesUsageChunk = false,
    toolUses = null,
    tiers = null,
  } = options;
  const { inner, last } = STREAMS[wire];
  const cutter = createSseEventCutter({ maxEventBytes });
  const output = createRestampedBytes(alias);
  const held = createRestampedBytes(alias);
  const fields = createAnswerFields(inner);
  const counted = createStreamUsage(wire);
  let contentBytes = 0;
  let events = 0;
  let responseId: string | null = null;
  let heldBytes = 0;
  let done = false;
  /** What became of the event before, to which a late line feed belongs. */
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
    // Held bytes are a copy: they outlive the chunk that they came in.
    held.keep(source.slice(start, end), 0, end - start);
    return fitsHeld(end - start);
  }

  /** An upstream that ends its stream again and again is held back no longer than one event may be. */
  function fitsHeld(size: number): boolean {
    heldBytes += size;
    return heldBytes <= maxEventBytes || breakBy('too-large');
  }

  function takeData(event: SseEvent, data: Extract<SseEventData, { kind: 'data' }>): boolean {
    const { bytes, start, end, joinedFrom } = data;
    scanAnswer(bytes, start, end, fields);
    const { errorStart, errorEnd } = fields;
    if (errorEnd > 0 && isErrorAt(bytes, errorStart, errorEnd)) return breakByEvent(event);
    events += 1;
    if (inner !== null && !takeOwnEvent(bytes)) return breakByEvent(event);
    contentBytes += inner === 'response' ? fields.deltaBytes : fields.contentBytes;
    if (fields.isWhole) counted.note(bytes, start, end, fields);
    if (toolUses !== null && fields.isWhole) toolUses.note(bytes, start, end, fields);
    if (tiers !== null && fields.isWhole) tiers.note(bytes, start, end, fields);
    if (hidesUsageChunk && fields.isWhole && fields.usageEnd > 0 && isUsageChunkAt(bytes, start, end)) {
      wasDropped = true;
      return true;
    }
    if (!wasHeld) {
      restamp(output, event, joinedFrom);
      return true;
    }
    restamp(held, copyOf(event), joinedFrom, event.start);
    return fitsHeld(event.end - event.start);
  }

  /** Of the other two wires. False for an event that is an error by its type. */
  function takeOwnEvent(bytes: Uint8Array): boolean {
    const { typeStart, typeEnd, innerIdStart, innerIdEnd, isWhole } = fields;
    if (responseId === null && innerIdEnd > 0) responseId = stringIn(bytes, innerIdStart, innerIdEnd);
    if (typeEnd === 0 || !isWhole) return true;
    if (isName(bytes, typeStart, typeEnd, 'error')) return false;
    wasHeld = last.some((name) => isName(bytes, typeStart, typeEnd, name));
    if (wasHeld) done = true;
    return true;
  }

  /** An object that is cut short is stamped too: clients cannot read it, but it may name the provider. */
  function restamp(
    into: typeof output,
    { source, start, end }: Pick<SseEvent, 'source' | 'start' | 'end'>,
    joinedFrom: Extract<SseEventData, { kind: 'data' }>['joinedFrom'],
    shift = 0,
  ): void {
    const { toRestamp } = fields;
    let at = start;
    for (let next = 0; next < toRestamp.length; next += 2) {
      into.keep(source, at, placeInEvent(joinedFrom, toRestamp[next] as number) - shift);
      into.stamp();
      at = placeInEvent(joinedFrom, toRestamp[next + 1] as number) - shift;
    }
    into.keep(source, at, end);
  }

  /** False for what may be half of something. A comment is not missed. */
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
    contentBytes: () => contentBytes,
    events: () => events,
    responseId: () => responseId,
  };
}

function copyOf({ source, start, end }: SseEvent): Pick<SseEvent, 'source' | 'start' | 'end'> {
  return { source: source.slice(start, end), start: 0, end: end - start };
}

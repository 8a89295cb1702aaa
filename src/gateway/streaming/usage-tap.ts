import {
  createRestampedBytes,
  isErrorAt,
  readInnerUsageAt,
  readUsageAt,
  type Usage,
} from '../json/answer-body.ts';
import { createAnswerFields, scanAnswer } from '../json/scan-answer.ts';
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
 * (G-13), data that are no JSON. Two kinds do not pass:
 *
 * - `[DONE]` waits until the end, so that the charge is settled before the last byte leaves (G-33). What an
 *   upstream sends after it is read like the rest and goes out before it: clients stop reading at `[DONE]`, and
 *   usage that came late reaches them all the same.
 * - An error event says that the upstream broke the stream, which then is a failure and free whatever usage was
 *   seen (G-30). Nothing passes from there on: the caller tells the client in our own envelope (G-38).
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
}

export interface TapOutput {
  /** Whole events; null where none has become whole. They may lie in the chunk's own memory. */
  readonly bytes: Uint8Array | null;
  /** `[DONE]` has come, now or before. */
  readonly done: boolean;
  /** Set once and for good: nothing more is read. `bytes` still holds the whole events before the break. */
  readonly broken: 'too-large' | 'error-event' | null;
}

export interface TapEnd {
  /** A last event that had come but for its blank line, and is given one. */
  readonly bytes: Uint8Array | null;
  /** `[DONE]` as the upstream wrote it; null where it did not, or where the stream is broken. */
  readonly doneBytes: Uint8Array | null;
  /** `cut-off`: the body ended within an event, before `[DONE]`. That half is not passed on. */
  readonly broken: 'too-large' | 'error-event' | 'cut-off' | null;
}

export interface UsageTapOptions {
  readonly alias: string;
  /** The most that waits inside for the end of one event. */
  readonly maxEventBytes: number;
}

const COLON = 0x3a;

const MOST_ERROR_BYTES = 64 * 1024;
const LINE_END = /\r\n|\r|\n/;
const DATA_LINE = /^data: ?(.*)$/;

export function createUsageTap({ alias, maxEventBytes }: UsageTapOptions): UsageTap {
  const cutter = createSseEventCutter({ maxEventBytes });
  const output = createRestampedBytes(alias);
  const held = createRestampedBytes(alias);
  const fields = createAnswerFields();
  let topUsage: Usage | null = null;
  let innerUsage: Usage | null = null;
  let contentBytes = 0;
  let done = false;
  let wasHeld = false;
  let broken: TapOutput['broken'] = null;
  let errorText = '';

  function breakBy({ source, start, end }: SseEvent): false {
    broken = 'error-event';
    const text = new TextDecoder().decode(source.subarray(start, Math.min(end, start + MOST_ERROR_BYTES)));
    const lines = text.split(LINE_END).flatMap((line) => DATA_LINE.exec(line)?.[1] ?? []);
    errorText = lines.join('\n');
    return false;
  }

  function take(event: SseEvent): boolean {
    if (event.isLateLineFeed) return passOrHold(event);
    const data = readSseEventData(event);
    wasHeld = data.kind === 'done';
    if (data.kind === 'data') return takeData(event, data);
    if (data.kind === 'error') return breakBy(event);
    if (wasHeld) done = true;
    return passOrHold(event);
  }

  function passOrHold({ source, start, end }: SseEvent): true {
    // Held bytes are a copy: they outlive the chunk that they came in.
    if (wasHeld) held.keep(source.slice(start, end), 0, end - start);
    else output.keep(source, start, end);
    return true;
  }

  function takeData(event: SseEvent, data: Extract<SseEventData, { kind: 'data' }>): boolean {
    const { bytes, start, end, joinedFrom } = data;
    scanAnswer(bytes, start, end, fields);
    const { errorStart, errorEnd, toRestamp } = fields;
    if (errorEnd > 0 && isErrorAt(bytes, errorStart, errorEnd)) return breakBy(event);
    contentBytes += fields.contentBytes;
    if (fields.isWhole) readUsageOf(bytes, start, end);
    // An object that is cut short is stamped too: clients cannot read it, but it may name the provider.
    let at = event.start;
    for (let next = 0; next < toRestamp.length; next += 2) {
      output.keep(event.source, at, placeInEvent(joinedFrom, toRestamp[next] as number));
      output.stamp();
      at = placeInEvent(joinedFrom, toRestamp[next + 1] as number);
    }
    output.keep(event.source, at, event.end);
    return true;
  }

  function readUsageOf(bytes: Uint8Array, start: number, end: number): void {
    if (fields.usageEnd > 0) {
      topUsage = readUsageAt(bytes, fields.usageStart, fields.usageEnd) ?? topUsage;
    } else if (fields.hasInnerUsage) {
      innerUsage = readInnerUsageAt(bytes, start, end) ?? innerUsage;
    }
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
      const isCutOff = rest !== null && !takeRest(rest) && !done;
      const why = isCutOff ? 'cut-off' : broken;
      return { bytes: output.take(), doneBytes: why === null ? held.take() : null, broken: why };
    },
    errorText: () => errorText,
    usage: () => topUsage ?? innerUsage,
    contentBytes: () => contentBytes,
  };
}

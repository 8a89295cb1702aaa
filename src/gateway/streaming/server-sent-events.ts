/**
 * Server-sent events, byte by byte. The cutter splits a stream into its events, regardless of where the chunks were cut:
 * inside a character, inside a name, or between the \r and the \n of one line end. A line ends with \n, \r\n or \r; a blank
 * line ends an event. `readSseEventData` reads the data of an event; `writtenEvent` encodes an event of our own.
 */
export interface SseEvent {
  /** Contains the event at bytes `start` to `end`, including its blank line. It is not modified afterwards. */
  readonly source: Uint8Array;
  readonly start: number;
  readonly end: number;
  /** The end of the text of its first line. */
  readonly firstLineEnd: number;
  /** The number of lines with text; 0 for an additional blank line between two events. */
  readonly lines: number;
  /**
   * Not an event, but the \n at the start of a chunk whose \r was the end of the previous one. The event was not delayed for
   * it: the \r had ended it.
   */
  readonly isLateLineFeed: boolean;
}

/** Returns false if no more events are wanted. */
type TakeEvent = (event: SseEvent) => boolean;

interface SseEventCutter {
  /** Passes on every event that is complete. An event larger than the limit ends the reading permanently. */
  push(chunk: Uint8Array, take: TakeEvent): 'fits' | 'too-large';
  /** The rest at the end of the stream: an event without its blank line, which is added. */
  rest(): SseEvent | null;
}

/** The content of an event, without its framing. */
export type SseEventData =
  /** Comments, ids, a retry: nothing that clients pass to the application. */
  | { readonly kind: 'none' }
  /** `event: error`, which the official clients treat as a failure regardless of the data. */
  | { readonly kind: 'error' }
  | { readonly kind: 'done' }
  | {
      readonly kind: 'data';
      readonly bytes: Uint8Array;
      readonly start: number;
      readonly end: number;
      /** For data joined from several lines: the start of each line, in the data and in the event. */
      readonly joinedFrom: readonly JoinedLine[] | null;
    };

interface JoinedLine {
  readonly inData: number;
  readonly inEvent: number;
}

export const EVENT_STREAM_TYPE = 'text/event-stream; charset=utf-8';

export const STREAM_HEADERS = {
  'content-type': EVENT_STREAM_TYPE,
  'cache-control': 'no-cache',
  // Keeps proxies in front of the gateway from buffering the stream.
  'x-accel-buffering': 'no',
};

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const COLON = 0x3a;
const asBytes = (text: string) => new TextEncoder().encode(text);
const DATA = asBytes('data');
const EVENT = asBytes('event');
const ERROR_NAME = asBytes('error');
const DONE_MARK = asBytes('[DONE]');
const NO_BYTES = new Uint8Array(0);
const LEAST_ROOM = 1024;

const NO_DATA: SseEventData = { kind: 'none' };
const ERROR: SseEventData = { kind: 'error' };
const DONE: SseEventData = { kind: 'done' };

export function createSseEventCutter({ maxEventBytes }: { readonly maxEventBytes: number }): SseEventCutter {
  // The beginning of an incomplete event. Its bytes are checked once, regardless of the number of chunks.
  let waiting: Uint8Array = NO_BYTES;
  let waitingLength = 0;
  let lines = 0;
  /** Counted from the first byte of the event. */
  let firstLineLength = 0;
  let isLineEmpty = true;
  let endedWithCr = false;
  let isFirstEvent = true;

  function push(chunk: Uint8Array, take: TakeEvent): 'fits' | 'too-large' {
    const length = chunk.length;
    let eventStart = 0;
    let at = 0;
    if (endedWithCr && length > 0) {
      endedWithCr = false;
      if (chunk[0] === LF) {
        at = 1;
        if (waitingLength === 0) {
          eventStart = 1;
          if (!take(lateLineFeed(chunk))) return 'fits';
        }
      }
    }
    // One native search per type of line end takes 25 ns for a chunk of 300 bytes; a loop takes 200 ns.
    let nextLf = -1;
    let nextCr = -1;
    while (at < length) {
      if (nextLf < at) nextLf = indexOrEnd(chunk, LF, at);
      if (nextCr < at) nextCr = indexOrEnd(chunk, CR, at);
      const lineEnd = nextLf < nextCr ? nextLf : nextCr;
      if (lineEnd === length) {
        isLineEmpty = false;
        break;
      }
      const isBlank = isLineEmpty && lineEnd === at;
      isLineEmpty = true;
      at = lineEnd + 1;
      if (lineEnd === nextCr) {
        if (at === length) endedWithCr = true;
        else if (chunk[at] === LF) at += 1;
      }
      if (!isBlank) {
        if (lines === 0) firstLineLength = waitingLength + lineEnd - eventStart;
        lines += 1;
        continue;
      }
      // Measured to the first byte of the blank line's end, so that the limit does not depend on how chunks are cut.
      if (waitingLength + lineEnd + 1 - eventStart > maxEventBytes) return 'too-large';
      if (!take(wholeEvent(chunk, eventStart, at))) return 'fits';
      eventStart = at;
    }
    if (waitingLength + length - eventStart > maxEventBytes) return 'too-large';
    if (eventStart < length) wait(chunk, eventStart, length);
    return 'fits';
  }

  function wholeEvent(chunk: Uint8Array, from: number, to: number): SseEvent {
    if (waitingLength === 0) return eventOf(chunk, from, to);
    wait(chunk, from, to);
    return eventOf(waiting, 0, waitingLength);
  }

  function eventOf(source: Uint8Array, from: number, end: number): SseEvent {
    // A byte order mark is not part of the stream, and the client's parser may not expect one.
    const start = isFirstEvent && startsWithMark(source, from, end) ? from + 3 : from;
    const event = {
      source,
      start,
      end,
      firstLineEnd: from + firstLineLength,
      lines,
      isLateLineFeed: false,
    };
    isFirstEvent = false;
    waiting = NO_BYTES;
    waitingLength = 0;
    lines = 0;
    return event;
  }

  function wait(chunk: Uint8Array, from: number, to: number): void {
    const needed = waitingLength + to - from;
    if (needed > waiting.length) {
      const roomier = new Uint8Array(Math.max(needed * 2, LEAST_ROOM));
      roomier.set(waiting.subarray(0, waitingLength));
      waiting = roomier;
    }
    waiting.set(chunk.subarray(from, to), waitingLength);
    waitingLength = needed;
  }

  function rest(): SseEvent | null {
    if (waitingLength === 0) return null;
    if (!isLineEmpty) {
      if (lines === 0) firstLineLength = waitingLength;
      lines += 1;
    }
    // After a lone \r, the first \n would only complete that line end.
    const endsWithLf = waiting[waitingLength - 1] === LF;
    const missing = endsWithLf ? Uint8Array.of(LF) : Uint8Array.of(LF, LF);
    wait(missing, 0, missing.length);
    return eventOf(waiting, 0, waitingLength);
  }

  return { push, rest };
}

export function readSseEventData(event: SseEvent): SseEventData {
  const { source, start, firstLineEnd, lines } = event;
  if (lines === 0) return NO_DATA;
  // Nearly every event of a model's stream is one line of data.
  if (lines === 1) {
    if (!isField(source, start, firstLineEnd, DATA)) {
      return isErrorName(source, start, firstLineEnd) ? ERROR : NO_DATA;
    }
    return dataOf(source, valueStart(source, start + DATA.length, firstLineEnd), firstLineEnd);
  }
  return (lines === 2 ? readNamedEvent(event) : null) ?? readSeveralLines(event);
}

/**
 * An event of a name and one line of data, as all events of Responses and Messages are. Its lines are found from both ends,
 * without scanning the data. Null for any other two lines.
 */
function readNamedEvent({ source, start, end, firstLineEnd }: SseEvent): SseEventData | null {
  if (!isField(source, start, firstLineEnd, EVENT)) return null;
  const isReturn = source[firstLineEnd] === CR && source[firstLineEnd + 1] === LF;
  const secondStart = firstLineEnd + (isReturn ? 2 : 1);
  const secondEnd = withoutLineEnd(source, withoutLineEnd(source, end));
  if (!isField(source, secondStart, secondEnd, DATA)) return null;
  if (isErrorName(source, start, firstLineEnd)) return ERROR;
  return dataOf(source, valueStart(source, secondStart + DATA.length, secondEnd), secondEnd);
}

/** Expects a line end before `end`. */
function withoutLineEnd(source: Uint8Array, end: number): number {
  return source[end - 1] === LF && source[end - 2] === CR ? end - 2 : end - 1;
}

/** Converts a position in the data into a position in the event. */
export function placeInEvent(joinedFrom: readonly JoinedLine[] | null, at: number): number {
  if (joinedFrom === null) return at;
  const line = joinedFrom.findLast(({ inData }) => inData <= at);
  return line === undefined ? at : line.inEvent + at - line.inData;
}

export function writtenEvent({ name, data }: { name: string | null; data: object }): Uint8Array<ArrayBuffer> {
  return asBytes(`${name === null ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`);
}

function indexOrEnd(chunk: Uint8Array, byte: number, from: number): number {
  const at = chunk.indexOf(byte, from);
  return at === -1 ? chunk.length : at;
}

function lateLineFeed(chunk: Uint8Array): SseEvent {
  return { source: chunk, start: 0, end: 1, firstLineEnd: 0, lines: 0, isLateLineFeed: true };
}

function startsWithMark(source: Uint8Array, from: number, end: number): boolean {
  return end - from >= 3 && source[from] === 0xef && source[from + 1] === 0xbb && source[from + 2] === 0xbf;
}

function dataOf(bytes: Uint8Array, start: number, end: number): SseEventData {
  // Clients check only the beginning, so anything may follow it.
  if (startsWith(bytes, start, end, DONE_MARK)) return DONE;
  return { kind: 'data', bytes, start, end, joinedFrom: null };
}

function readSeveralLines({ source, start, end }: SseEvent): SseEventData {
  const dataLines: { start: number; end: number }[] = [];
  for (let at = start; at < end; ) {
    let lineEnd = at;
    while (lineEnd < end && source[lineEnd] !== LF && source[lineEnd] !== CR) lineEnd += 1;
    if (isField(source, at, lineEnd, DATA)) {
      dataLines.push({ start: valueStart(source, at + DATA.length, lineEnd), end: lineEnd });
    } else if (isErrorName(source, at, lineEnd)) return ERROR;
    // The \n of \r\n is read as an empty line here, which has no effect.
    at = lineEnd + 1;
  }
  const [only] = dataLines;
  if (only === undefined) return NO_DATA;
  if (dataLines.length === 1) return dataOf(source, only.start, only.end);

  const size = dataLines.reduce((sum, line) => sum + line.end - line.start + 1, -1);
  const bytes = new Uint8Array(size);
  const joinedFrom: JoinedLine[] = [];
  let inData = 0;
  for (const line of dataLines) {
    if (joinedFrom.length > 0) bytes[inData - 1] = LF;
    bytes.set(source.subarray(line.start, line.end), inData);
    joinedFrom.push({ inData, inEvent: line.start });
    inData += line.end - line.start + 1;
  }
  if (startsWith(bytes, 0, size, DONE_MARK)) return DONE;
  return { kind: 'data', bytes, start: 0, end: size, joinedFrom };
}

/** A line without a colon is a field name with an empty value. */
function isField(source: Uint8Array, start: number, end: number, name: Uint8Array): boolean {
  const after = start + name.length;
  return startsWith(source, start, end, name) && (after === end || source[after] === COLON);
}

/** Skips the colon and one space after it. */
function valueStart(source: Uint8Array, colon: number, lineEnd: number): number {
  if (colon === lineEnd) return lineEnd;
  return source[colon + 1] === SPACE ? colon + 2 : colon + 1;
}

function isErrorName(source: Uint8Array, start: number, end: number): boolean {
  if (!isField(source, start, end, EVENT)) return false;
  const from = valueStart(source, start + EVENT.length, end);
  return end - from === ERROR_NAME.length && startsWith(source, from, end, ERROR_NAME);
}

function startsWith(source: Uint8Array, start: number, end: number, text: Uint8Array): boolean {
  if (end - start < text.length) return false;
  for (let at = 0; at < text.length; at += 1) if (source[start + at] !== text[at]) return false;
  return true;
}

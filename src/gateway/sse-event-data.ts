import type { ErrorEnvelope } from '../http/error-envelope.ts';
import type { SseEvent } from './sse-events.ts';

/** What an event says, without its framing. */
export type SseEventData =
  /** Comments, ids, a retry: nothing that a client is handed. */
  | { readonly kind: 'none' }
  /** `event: error`, by which the official clients know a failure, whatever the data are. */
  | { readonly kind: 'error' }
  | { readonly kind: 'done' }
  | {
      readonly kind: 'data';
      readonly bytes: Uint8Array;
      readonly start: number;
      readonly end: number;
      /** Of data that stood in several lines and were joined: where each line begins, in them and in the event. */
      readonly joinedFrom: readonly JoinedLine[] | null;
    };

export interface JoinedLine {
  readonly inData: number;
  readonly inEvent: number;
}

const NONE: SseEventData = { kind: 'none' };
const ERROR: SseEventData = { kind: 'error' };
const DONE: SseEventData = { kind: 'done' };

const asBytes = (text: string) => new TextEncoder().encode(text);
const DATA = asBytes('data');
const EVENT = asBytes('event');
const ERROR_NAME = asBytes('error');
const DONE_MARK = asBytes('[DONE]');
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const COLON = 0x3a;

export function readSseEventData(event: SseEvent): SseEventData {
  const { source, start, firstLineEnd, lines } = event;
  if (lines === 0) return NONE;
  // Nearly every event of a model's stream is one line of data.
  if (lines === 1) {
    if (!isField(source, start, firstLineEnd, DATA)) {
      return isErrorName(source, start, firstLineEnd) ? ERROR : NONE;
    }
    return dataOf(source, valueStart(source, start + DATA.length, firstLineEnd), firstLineEnd);
  }
  return readSeveralLines(event);
}

function dataOf(bytes: Uint8Array, start: number, end: number): SseEventData {
  // The clients ask whether it begins so: what stands behind it does not matter to them.
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
    // The \n of \r\n makes an empty line here, which says nothing either.
    at = lineEnd + 1;
  }
  const [only] = dataLines;
  if (only === undefined) return NONE;
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

/** Where in the event that byte of its data stands. */
export function placeInEvent(joinedFrom: readonly JoinedLine[] | null, at: number): number {
  if (joinedFrom === null) return at;
  const line = joinedFrom.findLast(({ inData }) => inData <= at);
  return line === undefined ? at : line.inEvent + at - line.inData;
}

/** A line without a colon is a name too, with an empty value. */
function isField(source: Uint8Array, start: number, end: number, name: Uint8Array): boolean {
  const after = start + name.length;
  return startsWith(source, start, end, name) && (after === end || source[after] === COLON);
}

/** After the colon, and after one space behind it. */
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

/**
 * What the client of a stream that broke is told (G-38): official clients raise an error on it. Nothing comes
 * after it, and no [DONE].
 */
export function brokenStreamEvent(envelope: ErrorEnvelope): Uint8Array<ArrayBuffer> {
  return asBytes(`data: ${JSON.stringify(envelope)}\n\n`);
}

import {
  type AnswerHead,
  finishHead,
  type HeadFields,
  noFields,
  readHeaderLine,
  readStatusLine,
} from './answer-head.ts';

/** A head, or a trailer, in bytes and in lines. OpenAI's has some 35 lines and 2 kB. */
const MOST_HEAD_BYTES = 64 * 1024;
const MOST_HEAD_LINES = 256;
/** The size of a chunk with its extensions. */
const MOST_CHUNK_LINE_BYTES = 4 * 1024;
/** 2^48 bytes. */
const MOST_SIZE_DIGITS = 12;
/** Answers of 1xx before the one that counts. */
const MOST_INTERIM = 16;

const [TAB, LF, CR, SEMICOLON, DELETE] = [0x09, 0x0a, 0x0d, 0x3b, 0x7f] as const;

export interface AnswerSink {
  /** Of the final answer; those of 1xx are not passed. */
  head(head: AnswerHead): void;
  /** A part of the body, never empty: a view of the bytes that were pushed. */
  body(bytes: Uint8Array): void;
}

/**
 * One answer at a time, from bytes that come in any pieces. A machine without I/O:
 *
 *   status ─► header ─┬─► length ──────────────────────────────► whole
 *      ▲         │    ├─► chunk-size ─► chunk-data ─► chunk-end ──┐
 *      └── 1xx ──┘    │        ▲  │                               │
 *                     │        └──┼───────────────────────────────┘
 *                     │           └─► trailer ─────────────────► whole
 *                     └─► until-close ─── the upstream closes ──► whole
 */
export interface AnswerParser {
  /** Ready for an answer; what came before is forgotten. */
  begin(): void;
  /**
   * more: the answer goes on. whole: it has ended with these bytes. excess: it has ended, and more bytes came than it
   * has, so the connection must not be used again. broken: see `problem`; nothing more is read.
   */
  push(bytes: Uint8Array): 'more' | 'whole' | 'excess' | 'broken';
  /** The upstream has closed the connection: `whole` only where that is how the answer ends. */
  close(): 'whole' | 'broken';
  /** Of a broken one, for the log. It has no bytes of the answer in it. */
  problem(): string;
}

type State =
  | 'status'
  | 'header'
  | 'length'
  | 'chunk-size'
  | 'chunk-data'
  | 'chunk-end'
  | 'trailer'
  | 'until-close'
  | 'whole'
  | 'broken';

/** 1 for the bytes that a line may have: no control characters but the tab. */
const TEXT = new Uint8Array(256).fill(1, 0x20).fill(0, DELETE, DELETE + 1);
TEXT[TAB] = 1;

export function createAnswerParser(sink: AnswerSink): AnswerParser {
  const line = createLineReader();
  let state: State = 'status';
  let fields: HeadFields = noFields();
  let left = 0;
  let lines = 0;
  let interim = 0;
  let problem = '';

  function fail(what: string): void {
    state = 'broken';
    problem = what;
  }

  function begin(): void {
    state = 'status';
    fields = noFields();
    interim = 0;
    problem = '';
    line.begin(MOST_HEAD_BYTES);
  }

  /** These return what is wrong, or null. */
  function takeLine(): string | null {
    if (state === 'header') return takeHeader();
    if (state === 'chunk-size') return takeChunkSize();
    if (state === 'trailer') return takeTrailer();
    const wrong = readStatusLine(line.bytes, line.start, line.end, fields);
    lines = 0;
    state = 'header';
    return wrong;
  }

  function takeHeader(): string | null {
    if (line.start === line.end) return fields.status < 200 ? endInterim() : endHead();
    lines += 1;
    if (lines > MOST_HEAD_LINES) return 'the answer has too many headers';
    return readHeaderLine(line.bytes, line.start, line.end, fields);
  }

  function endHead(): string | null {
    const head = finishHead(fields);
    if (typeof head === 'string') return head;
    const { framing } = head;
    if (framing === 'chunked') beginChunk();
    else if (framing === 'until-close') state = framing;
    else {
      left = framing;
      state = framing === 0 ? 'whole' : 'length';
    }
    sink.head(head);
    return null;
  }

  /** 100, 102, 103: the answer itself follows. We never ask for another protocol. */
  function endInterim(): string | null {
    interim += 1;
    if (fields.status === 101) return 'the upstream changes to another protocol';
    if (interim > MOST_INTERIM) return 'the upstream sends one interim answer after the other';
    fields = noFields();
    state = 'status';
    line.begin(MOST_HEAD_BYTES);
    return null;
  }

  function beginChunk(): void {
    state = 'chunk-size';
    line.begin(MOST_CHUNK_LINE_BYTES);
  }

  function takeChunkSize(): string | null {
    let at = line.start;
    let size = 0;
    for (; at < line.end; at += 1) {
      const digit = HEX[line.bytes[at] as number] as number;
      if (digit === NO_DIGIT) break;
      size = size * 16 + digit;
    }
    const digits = at - line.start;
    const isNumber = digits > 0 && digits <= MOST_SIZE_DIGITS;
    if (!isNumber || (at < line.end && line.bytes[at] !== SEMICOLON))
      return 'the size of a chunk is not a number';
    if (size > 0) {
      left = size;
      state = 'chunk-data';
      return null;
    }
    lines = 0;
    state = 'trailer';
    line.begin(MOST_HEAD_BYTES);
    return null;
  }

  function takeTrailer(): string | null {
    if (line.start === line.end) {
      state = 'whole';
      return null;
    }
    lines += 1;
    if (lines > MOST_HEAD_LINES) return 'the answer has too many trailers';
    return readHeaderLine(line.bytes, line.start, line.end, null);
  }

  /** The CRLF after a chunk, and nothing else. */
  function takeChunkEnd(byte: number | undefined): string | null {
    if (byte !== (left === 2 ? CR : LF)) return 'a chunk is longer than its size';
    left -= 1;
    if (left === 0) beginChunk();
    return null;
  }

  /** Returns where it has read to. */
  function takeBody(bytes: Uint8Array, at: number): number {
    const end = state === 'until-close' ? bytes.length : Math.min(bytes.length, at + left);
    sink.body(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end));
    if (state === 'until-close') return end;
    left -= end - at;
    if (left > 0) return end;
    if (state === 'length') state = 'whole';
    else {
      state = 'chunk-end';
      left = 2;
    }
    return end;
  }

  begin();
  return {
    begin,
    push(bytes) {
      let at = 0;
      while (at < bytes.length && state !== 'whole' && state !== 'broken') {
        if (state === 'length' || state === 'chunk-data' || state === 'until-close') {
          at = takeBody(bytes, at);
          continue;
        }
        let wrong: string | null;
        if (state === 'chunk-end') {
          wrong = takeChunkEnd(bytes[at]);
          at += 1;
        } else {
          at = line.read(bytes, at);
          wrong = line.isWhole ? takeLine() : line.problem;
        }
        if (wrong !== null) fail(wrong);
      }
      if (state === 'broken') return 'broken';
      if (state !== 'whole') return 'more';
      return at < bytes.length ? 'excess' : 'whole';
    },
    close() {
      if (state === 'until-close' || state === 'whole') {
        state = 'whole';
        return 'whole';
      }
      if (state !== 'broken')
        fail(state === 'status' ? 'closed before an answer' : 'closed within the answer');
      return 'broken';
    },
    problem: () => problem,
  };
}

const NO_DIGIT = 16;
const HEX = new Uint8Array(256).fill(NO_DIGIT);
for (let digit = 0; digit < 16; digit += 1) {
  const char = digit.toString(16);
  HEX[char.charCodeAt(0)] = digit;
  HEX[char.toUpperCase().charCodeAt(0)] = digit;
}

interface LineReader {
  /** The line without its CRLF, once it is whole; it is valid until the next `read`. */
  bytes: Uint8Array;
  start: number;
  end: number;
  isWhole: boolean;
  problem: string | null;
  /** For so many bytes of lines from here on. */
  begin(mostBytes: number): void;
  /** Reads until the end of a line or of the bytes, and returns where it has read to. */
  read(bytes: Uint8Array, at: number): number;
}

const FIRST_HELD_BYTES = 512;

/** A line that lies whole in the bytes is not copied; each byte of any other is checked once. */
function createLineReader(): LineReader {
  let held = new Uint8Array(0);
  let heldLength = 0;
  let hasCr = false;
  let budget = 0;

  function hold(bytes: Uint8Array, from: number, to: number): void {
    if (heldLength + to - from > held.length) {
      const larger = new Uint8Array(Math.max(FIRST_HELD_BYTES, 2 * (heldLength + to - from)));
      larger.set(held.subarray(0, heldLength));
      held = larger;
    }
    held.set(bytes.subarray(from, to), heldLength);
    heldLength += to - from;
  }

  function endAt(bytes: Uint8Array, from: number, cr: number): void {
    if (heldLength === 0) {
      reader.bytes = bytes;
      reader.start = from;
      reader.end = cr;
      return;
    }
    hold(bytes, from, cr);
    endInHeld();
  }

  function endInHeld(): void {
    reader.bytes = held;
    reader.start = 0;
    reader.end = heldLength;
  }

  function refuse(what: string, at: number): number {
    reader.problem = what;
    return at;
  }

  /** The line's bytes are known; the next one has to be the LF. */
  function finish(bytes: Uint8Array, at: number): number {
    if (bytes[at] !== LF) return refuse('a line has a CR without its LF', at);
    hasCr = false;
    heldLength = 0;
    reader.isWhole = true;
    return at + 1;
  }

  const reader: LineReader = {
    bytes: held,
    start: 0,
    end: 0,
    isWhole: false,
    problem: null,
    begin(mostBytes) {
      budget = mostBytes;
      heldLength = 0;
      hasCr = false;
      reader.problem = null;
    },
    read(bytes, from) {
      reader.isWhole = false;
      if (hasCr) {
        endInHeld();
        return finish(bytes, from);
      }
      let at = from;
      while (at < bytes.length && TEXT[bytes[at] as number] === 1) at += 1;
      budget -= at - from + 2;
      if (budget < 0) return refuse('a head, a trailer or the size of a chunk is too long', at);
      if (at === bytes.length) {
        budget += 2;
        hold(bytes, from, at);
        return at;
      }
      if (bytes[at] === LF) return refuse('a line ends without its CR', at);
      if (bytes[at] !== CR) return refuse('a line has a control character', at);
      if (at + 1 === bytes.length) {
        hold(bytes, from, at);
        hasCr = true;
        return at + 1;
      }
      endAt(bytes, from, at);
      return finish(bytes, at + 1);
    },
  };
  return reader;
}

import {
  type AnswerHead,
  finishHead,
  type HeadFields,
  noFields,
  readHeaderLine,
  readStatusLine,
} from './answer-head.ts';

/** The limits of a head or trailer, in bytes and lines. OpenAI's has about 35 lines and 2 kB. */
const MOST_HEAD_BYTES = 64 * 1024;
const MOST_HEAD_LINES = 256;
/** The limit of a chunk-size line with its extensions. */
const MOST_CHUNK_LINE_BYTES = 4 * 1024;
/** 2^48 bytes. */
const MOST_SIZE_DIGITS = 12;
/** The limit of 1xx answers before the final one. */
const MOST_INTERIM = 16;

const [TAB, LF, CR, SEMICOLON, DELETE] = [0x09, 0x0a, 0x0d, 0x3b, 0x7f] as const;

interface AnswerSink {
  /** The head of the final answer. Those of 1xx are skipped. */
  head(head: AnswerHead): void;
  /** A part of the body, never empty: a view of the pushed bytes. */
  body(bytes: Uint8Array): void;
}

/**
 * Parses one answer at a time, from bytes split anywhere. A state machine without I/O:
 *
 *   status ─► header ─┬─► length ──────────────────────────────► whole
 *      ▲         │    ├─► chunk-size ─► chunk-data ─► chunk-end ──┐
 *      └── 1xx ──┘    │        ▲  │                               │
 *                     │        └──┼───────────────────────────────┘
 *                     │           └─► trailer ─────────────────► whole
 *                     └─► until-close ─── the upstream closes ──► whole
 */
export interface AnswerParser {
  /** Resets the parser for the next answer. */
  begin(): void;
  /**
   * more: the answer continues. whole: it has ended with these bytes. excess: there are bytes after its end, so the
   * connection must not be reused. broken: see `problem`; nothing more is read.
   */
  push(bytes: Uint8Array): 'more' | 'whole' | 'excess' | 'broken';
  /** The upstream has closed the connection. Returns `whole` only if that is how the answer ends. */
  close(): 'whole' | 'broken';
  /** What is wrong with a broken answer, for the log. Contains none of its bytes. */
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

/** 1 for the bytes that a line may contain: no control characters except the tab. */
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

  /** Each returns what is wrong, or null. */
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

  /** 100, 102, 103: the final answer follows. We never request another protocol. */
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

  /** Exactly the CRLF after a chunk. */
  function takeChunkEnd(byte: number | undefined): string | null {
    if (byte !== (left === 2 ? CR : LF)) return 'a chunk is longer than its size';
    left -= 1;
    if (left === 0) beginChunk();
    return null;
  }

  /** Returns the position after what it has read. */
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
  /** The line without its CRLF, once it is complete. Valid until the next `read`. */
  bytes: Uint8Array;
  start: number;
  end: number;
  isWhole: boolean;
  problem: string | null;
  /** Sets the limit of bytes for the following lines. */
  begin(mostBytes: number): void;
  /** Reads to the end of the line or of the bytes, and returns the position after it. */
  read(bytes: Uint8Array, at: number): number;
}

const FIRST_HELD_BYTES = 512;

/** A line that is complete in the bytes is not copied. Each byte of a split line is checked once. */
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

  /** The CR was read; the next byte must be the LF. */
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

import { write } from 'node:fs';
import type { Clock } from '../../ports/clock.ts';
import type { LogContext, LogEntry, LogLevel, LogSink } from '../../ports/log.ts';

interface ConsoleLinesParts {
  readonly output: LineOutput;
  readonly format: LineFormat;
  readonly clock: Clock;
  readonly maxLines?: number;
  readonly maxCharacters?: number;
}

export interface ConsoleLines extends LogSink {
  /** Resolves once all accepted lines are written, or after `waitMs`: the reader may have stopped for good. */
  flush(waitMs?: number): Promise<void>;
  droppedCount(): number;
}

const MAX_LINES = 10_000;
const MAX_CHARACTERS = 8 * 1024 * 1024;
/** Lines that waited are written together, but no more at once than a pipe holds. */
const CHUNK_CHARACTERS = 65_536;
const FLUSH_MS = 2_000;

/**
 * One line per entry. While the reader is stalled, lines are buffered up to a bound; those beyond it are dropped, and
 * their number is logged once output resumes. With an empty buffer a line is written before `take` returns, so a
 * process that exits right after logging has its reason on record (on a terminal it has to flush).
 */
export function createConsoleLines(parts: ConsoleLinesParts): ConsoleLines {
  const { output, format, clock, maxLines = MAX_LINES, maxCharacters = MAX_CHARACTERS } = parts;
  const waiting = createWaitingLines(maxLines, maxCharacters);
  const flushers = new Set<() => void>();
  let flowing = true;
  let underWay = 0;
  const dropped = { total: 0, unsaid: 0 };

  function drop(lines: number): void {
    dropped.total += lines;
    dropped.unsaid += lines;
  }

  function send(text: string, lines: number): void {
    let ended = false;
    underWay += 1;
    const wantsMore = output.write(text, (failed) => {
      ended = true;
      underWay -= 1;
      if (failed) drop(lines);
      if (underWay === 0) continueAfter(failed);
    });
    if (!wantsMore && !ended) flowing = false;
  }

  function continueAfter(failed: boolean): void {
    flowing = true;
    while (flowing) {
      const chunk = waiting.takeChunk(CHUNK_CHARACTERS);
      if (chunk === null) break;
      send(chunk.text, chunk.lines);
    }
    if (flowing && dropped.unsaid > 0 && !failed) reportDropped();
    if (underWay > 0) return;
    for (const flushed of flushers) flushed();
  }

  function reportDropped(): void {
    const message = `${dropped.unsaid} log lines were dropped: standard output did not take them`;
    dropped.unsaid = 0;
    const timestamp = new Date(clock.now()).toISOString();
    send(`${format({ timestamp, level: 'warn', message, context: {} })}\n`, 1);
  }

  function flush(waitMs = FLUSH_MS): Promise<void> {
    if (underWay === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const end = () => {
        timer.cancel();
        flushers.delete(end);
        resolve();
      };
      const timer = clock.after(waitMs, end);
      flushers.add(end);
    });
  }

  return {
    take(entry) {
      const line = `${format(entry)}\n`;
      if (flowing) send(line, 1);
      else if (!waiting.add(line)) drop(1);
    },
    flush,
    droppedCount: () => dropped.total,
  };
}

interface WaitingLines {
  /** False if it does not fit. */
  add(line: string): boolean;
  /** The first lines, as one text of about `characters`; null when none wait. */
  takeChunk(characters: number): { readonly text: string; readonly lines: number } | null;
}

/** A queue of lines, limited in number and length. */
function createWaitingLines(maxLines: number, maxCharacters: number): WaitingLines {
  let waiting: string[] = [];
  let waitingCharacters = 0;
  return {
    add(line) {
      if (waiting.length >= maxLines || waitingCharacters + line.length > maxCharacters) return false;
      waiting.push(line);
      waitingCharacters += line.length;
      return true;
    },
    takeChunk(characters) {
      let lines = 0;
      let taken = 0;
      while (lines < waiting.length && taken < characters) {
        taken += waiting[lines]?.length ?? 0;
        lines += 1;
      }
      if (lines === 0) return null;
      const text = waiting.slice(0, lines).join('');
      waiting = waiting.slice(lines);
      waitingCharacters -= taken;
      return { text, lines };
    },
  };
}

/** One entry as text, without the line break at its end. */
type LineFormat = (entry: LogEntry) => string;

const RESERVED = ['timestamp', 'level', 'message'];
const RESET = '\x1b[0m';
const DIM = '\x1b[2m';
const COLOURS: Record<LogLevel, string> = {
  debug: '\x1b[90m',
  info: '\x1b[32m',
  warn: '\x1b[33m',
  error: '\x1b[31m',
};

/** For programs: one JSON object per line, with the context's fields beside the entry's own. */
export const formatJsonLine: LineFormat = ({ timestamp, level, message, context }) => {
  const fields = RESERVED.some((name) => name in context) ? renamed(context) : context;
  return JSON.stringify({ timestamp, level, message, ...fields });
};

/** A context field must not replace the entry's own level or message. */
function renamed(context: LogContext): LogContext {
  const entries = Object.entries(context);
  return Object.fromEntries(
    entries.map(([name, value]) => [RESERVED.includes(name) ? `context_${name}` : name, value]),
  );
}

/** For people: time (UTC), level, message, name=value on one line; the stack of an error on the lines below. */
export function createTerminalFormat({ colours }: { colours: boolean }): LineFormat {
  const paint = (colour: string, text: string) => (colours ? `${colour}${text}${RESET}` : text);
  return ({ timestamp, level, message, context }) => {
    const below: string[] = [];
    const fields = Object.entries(context).map(([name, value]) => {
      below.push(...stackLines(value));
      return ` ${paint(DIM, `${printable(name)}=`)}${readable(value)}`;
    });
    const time = paint(DIM, timestamp.slice(11, 23));
    const head = `${time} ${paint(COLOURS[level], level.toUpperCase().padEnd(5))} ${printable(message)}`;
    return [head + fields.join(''), ...below.map((line) => paint(DIM, `    ${line}`))].join('\n');
  };
}

function readable(value: unknown): string {
  if (isError(value)) return printable(JSON.stringify(`${value.name}: ${value.message}`));
  if (typeof value !== 'string') return printable(JSON.stringify(value) ?? 'undefined');
  return /^[^\s"'=]+$/.test(value) ? printable(value) : printable(JSON.stringify(value));
}

/** Without the first line, which repeats name and message. */
function stackLines(value: unknown): string[] {
  if (!isError(value)) return [];
  const frames = value.stack.split('\n').filter((line) => line.trimStart().startsWith('at '));
  const own = frames.map((line) => printable(line.trim()));
  const { cause } = value;
  return isError(cause)
    ? [...own, printable(`caused by ${cause.name}: ${cause.message}`), ...stackLines(cause)]
    : own;
}

interface ErrorFields {
  readonly name: string;
  readonly message: string;
  readonly stack: string;
  readonly cause?: unknown;
}

function isError(value: unknown): value is ErrorFields {
  return typeof value === 'object' && value !== null && 'stack' in value && typeof value.stack === 'string';
}

/** Untrusted text must not start a new line, control the terminal or change the text direction. */
function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: this removes control characters.
  return text.replace(/[\0-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g, (character) =>
    character === '\n' ? '\\n' : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** The output of log lines. It never blocks and never throws. */
interface LineOutput {
  readonly isTerminal: boolean;
  /** False if it accepts no more until `done`; the text itself was accepted. `done` may run before this returns. */
  write(text: string, done: (failed: boolean) => void): boolean;
}

/** The pause before writing again to a full, non-blocking terminal. */
const RETRY_MS = 20;

/**
 * Bun writes to a pipe, a socket or a file without blocking and says when a pipe is full (tried: 64 KiB into a
 * pipe without a reader, the event loop kept running). To a terminal it blocks: one stopped with Ctrl-S would stop
 * the whole process. There the write goes to the thread pool instead, one at a time.
 */
export function createStandardOutput(): LineOutput {
  return process.stdout.isTTY ? terminalOutput(process.stdout.fd) : streamOutput(process.stdout);
}

function streamOutput(stream: NodeJS.WriteStream): LineOutput {
  // A closed reader must not end the process. Each write reports its own failure, so this event is ignored.
  stream.on('error', () => {});
  return {
    isTerminal: false,
    write(text, done) {
      try {
        return stream.write(text, (error) => done(error !== null && error !== undefined));
      } catch {
        done(true);
        return true;
      }
    },
  };
}

function terminalOutput(descriptor: number): LineOutput {
  function writeAll(bytes: Uint8Array, done: (failed: boolean) => void): void {
    write(descriptor, bytes, (error, written) => {
      if (error?.code === 'EAGAIN') setTimeout(() => writeAll(bytes, done), RETRY_MS);
      else if (error) done(true);
      else if (written < bytes.length) writeAll(bytes.subarray(written), done);
      else done(false);
    });
  }
  return {
    isTerminal: true,
    write(text, done) {
      writeAll(Buffer.from(text), done);
      return false;
    },
  };
}

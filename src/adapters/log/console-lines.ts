import type { Clock } from '../../ports/clock.ts';
import type { LogSink } from '../../ports/log.ts';
import type { LineFormat } from './line-format.ts';
import type { LineOutput } from './standard-output.ts';
import { createWaitingLines } from './waiting-lines.ts';

export interface ConsoleLinesParts {
  readonly output: LineOutput;
  readonly format: LineFormat;
  readonly clock: Clock;
  readonly maxLines?: number;
  readonly maxCharacters?: number;
}

export interface ConsoleLines extends LogSink {
  /** Resolves once everything taken is written, or after `waitMs`: whoever reads may have stopped for good. */
  flush(waitMs?: number): Promise<void>;
  droppedCount(): number;
}

const MAX_LINES = 10_000;
const MAX_CHARACTERS = 8 * 1024 * 1024;
/** Lines that waited are written together, but no more at once than a pipe holds. */
const CHUNK_CHARACTERS = 65_536;
const FLUSH_MS = 2_000;

/**
 * One line an entry. While nobody reads, lines wait here up to a bound; those past it are dropped, and their
 * number is said as soon as it flows again. A line that waits for nothing is handed on before `take` returns,
 * so that a process that ends right after it has said why (not on a terminal: there it has to flush).
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
    if (flowing && dropped.unsaid > 0 && !failed) sayDropped();
    if (underWay > 0) return;
    for (const flushed of flushers) flushed();
  }

  function sayDropped(): void {
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

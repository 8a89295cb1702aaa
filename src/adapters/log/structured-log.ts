import type { Clock } from '../../ports/clock.ts';
import type { Log, LogContext, LogLevel, LogSink } from '../../ports/log.ts';
import { createRedactor, type Redacted } from './redact.ts';

interface LogParts {
  readonly clock: Clock;
  /** Entries below it cost one comparison. */
  readonly level: LogLevel;
  readonly sinks: readonly LogSink[];
  readonly context?: LogContext;
}

interface StructuredLog extends Log {
  /** Adds a sink for later entries: the database and shared state are opened after the log. */
  addSink(sink: LogSink): void;
  /** The number of entries lost here or because a sink threw. Sinks count the entries that they drop. */
  droppedCount(): number;
}

const SEVERITY: Record<LogLevel, number> = { debug: 0, info: 1, warn: 2, error: 3 };
/** Sinks may log, but a sink that logs for every entry would recurse endlessly. */
const MAX_NESTING = 2;

/**
 * Creates all log entries: they are redacted and limited in size before any sink sees them. Neither a bad argument nor a
 * failing sink throws in the caller.
 */
export function createLog({ clock, level: lowest, sinks, context = {} }: LogParts): StructuredLog {
  const redactor = createRedactor();
  const receivers = [...sinks];
  let dropped = 0;
  let nesting = 0;

  function write(
    level: LogLevel,
    message: string,
    given: LogContext | undefined,
    bound: () => Redacted,
  ): void {
    if (SEVERITY[level] < SEVERITY[lowest]) return;
    if (nesting >= MAX_NESTING) {
      dropped += 1;
      return;
    }
    nesting += 1;
    try {
      const text = redactor.text(String(message));
      const timestamp = new Date(clock.now()).toISOString();
      const known = bound();
      const added = given === undefined ? known : join(known, given, text.length);
      deliver({ timestamp, level, message: text, context: added.context });
    } catch {
      dropped += 1;
    } finally {
      nesting -= 1;
    }
  }

  function deliver(entry: Parameters<LogSink['take']>[0]): void {
    for (const sink of receivers) {
      try {
        sink.take(entry);
      } catch {
        dropped += 1;
      }
    }
  }

  function join(known: Redacted, given: LogContext, usedBytes: number): Redacted {
    const added = redactor.context(given, known.bytes + usedBytes);
    return { context: { ...known.context, ...added.context }, bytes: known.bytes + added.bytes };
  }

  /** The gateway creates one per request and rarely writes to it, so its context is redacted with the first entry. */
  function logWith(bound: () => Redacted): Log {
    return {
      debug: (message, given) => write('debug', message, given, bound),
      info: (message, given) => write('info', message, given, bound),
      warn: (message, given) => write('warn', message, given, bound),
      error: (message, given) => write('error', message, given, bound),
      with: (more) => logWith(once(() => join(bound(), more, 0))),
    };
  }

  const nothing: Redacted = { context: {}, bytes: 0 };
  return {
    ...logWith(once(() => join(nothing, context, 0))),
    addSink: (sink) => void receivers.push(sink),
    droppedCount: () => dropped,
  };
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export type LogContext = Readonly<Record<string, unknown>>;

/** An entry as it is written, published and stored: redacted and limited in size. */
export interface LogEntry {
  /** ISO 8601, UTC. */
  readonly timestamp: string;
  readonly level: LogLevel;
  readonly message: string;
  readonly context: LogContext;
}

/**
 * Logging never throws and never blocks: an entry that cannot be accepted is counted and dropped. An `Error` in the context
 * is logged with its name, message and stack.
 */
export interface Log {
  debug(message: string, context?: LogContext): void;
  info(message: string, context?: LogContext): void;
  warn(message: string, context?: LogContext): void;
  error(message: string, context?: LogContext): void;
  /** Returns a log that adds this context to every entry. */
  with(context: LogContext): Log;
}

/** Prints, stores or publishes finished entries. Returns at once; entries that it cannot accept are counted. */
export interface LogSink {
  take(entry: LogEntry): void;
}

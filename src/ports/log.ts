export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export type LogContext = Readonly<Record<string, unknown>>;

/** What is written, published and kept: already redacted and bounded in size. */
export interface LogEntry {
  /** ISO 8601, UTC. */
  readonly timestamp: string;
  readonly level: LogLevel;
  readonly message: string;
  readonly context: LogContext;
}

/**
 * Logging never throws, never blocks and never waits: an entry that cannot be taken is counted and dropped.
 * An `Error` in the context is kept as its name, message and stack.
 */
export interface Log {
  debug(message: string, context?: LogContext): void;
  info(message: string, context?: LogContext): void;
  warn(message: string, context?: LogContext): void;
  error(message: string, context?: LogContext): void;
  /** A log whose every entry carries this context too. */
  with(context: LogContext): Log;
}

/** Takes finished entries: prints, keeps or publishes them. Returns at once; what it cannot take it counts. */
export interface LogSink {
  take(entry: LogEntry): void;
}

import type { LogEntry, LogLevel } from '../../ports/log.ts';

export interface LogFilter {
  /** At least this level; null is all. */
  readonly minLevel: LogLevel | null;
  /** In the message or in the context, whatever the case of its letters; null is all. */
  readonly contains: string | null;
}

/** A line that came over the wire, and what filters look at, worked out when the first one asks. */
export interface WatchedLine {
  readonly entry: LogEntry;
  readonly rank: number;
  searchable(): string;
}

const LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];

export function createLogFilter({ minLevel, contains }: LogFilter): (line: WatchedLine) => boolean {
  const least = minLevel === null ? 0 : LEVELS.indexOf(minLevel);
  const wanted = (contains ?? '').toLowerCase();
  return (line) => line.rank >= least && (wanted === '' || line.searchable().includes(wanted));
}

/** Null for what is no entry: another version of this program may run beside this one. */
export function readLine(message: string): WatchedLine | null {
  const entry = entryIn(message);
  if (entry === null) return null;
  let text: string | null = null;
  return {
    entry,
    rank: LEVELS.indexOf(entry.level),
    searchable() {
      text ??= `${entry.message} ${JSON.stringify(entry.context)}`.toLowerCase();
      return text;
    },
  };
}

function entryIn(message: string): LogEntry | null {
  let value: Partial<LogEntry> | null;
  try {
    value = JSON.parse(message) as Partial<LogEntry> | null;
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null) return null;
  const { timestamp, level, message: said, context } = value;
  if (level === undefined || !LEVELS.includes(level) || typeof said !== 'string') return null;
  if (typeof timestamp !== 'string' || Number.isNaN(Date.parse(timestamp))) return null;
  if (typeof context !== 'object' || context === null) return null;
  return { timestamp, level, message: said, context };
}

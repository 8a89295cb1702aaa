import type { Log, LogContext, LogLevel } from '../../src/ports/log.ts';
import { noteLine } from '../setup/recent.ts';

export interface Recorded {
  readonly level: LogLevel;
  readonly message: string;
  readonly context: LogContext;
}

/** A log that keeps its entries unchanged. */
export function createRecordingLog(): { log: Log; entries: Recorded[] } {
  const entries: Recorded[] = [];
  const logWith = (base: LogContext): Log => {
    const at =
      (level: LogLevel) =>
      (message: string, context: LogContext = {}) => {
        const entry = { level, message, context: { ...base, ...context } };
        entries.push(entry);
        noteLine(() => `${level} ${message} ${Bun.inspect(entry.context, { compact: true })}`);
      };
    return {
      debug: at('debug'),
      info: at('info'),
      warn: at('warn'),
      error: at('error'),
      with: (context) => logWith({ ...base, ...context }),
    };
  };
  return { log: logWith({}), entries };
}

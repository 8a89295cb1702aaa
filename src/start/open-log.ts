import { type ConsoleLines, createConsoleLines } from '../adapters/log/console-lines.ts';
import { createTerminalFormat, formatJsonLine } from '../adapters/log/line-format.ts';
import { createStandardOutput } from '../adapters/log/standard-output.ts';
import { createLog } from '../adapters/log/structured-log.ts';
import { createKeptLog } from '../domain/logs/kept-log.ts';
import { createLiveLog } from '../domain/logs/live-log.ts';
import type { Clock } from '../ports/clock.ts';
import type { Database } from '../ports/database.ts';
import type { Log } from '../ports/log.ts';
import type { SharedState } from '../ports/shared-state.ts';
import type { Configuration } from './configuration.ts';

export interface OwnLog {
  readonly log: Log;
  /** From now on entries are also published, and kept for the log viewer. */
  keepIn(database: Database, sharedState: SharedState): { close(): Promise<void> };
  flush(): Promise<void>;
}

/** Lines on standard output from the first moment on; the other two places once they are open. */
export function openLog(configuration: Configuration, clock: Clock): OwnLog {
  const lines = consoleLines(configuration, clock);
  const context = { process: process.pid };
  const log = createLog({ clock, level: configuration.log.level, sinks: [lines], context });
  return {
    log,
    keepIn(database, sharedState) {
      const { keepRows, keepMs } = configuration.log;
      const kept = createKeptLog({
        database,
        clock,
        keepRows,
        keepMs,
        onTrouble: ({ kind, error }) => log.error('the kept log is in trouble', { kind, error }),
      });
      log.addSink(kept);
      log.addSink(createLiveLog({ sharedState, clock }));
      return kept;
    },
    flush: () => lines.flush(),
  };
}

function consoleLines(configuration: Configuration, clock: Clock): ConsoleLines {
  const output = createStandardOutput();
  const { format } = configuration.log;
  const isText = format === 'text' || (format === 'auto' && output.isTerminal);
  const colours = output.isTerminal;
  return createConsoleLines({
    output,
    clock,
    format: isText ? createTerminalFormat({ colours }) : formatJsonLine,
  });
}

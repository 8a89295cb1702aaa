import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import { describe } from './start-problem.ts';

/** One thing that must end in order: servers first, then work, then what both stand on. */
export interface Closing {
  readonly name: string;
  close(): Promise<void> | void;
}

/** What closing may take besides the running calls: putting jobs back, the last log entries, the database. */
const CLOSING_MS = 15_000;

/**
 * After the first SIGTERM or SIGINT everything closes in order and the process ends with 0 (1 where something
 * would not close). A second signal ends it at once.
 */
export function closeOnSignal(
  { clock, log }: { clock: Clock; log: Log },
  closings: readonly Closing[],
  runningCallsMs: number,
): void {
  let isClosing = false;
  const onSignal = (signal: NodeJS.Signals) => {
    if (isClosing) process.exit(signal === 'SIGINT' ? 130 : 143);
    isClosing = true;
    log.info('stopping', { signal });
    clock.after(runningCallsMs + CLOSING_MS, () => process.exit(1));
    closeAll(log, closings).then((failures) => process.exit(failures === 0 ? 0 : 1));
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
}

/** Closes all, one after the other, whatever fails on the way; the number of those that failed. */
export async function closeAll(log: Log, closings: readonly Closing[]): Promise<number> {
  let failures = 0;
  for (const { name, close } of closings) {
    try {
      await close();
    } catch (error) {
      failures += 1;
      log.error('could not be closed', { part: name, reason: describe(error) });
    }
  }
  return failures;
}

import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import {
  type Configuration,
  ownEnvironment,
  type Role,
  readConfiguration,
} from '../settings/configuration.ts';

/**
 * The beginning of every process: reads the configuration, says all that is wrong with it, runs `start`. Whatever
 * keeps it from starting is one line on standard error and an exit code that is not 0.
 */
export async function run(role: Role, start: (configuration: Configuration) => Promise<void>): Promise<void> {
  // What this process writes (secrets, the database, the socket) is its owner's alone.
  process.umask(0o077);
  const read = readConfiguration(role, ownEnvironment());
  if (read.outcome === 'refused') {
    const settings =
      read.problems.length === 1 ? 'one setting needs' : `${read.problems.length} settings need`;
    const lines = read.problems.map((problem) => `- ${problem}`);
    process.stderr.write(`turnpike: cannot start, ${settings} a change:\n${lines.join('\n')}\n`);
    process.exit(1);
  }
  try {
    await start(read.configuration);
  } catch (error) {
    const isOurFault = !(error instanceof StartProblem) && (error as Error).name !== 'DatabaseFailure';
    process.stderr.write(`turnpike: ${describe(error)}\n`);
    if (isOurFault && error instanceof Error) process.stderr.write(`${error.stack}\n`);
    process.exit(1);
  }
}

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

/** A reason not to start that the operator can mend: shown as its message alone, without a stack. */
export class StartProblem extends Error {
  override readonly name = 'StartProblem';
}

/** One line of text for whatever was thrown. */
export function describe(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replace(/\s*\n\s*/g, ' ');
}

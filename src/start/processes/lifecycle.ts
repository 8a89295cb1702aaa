import { constants } from 'node:os';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import {
  type Configuration,
  ownEnvironment,
  type Role,
  readConfiguration,
} from '../settings/configuration.ts';

/**
 * The start of every process: reads the configuration, reports everything that is wrong with it, and runs `start`. A
 * failure to start is reported on standard error, with a non-zero exit code.
 */
export async function run(role: Role, start: (configuration: Configuration) => Promise<void>): Promise<void> {
  // Files that this process writes (secrets, the database, the socket) are accessible to their owner only.
  process.umask(0o077);
  // A reader that has closed the pipe must not end the process, which writes there that it is ready.
  process.stderr.on('error', () => {});
  const read = readConfiguration(role, ownEnvironment());
  if (read.outcome === 'refused') {
    const { size } = new Set(read.problems.map((problem) => /^\w+/.exec(problem)?.[0]));
    const settings = size === 1 ? 'one setting needs' : `${size} settings need`;
    const lines = read.problems.map((problem) => `- ${problem}`);
    process.stderr.write(`turnpike: cannot start, ${settings} a change:\n${lines.join('\n')}\n`);
    process.exit(1);
  }
  try {
    await start(read.configuration);
  } catch (error) {
    if (error instanceof ReportedProblem) process.exit(1);
    const isOurFault = !(error instanceof StartProblem) && (error as Error).name !== 'DatabaseFailure';
    process.stderr.write(`turnpike: ${describe(error)}\n`);
    if (isOurFault && error instanceof Error) process.stderr.write(`${error.stack}\n`);
    process.exit(1);
  }
}

/** A part to close, in order: servers first, then workers, then the parts that both depend on. */
export interface Closing {
  readonly name: string;
  close(): Promise<void> | void;
}

/**
 * The time limit for closing, besides the running calls: returning jobs, writing the last log entries, closing the
 * database.
 */
const CLOSING_MS = 15_000;

/**
 * A terminal and systemd signal the whole process group, and npm forwards its signal as well: one request to stop
 * reaches a process two or three times within milliseconds. Repetitions within this time count as one signal.
 */
const REPEATED_WITHIN_MS = 2_000;

export interface Stop {
  /**
   * Closes everything in order and ends the process with 0, or 1 if something could not be closed. Later calls do
   * nothing.
   */
  begin(reason: Readonly<Record<string, string>>): void;
  /** The first signal starts the stop; one that arrives more than two seconds later ends the process immediately. */
  onSignal(signal: NodeJS.Signals): void;
}

export function createStop(
  { clock, log }: { clock: Clock; log: Log },
  closings: readonly Closing[],
  runningCallsMs: number,
  exit: (code: number) => void = process.exit,
): Stop {
  let state: 'running' | 'stopping' | 'can be forced' = 'running';

  function begin(reason: Readonly<Record<string, string>>): void {
    if (state !== 'running') return;
    state = 'stopping';
    log.info('stopping', reason);
    clock.after(REPEATED_WITHIN_MS, () => {
      state = 'can be forced';
    });
    clock.after(runningCallsMs + CLOSING_MS, () => exit(1));
    closeAll(log, closings).then((failures) => exit(failures === 0 ? 0 : 1));
  }

  return {
    begin,
    onSignal(signal) {
      if (state === 'can be forced') exit(128 + constants.signals[signal]);
      else if (state === 'running') begin({ signal });
      else log.info('a repeated signal counts as one', { signal, withinMs: REPEATED_WITHIN_MS });
    },
  };
}

/** Closes all, one after the other, even if some fail. Returns the number of failures. */
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

/** A reason not to start that the operator can fix: only its message is shown, without a stack. */
export class StartProblem extends Error {
  override readonly name = 'StartProblem';
}

/** A child process has already reported why it cannot start; nothing is added. */
export class ReportedProblem extends Error {}

/** One line of text for any thrown value. */
export function describe(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replace(/\s*\n\s*/g, ' ');
}

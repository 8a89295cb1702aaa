import { type Configuration, ownEnvironment, type Role, readConfiguration } from './configuration.ts';
import { describe, StartProblem } from './start-problem.ts';

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

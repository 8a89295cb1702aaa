/** `npm run turnpike -- COMMAND …`: the command line. */
import { createSystemClock } from '../adapters/clock/system-clock.ts';
import { createSystemSecrets } from '../adapters/secrets/system-secrets.ts';
import { type Command, EXIT_USAGE, type Terminal } from '../command-line/command.ts';
import { commandNamed, help } from '../command-line/commands.ts';
import { askThroughSocket, openedSystem } from './processes/control-socket.ts';
import { isDataFolderHeld } from './processes/data-folder.ts';
import { type Closing, closeAll, run } from './processes/lifecycle.ts';
import type { Configuration } from './settings/configuration.ts';
import { knownDeployments } from './settings/known-deployments.ts';
import { settingsPage } from './settings/settings.ts';
import { openJobs } from './wiring/background-jobs.ts';
import { connect } from './wiring/connect.ts';

const terminal: Terminal = {
  print: (line) => void process.stdout.write(`${line}\n`),
  complain: (line) => void process.stderr.write(`turnpike: ${line}\n`),
};

process.exitCode = await main(process.argv.slice(2));

async function main([name = 'help', ...words]: readonly string[]): Promise<number> {
  if (name === 'help' || name === '--help' || name === '-h') {
    terminal.print(help());
    return 0;
  }
  if (name === 'settings') {
    process.stdout.write(settingsPage());
    return 0;
  }
  const command = commandNamed(name);
  if (command === null) {
    terminal.complain(`there is no command ${name}`);
    terminal.complain(help());
    return EXIT_USAGE;
  }
  if (command.works === 'alone') {
    const context = {
      ...{ terminal, deployments: knownDeployments },
      ...{ clock: createSystemClock(), secrets: createSystemSecrets() },
    };
    return await command.run(context, words);
  }
  let exitCode = 1;
  await run('command-line', async (configuration) => {
    exitCode = await runOnTheDatabase(configuration, command, words);
  });
  return exitCode;
}

async function runOnTheDatabase(
  configuration: Configuration,
  command: Command,
  words: readonly string[],
): Promise<number> {
  if (configuration.postgres === null && isDataFolderHeld(configuration.dataDir)) {
    return await askThroughSocket(configuration.dataDir, [command.name, ...words], terminal);
  }
  const parts = await connect({ ...configuration, log: { ...configuration.log, level: 'error' } });
  const closings: Closing[] = [...parts.closings];
  try {
    const jobs = await openJobs({
      ...parts,
      whenClosing: (closingName, close) => void closings.unshift({ name: closingName, close }),
    });
    // Opening has migrated already: these are the steps to tell of.
    const system = openedSystem(parts, jobs.queue, async () => parts.migrated);
    return await command.run({ ...system, terminal }, words);
  } finally {
    await closeAll(parts.log, closings);
  }
}

/** `npm run turnpike -- COMMAND …`: the command line. */
import manifest from '../../package.json' with { type: 'json' };
import { createSystemClock } from '../adapters/clock/system-clock.ts';
import { createSystemSecrets } from '../adapters/secrets/system-secrets.ts';
import { type Command, complainOfUsage, EXIT_USAGE, type Terminal } from '../command-line/command.ts';
import {
  commandNamed,
  commandsPage,
  help,
  helpOf,
  nearestCommand,
  unknownOption,
} from '../command-line/commands.ts';
import { askThroughSocket, openedSystem } from './processes/control-socket.ts';
import { isDataFolderHeld } from './processes/data-folder.ts';
import { type Closing, closeAll, run } from './processes/lifecycle.ts';
import type { Configuration } from './settings/configuration.ts';
import { knownDeployments } from './settings/known-deployments.ts';
import { settingsPage } from './settings/settings-page.ts';
import { openJobs } from './wiring/background-jobs.ts';
import { connect } from './wiring/connect.ts';

const terminal: Terminal = {
  print: (line) => void process.stdout.write(`${line}\n`),
  complain: (line) => void process.stderr.write(`turnpike: ${line}\n`),
};

// `turnpike companies | head -1` closes the pipe early, which is not a failure.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: Error & { readonly code?: string }) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
}

/** These print a page, take no arguments and have no help text. */
const WITHOUT_HELP = ['settings', 'commands'];

process.exitCode = await main(process.argv.slice(2));

async function main([name = 'help', ...words]: readonly string[]): Promise<number> {
  if (name === '--version' || name === '-V' || name === 'version') {
    terminal.print(`turnpike ${manifest.version}`);
    return 0;
  }
  if (isHelp(name) || name === 'help') return showHelp(words.find((word) => !isHelp(word)));
  if (words.some(isHelp)) return showHelp(name);
  if (name === 'settings' || name === 'commands') {
    process.stdout.write(name === 'settings' ? settingsPage() : commandsPage());
    return 0;
  }
  const command = commandNamed(name);
  if (command === null) return complainOfName(name);
  if (unknownOption(command, words) !== null) return complainOfUsage(terminal, command);
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

function isHelp(word: string): boolean {
  return word === '--help' || word === '-h';
}

function showHelp(name: string | undefined): number {
  const command = name === undefined ? null : commandNamed(name);
  if (command !== null) terminal.print(helpOf(command));
  else if (name === undefined || name === 'help' || WITHOUT_HELP.includes(name)) terminal.print(help());
  else return complainOfName(name);
  return 0;
}

function complainOfName(name: string): number {
  const nearest = nearestCommand(name);
  const meant = nearest === null ? '' : ` Did you mean ${nearest}?`;
  terminal.complain(`there is no command ${name}.${meant} "turnpike help" lists all of them.`);
  return EXIT_USAGE;
}

async function runOnTheDatabase(
  configuration: Configuration,
  command: Command,
  words: readonly string[],
): Promise<number> {
  if (configuration.postgres === null && isDataFolderHeld(configuration.dataDir)) {
    const given = { terminal, clock: createSystemClock() };
    const exitCode = await askThroughSocket(configuration.dataDir, [command.name, ...words], given);
    if (exitCode !== null) return exitCode;
  }
  const parts = await connect({ ...configuration, log: { ...configuration.log, level: 'error' } });
  const closings: Closing[] = [...parts.closings];
  try {
    const jobs = await openJobs({
      ...parts,
      whenClosing: (closingName, close) => void closings.unshift({ name: closingName, close }),
    });
    // Connecting has already run the migrations; these are the steps to report.
    const system = openedSystem(parts, jobs.queue, async () => parts.migrated);
    return await command.run({ ...system, terminal }, words);
  } finally {
    await closeAll(parts.log, closings);
  }
}

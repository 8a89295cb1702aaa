import { type Command, complainOfUsage, EXIT_OK, printJson, takeJson } from './command.ts';

export const migrateCommand: Command = {
  name: 'migrate',
  usage: '[--json]',
  summary: "Brings the database to this code's version. Every service does so too when it starts.",
  works: 'on-the-database',
  async run({ terminal, migrate }, given) {
    const { isJson, words } = takeJson(given);
    if (words.length > 0) return complainOfUsage(terminal, migrateCommand);
    const applied = await migrate();
    if (isJson) return printJson(terminal, { applied });
    for (const step of applied) terminal.print(`applied ${step}`);
    terminal.print(
      applied.length === 0 ? 'the database is up to date' : `changes applied: ${applied.length}`,
    );
    return EXIT_OK;
  },
};

const DEAD_LETTERS_SHOWN = 100;

export const queueCommand: Command = {
  name: 'queue',
  usage: 'NAME [--json]',
  summary: "A job queue's counts and its dead letters with their errors.",
  works: 'on-the-database',
  async run({ terminal, jobQueue }, given) {
    const { isJson, words } = takeJson(given);
    const [name, ...rest] = words;
    if (name === undefined || rest.length > 0) {
      return complainOfUsage(terminal, queueCommand);
    }
    const { waiting, active, dead } = await jobQueue.counts(name);
    const letters = await jobQueue.deadLetters(name, DEAD_LETTERS_SHOWN);
    if (isJson) {
      const deadLetters = letters.map(({ id, failedAt, error }) => ({ id, failedAt, error }));
      return printJson(terminal, { name, waiting, active, dead, deadLetters });
    }
    terminal.print(`${name}: ${waiting} waiting, ${active} active, ${dead} dead`);
    for (const letter of letters) {
      terminal.print(`${letter.id} ${letter.failedAt.toISOString()} ${letter.error.split('\n')[0]}`);
    }
    return EXIT_OK;
  },
};

export const redriveCommand: Command = {
  name: 'redrive',
  usage: 'NAME [ID …]',
  summary: 'Gives dead letters of a job queue another run: all of them, or those named.',
  works: 'on-the-database',
  async run({ terminal, jobQueue }, [name, ...ids]) {
    if (name === undefined) {
      return complainOfUsage(terminal, redriveCommand);
    }
    const moved = await jobQueue.redrive(name, ids.length > 0 ? ids : undefined);
    terminal.print(`${moved} jobs of ${name} run again`);
    return EXIT_OK;
  },
};

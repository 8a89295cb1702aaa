import { type Command, complainOfUsage, EXIT_OK } from './command.ts';

export const migrateCommand: Command = {
  name: 'migrate',
  usage: '',
  summary: "Brings the database to this code's version. Every service does so too when it starts.",
  works: 'on-the-database',
  async run({ terminal, migrate }) {
    const steps = await migrate();
    for (const step of steps) terminal.print(`applied ${step}`);
    terminal.print(steps.length === 0 ? 'the database is up to date' : `changes applied: ${steps.length}`);
    return EXIT_OK;
  },
};

const DEAD_LETTERS_SHOWN = 100;

export const queueCommand: Command = {
  name: 'queue',
  usage: 'NAME',
  summary: "A job queue's counts and its dead letters with their errors.",
  works: 'on-the-database',
  async run({ terminal, jobQueue }, [name, ...rest]) {
    if (name === undefined || rest.length > 0) {
      return complainOfUsage(terminal, queueCommand);
    }
    const { waiting, active, dead } = await jobQueue.counts(name);
    terminal.print(`${name}: ${waiting} waiting, ${active} active, ${dead} dead`);
    for (const letter of await jobQueue.deadLetters(name, DEAD_LETTERS_SHOWN)) {
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

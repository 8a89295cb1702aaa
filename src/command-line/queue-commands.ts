import { type Command, EXIT_OK, EXIT_USAGE } from './command.ts';

const SHOWN = 100;

export const queueCommand: Command = {
  name: 'queue',
  usage: 'NAME',
  summary: "A job queue's counts and its dead letters with their errors.",
  works: 'on-the-database',
  async run({ terminal, jobQueue }, [name, ...rest]) {
    if (name === undefined || rest.length > 0) {
      terminal.complain('usage: turnpike queue NAME');
      return EXIT_USAGE;
    }
    const { waiting, active, dead } = await jobQueue.counts(name);
    terminal.print(`${name}: ${waiting} waiting, ${active} active, ${dead} dead`);
    for (const letter of await jobQueue.deadLetters(name, SHOWN)) {
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
      terminal.complain('usage: turnpike redrive NAME [ID …]');
      return EXIT_USAGE;
    }
    const moved = await jobQueue.redrive(name, ids.length > 0 ? ids : undefined);
    terminal.print(`${moved} jobs of ${name} run again`);
    return EXIT_OK;
  },
};

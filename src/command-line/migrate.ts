import { type Command, EXIT_OK } from './command.ts';

export const migrateCommand: Command = {
  name: 'migrate',
  usage: '',
  summary: "Brings the database to this code's version. Every service does so too when it starts.",
  works: 'on-the-database',
  async run({ terminal, migrate }) {
    const steps = await migrate();
    for (const step of steps) terminal.print(`applied ${step}`);
    terminal.print(steps.length === 0 ? 'the database is up to date' : `${steps.length} migrations applied`);
    return EXIT_OK;
  },
};

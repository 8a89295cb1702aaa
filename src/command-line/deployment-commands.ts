import { stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { exportCalls } from '../domain/calls/export/export-calls.ts';
import type { JobQueue } from '../ports/job-queue.ts';
import {
  type Command,
  complainOfUsage,
  EXIT_FAILED,
  EXIT_OK,
  EXIT_USAGE,
  momentIn,
  printJson,
  readOptions,
  type Terminal,
  takeJson,
} from './command.ts';

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
    if (!jobQueue.names().includes(name)) return complainOfNoQueue(terminal, name, jobQueue);
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

function complainOfNoQueue(terminal: Terminal, name: string, jobQueue: JobQueue): number {
  terminal.complain(`there is no queue ${name}; the queues are ${jobQueue.names().join(', ')}`);
  return EXIT_FAILED;
}

export const redriveCommand: Command = {
  name: 'redrive',
  usage: 'NAME [ID …]',
  summary: 'Redrives dead letters of a job queue: all of them, or those given.',
  works: 'on-the-database',
  async run({ terminal, jobQueue }, words) {
    const [name, ...ids] = readOptions(words, {}, Number.POSITIVE_INFINITY)?.positionals ?? [];
    if (name === undefined) return complainOfUsage(terminal, redriveCommand);
    if (!jobQueue.names().includes(name)) return complainOfNoQueue(terminal, name, jobQueue);
    const moved = await jobQueue.redrive(name, ids.length > 0 ? ids : undefined);
    terminal.print(`${moved} jobs of ${name} run again`);
    return EXIT_OK;
  },
};

/** Can be run again, or by a timer: it continues where it stopped, and repetition is harmless. */
export const exportCallsCommand: Command = {
  name: 'export-calls',
  usage: '--out /FOLDER [--from YYYY-MM-DD] [--json]',
  summary: 'Writes finished hours of calls as Parquet files for analytics, from where the last run stopped.',
  works: 'on-the-database',
  async run({ terminal, database, clock, tableFiles }, given) {
    const { isJson, words } = takeJson(given);
    const options = readExportWords(words);
    if (options === null) return complainOfUsage(terminal, exportCallsCommand);
    const { out, from } = options;
    if (!isAbsolute(out)) {
      terminal.complain('--out: give the whole path: the process that has the database writes the files');
      return EXIT_USAGE;
    }
    const isFolder = await stat(out).then(
      (found) => found.isDirectory(),
      () => false,
    );
    if (!isFolder || tableFiles === undefined) {
      terminal.complain(`--out: there is no folder ${out}: create it first`);
      return EXIT_FAILED;
    }
    const exported = await exportCalls(
      {
        ...{ database, clock, files: await tableFiles(out) },
        onFile: ({ path, calls }) => {
          if (!isJson) terminal.print(`${path}: ${calls} calls`);
        },
      },
      from,
    );
    if (isJson) return printJson(terminal, exported);
    const { files, calls, unchanged } = exported;
    terminal.print(`${calls} calls in ${files} files written, ${unchanged} files were complete`);
    return EXIT_OK;
  },
};

function readExportWords(
  words: readonly string[],
): { readonly out: string; readonly from: Date | null } | null {
  const options = { out: { type: 'string' }, from: { type: 'string' } } as const;
  const { out, from } = readOptions(words, options)?.values ?? {};
  if (out === undefined) return null;
  const begin = from === undefined ? null : momentIn(from);
  return begin !== null && Number.isNaN(begin.getTime()) ? null : { out, from: begin };
}

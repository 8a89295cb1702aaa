import { type FileHandle, open } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { parseArgs } from 'node:util';
import { findCompany } from '../domain/accounts/company.ts';
import { statementLines } from '../domain/credits/statement.ts';
import { isId } from '../domain/keys/api-key.ts';
import { type Command, EXIT_FAILED, EXIT_OK, EXIT_USAGE } from './command.ts';

/** What is printed is kept in memory on its way through a running process's socket. */
const MOST_PRINTED = 50_000;
const LINES_AT_ONCE = 1_000;
const OWNER_ONLY = 0o600;
const DAY = /^\d{4}-\d\d-\d\d$/;

export const statementCommand: Command = {
  name: 'statement',
  usage: 'COMPANY_ID --from YYYY-MM-DD --to YYYY-MM-DD [--out /FILE]',
  summary: "A company's credit transactions as CSV, from one day to another (UTC, both included).",
  works: 'on-the-database',
  async run({ terminal, database }, words) {
    const wanted = readWords(words);
    if (wanted === null) {
      terminal.complain(`usage: turnpike ${statementCommand.name} ${statementCommand.usage}`);
      return EXIT_USAGE;
    }
    const { companyId, from, to, out } = wanted;
    if (out !== null && !isAbsolute(out)) {
      terminal.complain('--out: give the whole path: the process that has the database writes the file');
      return EXIT_USAGE;
    }
    if (!isId(companyId) || (await findCompany(database, companyId)) === null) {
      terminal.complain(`there is no company ${companyId}: turnpike companies lists them`);
      return EXIT_FAILED;
    }
    const lines = statementLines(database, { accountId: companyId, from, to });
    if (out !== null) {
      const written = await writeFile(out, lines);
      if (written.outcome === 'failed') {
        terminal.complain(`--out: ${out} cannot be written: ${written.reason}`);
        return EXIT_FAILED;
      }
      terminal.print(`${written.lines} lines in ${out}`);
      return EXIT_OK;
    }
    let printed = 0;
    for await (const line of lines) {
      if (printed === MOST_PRINTED) {
        terminal.complain(`that was cut after ${MOST_PRINTED} lines: write it to a file with --out`);
        return EXIT_FAILED;
      }
      terminal.print(line);
      printed += 1;
    }
    return EXIT_OK;
  },
};

interface WantedStatement {
  readonly companyId: string;
  readonly from: Date;
  /** The midnight after the last day. */
  readonly to: Date;
  readonly out: string | null;
}

function readWords(words: readonly string[]): WantedStatement | null {
  const option = { type: 'string' } as const;
  try {
    const { values, positionals } = parseArgs({
      args: [...words],
      options: { from: option, to: option, out: option },
      allowPositionals: true,
    });
    const [companyId, ...rest] = positionals;
    const from = dayIn(values.from);
    const to = dayIn(values.to);
    if (companyId === undefined || rest.length > 0 || from === null || to === null || to < from) return null;
    const end = new Date(to);
    end.setUTCDate(end.getUTCDate() + 1);
    return { companyId, from, to: end, out: values.out ?? null };
  } catch {
    // An option that there is not, or one without its value.
    return null;
  }
}

function dayIn(text: string | undefined): Date | null {
  if (text === undefined || !DAY.test(text)) return null;
  const day = new Date(`${text}T00:00:00Z`);
  return Number.isNaN(day.getTime()) || day.toISOString().slice(0, 10) !== text ? null : day;
}

type WrittenFile = { outcome: 'written'; lines: number } | { outcome: 'failed'; reason: string };

/** Never over a file that is there, and readable for its owner alone. */
async function writeFile(path: string, lines: AsyncIterable<string>): Promise<WrittenFile> {
  let file: FileHandle;
  try {
    file = await open(path, 'wx', OWNER_ONLY);
  } catch (error) {
    return { outcome: 'failed', reason: reasonOf(error) };
  }
  try {
    let count = 0;
    let waiting: string[] = [];
    const flush = async () => {
      if (waiting.length > 0) await file.appendFile(`${waiting.join('\n')}\n`);
      waiting = [];
    };
    for await (const line of lines) {
      waiting.push(line);
      count += 1;
      if (waiting.length === LINES_AT_ONCE) await flush();
    }
    await flush();
    return { outcome: 'written', lines: count };
  } finally {
    await file.close();
  }
}

function reasonOf(error: unknown): string {
  const { code, message } = error as { code?: string; message?: string };
  return code === 'EEXIST' ? 'there is a file of that name' : (message ?? String(error));
}

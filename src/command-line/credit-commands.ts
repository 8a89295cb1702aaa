import { type FileHandle, open, rm } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { findUser } from '../domain/accounts/user.ts';
import {
  creditsOfMicro,
  microOfCredits,
  publishLevel,
  readLevel,
} from '../domain/credits/ledger/credit-account.ts';
import { postTransaction } from '../domain/credits/ledger/ledger.ts';
import { statementLines } from '../domain/credits/ledger/statement.ts';
import { openUserAccount, publishUserLevel } from '../domain/credits/ledger/user-account.ts';
import { isId } from '../domain/keys/api-key.ts';
import { auditBooks, sizeOfBooks } from '../domain/reconciliation/audit.ts';
import { beginsWithDay } from '../ports/clock.ts';
import type { Database } from '../ports/database.ts';
import { auditProvider } from './audit/audit-commands.ts';
import { compareHeads, printHeads } from './audit/ledger-heads.ts';
import {
  type Command,
  complainOfCredits,
  complainOfUsage,
  EXIT_FAILED,
  EXIT_OK,
  EXIT_USAGE,
  printJson,
  readOptions,
  type Terminal,
  takeJson,
} from './command.ts';

const ADJUST_USAGE = 'ACCOUNT_ID CREDITS --reason TEXT --idempotency-key KEY';
const LONGEST_REASON = 500;
const LONGEST_KEY = 200;

/** The key makes it safe to retry if the result of the first attempt is unknown. */
export const adjustCreditsCommand: Command = {
  name: 'adjust-credits',
  usage: 'ACCOUNT_ID CREDITS …',
  summary:
    'Adds credits to a company or user, or removes them (-12.5). Without arguments it lists its options.',
  works: 'on-the-database',
  async run({ terminal, database, sharedState }, words) {
    const adjustment = readAdjustment(words);
    if (adjustment === 'wrong-credits') return complainOfCredits(terminal, 'CREDITS', words[1] ?? '');
    if (adjustment === null) {
      return complainOfUsage(terminal, adjustCreditsCommand, ADJUST_USAGE);
    }
    const { accountId, amountMicro, reason, key } = adjustment;
    const userOf = isId(accountId) ? ((await findUser(database, accountId))?.companyId ?? null) : null;
    const posted = await database.transaction(async (transaction) => {
      if (userOf !== null) await openUserAccount(transaction, { userId: accountId, companyId: userOf });
      return await postTransaction(transaction, {
        ...{ accountId, type: 'ADJUSTMENT', amountMicro, contra: 'adjustments' },
        ...{ sourceKind: 'adjustment', sourceId: key, reason },
      });
    });
    switch (posted.outcome) {
      case 'posted':
        if (userOf === null) await publishLevel(sharedState, posted.level);
        else await publishUserLevel(sharedState, userOf, posted.level);
        terminal.print(`${accountId} now holds ${creditsOfMicro(posted.level.balanceMicro)} credits`);
        return EXIT_OK;
      case 'already-posted': {
        const { posted: before, level } = posted;
        if (before.accountId !== accountId || before.amountMicro !== amountMicro) {
          const was = `${creditsOfMicro(before.amountMicro)} credits to ${before.accountId}`;
          terminal.complain(`this idempotency key was used for ${was}: nothing was changed, use another key`);
          return EXIT_FAILED;
        }
        terminal.print(`was done before: ${accountId} holds ${creditsOfMicro(level.balanceMicro)} credits`);
        return EXIT_OK;
      }
      case 'no-account':
        terminal.complain(`there is no account ${accountId}: turnpike companies lists the companies`);
        return EXIT_FAILED;
      case 'wrong-amount':
        terminal.complain(posted.problem);
        return EXIT_FAILED;
    }
  },
};

function readAdjustment(words: readonly string[]) {
  // The parser would take a negative amount for an option, so it is removed first.
  const [accountId, credits, ...options] = words;
  const amountMicro = microOfCredits(credits ?? '');
  if (accountId === undefined || credits === undefined || !isId(accountId)) return null;
  const typed = readOptions(options, { reason: { type: 'string' }, 'idempotency-key': { type: 'string' } });
  if (typed === null) return null;
  const { reason, 'idempotency-key': key } = typed.values;
  if (reason === undefined || reason.trim() === '' || reason.length > LONGEST_REASON) return null;
  if (key === undefined || key.trim() === '' || key.length > LONGEST_KEY) return null;
  if (amountMicro === null) return 'wrong-credits';
  return { accountId, amountMicro, reason, key };
}

/** Limited, because printed lines are kept in memory on their way through the socket of a running process. */
const MOST_PRINTED = 50_000;
const LINES_AT_ONCE = 1_000;
const OWNER_ONLY = 0o600;
const DAY = /^\d{4}-\d\d-\d\d$/;

export const statementCommand: Command = {
  name: 'statement',
  usage: 'COMPANY_ID|USER_ID --from YYYY-MM-DD --to YYYY-MM-DD [--out /FILE]',
  summary:
    'The credit transactions of a company, or of a user with a balance, as CSV, from one day to another (UTC, both included).',
  works: 'on-the-database',
  async run({ terminal, database }, words) {
    const options = readStatementOptions(words);
    if (options === null) {
      return complainOfUsage(terminal, statementCommand);
    }
    const { companyId, from, to, out } = options;
    if (out !== null && !isAbsolute(out)) {
      terminal.complain('--out: give the whole path: the process that has the database writes the file');
      return EXIT_USAGE;
    }
    if (!isId(companyId) || (await readLevel(database, companyId)) === null) {
      terminal.complain(`there is no credit account ${companyId}: turnpike companies lists the companies`);
      return EXIT_FAILED;
    }
    const lines = statementLines(database, { accountId: companyId, from, to });
    if (out !== null) {
      const written = await writeLines(out, lines);
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

interface StatementParams {
  readonly companyId: string;
  readonly from: Date;
  /** The midnight after the last day. */
  readonly to: Date;
  readonly out: string | null;
}

function readStatementOptions(words: readonly string[]): StatementParams | null {
  const option = { type: 'string' } as const;
  const typed = readOptions(words, { from: option, to: option, out: option }, 1);
  if (typed === null) return null;
  const { values, positionals } = typed;
  const [companyId] = positionals;
  const from = dayIn(values.from);
  const to = dayIn(values.to);
  if (companyId === undefined || from === null || to === null || to < from) return null;
  const end = new Date(to);
  end.setUTCDate(end.getUTCDate() + 1);
  return { companyId, from, to: end, out: values.out ?? null };
}

function dayIn(text: string | undefined): Date | null {
  if (text === undefined || !DAY.test(text)) return null;
  return beginsWithDay(text) ? new Date(`${text}T00:00:00Z`) : null;
}

type WrittenFile = { outcome: 'written'; lines: number } | { outcome: 'failed'; reason: string };

/** Never overwrites a file; the new one is accessible to its owner only. */
async function writeLines(path: string, lines: AsyncIterable<string>): Promise<WrittenFile> {
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
  } catch (error) {
    // A partial file would look complete and block the next attempt.
    await rm(path, { force: true });
    if ((error as { syscall?: string }).syscall !== 'write') throw error;
    return { outcome: 'failed', reason: reasonOf(error) };
  } finally {
    await file.close();
  }
}

function reasonOf(error: unknown): string {
  const { code, message } = error as { code?: string; message?: string };
  return code === 'EEXIST' ? 'there is a file of that name' : (message ?? String(error));
}

export const auditCommand: Command = {
  name: 'audit',
  usage:
    '[[--exact] [--verbose] | --head | --since-head /FILE | --provider [--from TIME --to TIME]] [--json]',
  summary:
    'Proves that the books balance, or agree with the payment provider; else one line for each fault, and exit code 1. --head prints the seals of all accounts, to be stored elsewhere; --since-head compares the ledger with them; --exact compares row by row, without sums first.',
  works: 'on-the-database',
  async run(context, given) {
    const { terminal, database } = context;
    if (given.includes('--provider')) return await auditProvider(context, given);
    const { isJson, words } = takeJson(given);
    if (words[0] === '--head' && words.length === 1) return await printHeads(terminal, database, isJson);
    if (words[0] === '--since-head' && words[1] !== undefined && words.length === 2 && !isJson) {
      return await compareHeads(terminal, database, words[1]);
    }
    const [isVerbose, isExact] = [words.includes('--verbose'), words.includes('--exact')];
    if (words.length > Number(isVerbose) + Number(isExact)) {
      return complainOfUsage(terminal, auditCommand);
    }
    if (isJson) return await auditAsJson(terminal, database, isExact);
    let faultCount = 0;
    for await (const { check, faults, isCut } of auditBooks(database, { isExact })) {
      for (const fault of faults) terminal.complain(fault);
      if (isCut) terminal.complain(`and more faults of this kind than ${faults.length}`);
      if (isVerbose && faults.length === 0) terminal.print(`checked that ${check.holds}`);
      faultCount += faults.length;
    }
    if (faultCount > 0) {
      terminal.complain(`the books do not balance: ${faultCount} faults`);
      return EXIT_FAILED;
    }
    const { accounts, transactions, calls } = await sizeOfBooks(database);
    terminal.print(`the books balance: ${accounts} accounts, ${transactions} transactions, ${calls} calls`);
    return EXIT_OK;
  },
};

async function auditAsJson(terminal: Terminal, database: Database, isExact: boolean): Promise<number> {
  const checks = [];
  for await (const { check, faults, isCut } of auditBooks(database, { isExact })) {
    checks.push({ holds: check.holds, ok: faults.length === 0, faults, isCut });
  }
  const ok = checks.every((check) => check.ok);
  printJson(terminal, { ok, ...(await sizeOfBooks(database)), checks });
  return ok ? EXIT_OK : EXIT_FAILED;
}

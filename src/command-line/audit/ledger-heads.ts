import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { type LedgerHead, ledgerHeads, lostHeads } from '../../domain/credits/ledger/ledger-seals.ts';
import { sealFaults } from '../../domain/reconciliation/seal-checks.ts';
import type { Database } from '../../ports/database.ts';
import { EXIT_FAILED, EXIT_OK, EXIT_USAGE, printJson, type Terminal } from '../command.ts';

/** Enough for a million accounts. */
const MOST_BYTES = 128 * 1024 * 1024;
const COMPARED_AT_ONCE = 1_000;
const HEAD_LINE = /^([0-9a-f-]{36}) (\d{1,18}) ([0-9a-f]{64})$/;
const LAST_LINE = /^# (\d+) accounts, sha256 ([0-9a-f]{64})$/;

/** Prints a line for each account, and one with their digest, which is enough to show that a stored list is complete. */
export async function printHeads(terminal: Terminal, database: Database, isJson: boolean): Promise<number> {
  const digest = createHash('sha256');
  const heads: LedgerHead[] = [];
  let count = 0;
  for await (const head of ledgerHeads(database)) {
    const line = lineOf(head);
    digest.update(`${line}\n`);
    count += 1;
    if (isJson) heads.push(head);
    else terminal.print(line);
  }
  const sha256 = digest.digest('hex');
  if (isJson) printJson(terminal, { accounts: count, sha256, heads });
  else terminal.print(`# ${count} accounts, sha256 ${sha256}`);
  return EXIT_OK;
}

function lineOf({ accountId, version, seal }: LedgerHead): string {
  return `${accountId} ${version} ${seal}`;
}

/**
 * Checks that every account continues from the seal that was stored elsewhere, and that all transactions match their
 * seals.
 */
export async function compareHeads(terminal: Terminal, database: Database, path: string): Promise<number> {
  if (!isAbsolute(path)) {
    terminal.complain('--since-head: give the whole path: the process that has the database reads the file');
    return EXIT_USAGE;
  }
  const read = await readHeads(path);
  if (read.outcome === 'unreadable') {
    terminal.complain(`--since-head: ${path}: ${read.problem}`);
    return EXIT_FAILED;
  }
  let lost = 0;
  for (let at = 0; at < read.heads.length; at += COMPARED_AT_ONCE) {
    for (const head of await lostHeads(database, read.heads.slice(at, at + COMPARED_AT_ONCE))) {
      const now = head.found === null ? 'it has none now' : `it now has ${head.found}`;
      terminal.complain(
        `transaction ${head.version} of account ${head.accountId} had the seal ${head.seal}: ${now}`,
      );
      lost += 1;
    }
  }
  if (lost > 0) {
    terminal.complain(`the ledger was changed after these heads were stored: ${lost} accounts`);
    return EXIT_FAILED;
  }
  const faults = await sealFaults(database);
  for (const fault of faults) terminal.complain(fault);
  if (faults.length > 0) return EXIT_FAILED;
  terminal.print(`the ledger goes on from the stored heads of ${read.heads.length} accounts`);
  return EXIT_OK;
}

type ReadHeads =
  | { readonly outcome: 'read'; readonly heads: readonly LedgerHead[] }
  | { readonly outcome: 'unreadable'; readonly problem: string };

async function readHeads(path: string): Promise<ReadHeads> {
  const unreadable = (problem: string) => ({ outcome: 'unreadable', problem }) as const;
  try {
    if ((await stat(path)).size > MOST_BYTES) return unreadable(`larger than ${MOST_BYTES} bytes`);
    const lines = (await readFile(path, 'utf8')).split(/\r?\n/).filter((line) => line !== '');
    const [, count, sha256] = LAST_LINE.exec(lines.pop() ?? '') ?? [];
    const heads: LedgerHead[] = [];
    const digest = createHash('sha256');
    for (const line of lines) {
      const [, accountId = '', version = '', seal = ''] = HEAD_LINE.exec(line) ?? [];
      if (accountId === '') return unreadable(`line ${heads.length + 1} is none that --head prints`);
      heads.push({ accountId, version: BigInt(version), seal });
      digest.update(`${line}\n`);
    }
    if (count !== String(heads.length) || sha256 !== digest.digest('hex')) {
      return unreadable('its last line does not fit the others: it is not as --head printed it');
    }
    return { outcome: 'read', heads };
  } catch (error) {
    return unreadable(error instanceof Error ? error.message : String(error));
  }
}

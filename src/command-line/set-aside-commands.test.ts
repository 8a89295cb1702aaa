import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { finishedCall } from '../../test/doubles/finished-calls.ts';
import { openTestDatabase } from '../../test/doubles/test-database.ts';
import { typedCommand } from '../../test/doubles/typed-command.ts';
import { createSystemSecrets } from '../adapters/secrets/system-secrets.ts';
import { addCompany } from '../domain/accounts/company.ts';
import { entryOf } from '../domain/calls/settlement/journal-record.ts';
import { countSetAside, storeSetAside } from '../domain/calls/settlement/set-aside-calls.ts';
import { readLevel } from '../domain/credits/ledger/credit-account.ts';
import type { JournalEntry } from '../ports/call-journal.ts';
import type { Database } from '../ports/database.ts';
import { type Command, EXIT_FAILED, EXIT_OK, EXIT_USAGE } from './command.ts';
import { repairCallsCommand, setAsideCallsCommand } from './set-aside-commands.ts';

const { newId } = createSystemSecrets();
let company: string;
let database: Database;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());
beforeEach(async () => {
  company = newId();
  await addCompany(database, { id: company, name: 'Acme', billingMode: 'PREPAID' });
});

const typed = (command: Command, ...words: string[]) => typedCommand({ database }, command, ...words);
const balance = async () => (await readLevel(database, company))?.balanceMicro;
async function setAside(entry: JournalEntry): Promise<string> {
  const kept = await storeSetAside(database, { ...entry, reason: 'a reason', journalFile: 'one.calls' });
  expect(kept).toEqual({ outcome: 'kept' });
  return entry.id;
}

describe('G-33 calls that were set aside', () => {
  test('are listed with their details, and none where there is none', async () => {
    expect((await typed(setAsideCallsCommand)).lines).toEqual(['no call is set aside']);
    const id = await setAside(entryOf(finishedCall(company)));
    const broken = await setAside({ id: newId(), record: 'no JSON' });
    const { exitCode, lines } = await typed(setAsideCallsCommand);
    expect(exitCode).toBe(EXIT_OK);
    expect(lines[0]).toStartWith(`${id} `);
    expect(lines[0]).toContain(`companyId "${company}", alias "svc/chat-default", outcome "SUCCEEDED"`);
    expect(lines[0]).toEndWith('tried 1 times: a reason');
    expect(lines[1]).toContain('companyId null');
    expect(lines[2]).toContain('calls set aside: 2');
    await typed(repairCallsCommand, id, broken, '--drop', 'of a test');
    expect(await countSetAside(database)).toBe(0);
  });

  test('are charged once, however often the command runs, also during the journal’s own replay', async () => {
    const call = finishedCall(company, { durationMs: -5 });
    const id = await setAside(entryOf(call));
    const first = await typed(repairCallsCommand, '--all');
    expect(first).toEqual({
      exitCode: EXIT_OK,
      lines: [`${id} charged: ${company} now holds -0.000076 credits`],
    });
    expect((await typed(repairCallsCommand, '--all')).lines).toEqual(['no call is set aside']);
    const again = await typed(repairCallsCommand, id);
    expect(again.exitCode).toBe(EXIT_FAILED);
    // The same entry of a copied journal stays resolved.
    await setAside(entryOf(call));
    expect(await countSetAside(database)).toBe(0);
    expect(await balance()).toBe(-76n);
  });

  test('with a wrong field are charged once it is set; until then they stay, with the reason', async () => {
    const entry = entryOf(finishedCall(company));
    const record = entry.record.replace('"promptTokens":10', '"promptTokens":-10');
    const id = await setAside({ ...entry, record });
    const refused = await typed(repairCallsCommand, id);
    expect(refused.exitCode).toBe(EXIT_FAILED);
    expect(refused.lines[0]).toStartWith(`! ${id} is still refused: tokens.promptTokens: `);
    expect(await countSetAside(database)).toBe(1);
    const tokens = JSON.stringify({ promptTokens: 10, cachedTokens: 4, completionTokens: 17 });
    const repaired = await typed(repairCallsCommand, id, '--set', `tokens=${tokens}`);
    expect(repaired.exitCode).toBe(EXIT_OK);
    expect(await balance()).toBe(-76n);
  });

  test('that are dropped are never charged, and the reason is stored', async () => {
    const id = await setAside(entryOf(finishedCall(company)));
    const dropped = await typed(repairCallsCommand, id, '--drop', 'a load test');
    expect(dropped).toEqual({ exitCode: EXIT_OK, lines: [`${id} dropped: it is never charged`] });
    expect((await typed(repairCallsCommand, id)).exitCode).toBe(EXIT_FAILED);
    expect((await typed(repairCallsCommand, '--all', id)).exitCode).toBe(EXIT_USAGE);
    expect(await balance()).toBe(0n);
    const [row] = await database.query('select resolution, note from set_aside_calls where id = $1', [id]);
    expect(row).toEqual({ resolution: 'DROPPED', note: 'a load test' });
  });
});

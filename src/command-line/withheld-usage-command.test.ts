import { beforeEach, describe, expect, test } from 'bun:test';
import { finishedCall } from '../../test/doubles/finished-calls.ts';
import { typedCommand } from '../../test/doubles/typed-command.ts';
import { useDatabase } from '../../test/setup/use-database.ts';
import { createSystemSecrets } from '../adapters/secrets/system-secrets.ts';
import { addCompany } from '../domain/accounts/company.ts';
import { chargeCalls } from '../domain/calls/settlement/charge-calls.ts';
import { readLevel } from '../domain/credits/ledger/credit-account.ts';
import { EXIT_FAILED, EXIT_OK, EXIT_USAGE } from './command.ts';
import { withheldUsageCommand } from './withheld-usage-command.ts';

const { newId } = createSystemSecrets();
const database = useDatabase();
let company: string;
beforeEach(async () => {
  company = newId();
  await addCompany(database, { id: company, name: 'Acme', billingMode: 'PREPAID' });
});

const typed = (...words: string[]) => typedCommand({ database }, withheldUsageCommand, ...words);
const balance = async () => (await readLevel(database, company))?.balanceMicro;
const audited = (id: string) =>
  database.query('select action, company_id as company, details from audit_log where object_id = $1', [id]);

/** 1,000 prompt tokens of which 100 are charged. */
async function withheld(): Promise<string> {
  const tokens = { promptTokens: 1_000, cachedTokens: 0, completionTokens: 0 };
  const call = finishedCall(company, { tokens, tokenBounds: { promptTokens: 100, completionTokens: 1 } });
  await chargeCalls(database, [call]);
  return call.id;
}

describe('turnpike withheld-usage', () => {
  test('lists open entries, with tokens, bounds and credits, and drops one with a reason', async () => {
    expect((await typed()).lines).toEqual(['no usage is withheld']);
    const id = await withheld();
    const { exitCode, lines } = await typed();
    expect(exitCode).toBe(EXIT_OK);
    expect(lines[0]).toStartWith(`${id} `);
    expect(lines[0]).toEndWith(
      `company ${company}, svc/chat-default: prompt 1000 of at most 100 tokens, completion 0 of at most 1; charged 0.0001, withheld 0.0009 credits`,
    );
    expect((await typed(id, '--drop', 'a fault')).exitCode).toBe(EXIT_OK);
    expect(await balance()).toBe(-100n);
    expect(await audited(id)).toMatchObject([{ action: 'withheld-usage.dropped' }]);
  });

  test('posts once, however often it runs, and writes it to the audit log', async () => {
    const id = await withheld();
    expect(await typed(id, '--post', 'checked')).toEqual({
      exitCode: EXIT_OK,
      lines: [`${id} 0.0009 credits charged to ${company}`],
    });
    const again = await typed(id, '--post', 'checked');
    expect([again.exitCode, again.lines[0]?.includes('was resolved before')]).toEqual([EXIT_OK, true]);
    expect(await balance()).toBe(-1_000n);
    expect(await audited(id)).toMatchObject([
      { action: 'withheld-usage.posted', company, details: { excessMicro: '900', reason: 'checked' } },
    ]);
    expect((await typed(id, '--drop', 'no')).exitCode).toBe(EXIT_FAILED);
    expect((await typed(id, '--drop', ' ')).exitCode).toBe(EXIT_USAGE);
  });

  test('resolves all open entries, or all of one alias', async () => {
    const ids = [await withheld(), await withheld()];
    const all = (...words: string[]) => typed('--all', ...words);
    expect((await all('--model', 'svc/other', '--post', 'checked')).lines).toEqual(['no usage is withheld']);
    const posted = await all('--model', 'svc/chat-default', '--post', 'checked');
    expect([posted.exitCode, posted.lines.length]).toEqual([EXIT_OK, 2]);
    expect(await balance()).toBe(-2_000n);
    expect((await all('--drop', 'again')).lines).toEqual(['no usage is withheld']);
    for (const id of ids) expect(await audited(id)).toHaveLength(1);
    for (const words of [[], [ids[0] ?? '', '--post', 'x'], ['--drop', 'a', '--post', 'b']]) {
      expect((await all(...words)).exitCode).toBe(EXIT_USAGE);
    }
  });
});

import { beforeAll, describe, expect, test } from 'bun:test';
import { typedCommand } from '../../test/doubles/typed-command.ts';
import { useMemoryDatabase } from '../../test/setup/use-memory-database.ts';
import { createSystemSecrets } from '../adapters/secrets/system-secrets.ts';
import { addCompany } from '../domain/accounts/company.ts';
import { creditsOfMicro, microOfCredits } from '../domain/credits/ledger/credit-account.ts';
import { listTransactions } from '../domain/credits/ledger/ledger.ts';
import { type Command, EXIT_FAILED, EXIT_OK, EXIT_USAGE } from './command.ts';
import { adjustCreditsCommand } from './credit-commands.ts';
import { pricesCommand, setPriceCommand } from './model-commands.ts';

const { newId } = createSystemSecrets();
const company = newId();
const database = useMemoryDatabase();
beforeAll(async () => {
  await addCompany(database, { id: company, name: 'Acme', billingMode: 'PREPAID' });
});
const typed = (command: Command, ...words: string[]) => typedCommand({ database }, command, ...words);

describe('adjust-credits', () => {
  const why = (key: string) => ['--reason', 'a gift', '--idempotency-key', key];

  test('P-19 posts an ADJUSTMENT once for its key, and says what the account holds', async () => {
    const first = await typed(adjustCreditsCommand, company, '12.5', ...why('k1'));
    expect(first).toEqual({ exitCode: EXIT_OK, lines: [`${company} now holds 12.5 credits`] });
    const again = await typed(adjustCreditsCommand, company, '12.5', ...why('k1'));
    expect(again).toEqual({ exitCode: EXIT_OK, lines: [`was done before: ${company} holds 12.5 credits`] });
    const taken = await typed(adjustCreditsCommand, company, '-20', ...why('k2'));
    expect(taken.lines).toEqual([`${company} now holds -7.5 credits`]);
    expect(await listTransactions(database, company, { first: 10 })).toMatchObject([
      {
        type: 'ADJUSTMENT',
        amountMicro: -20_000_000n,
        contra: 'adjustments',
        sourceId: 'k2',
        reason: 'a gift',
      },
      { type: 'ADJUSTMENT', amountMicro: 12_500_000n, sourceKind: 'adjustment', sourceId: 'k1' },
    ]);
  });

  test('a key that was used for something else changes nothing', async () => {
    await typed(adjustCreditsCommand, company, '1', ...why('k3'));
    const { exitCode, lines } = await typed(adjustCreditsCommand, company, '2', ...why('k3'));
    expect(exitCode).toBe(EXIT_FAILED);
    expect(lines[0]).toContain(`used for 1 credits to ${company}: nothing was changed`);
  });

  test('what is no account, or no amount, is told', async () => {
    const unknown = await typed(adjustCreditsCommand, newId(), '1', ...why('k4'));
    expect(unknown).toMatchObject({ exitCode: EXIT_FAILED });
    const zero = await typed(adjustCreditsCommand, company, '0', ...why('k5'));
    expect(zero.lines).toEqual(['! an amount of zero changes nothing']);
    const wrong = [
      [],
      [company],
      [company, '1'],
      [company, '1', '--reason', 'x'],
      [company, '1', '--idempotency-key', 'x'],
      [company, '1', '--reason', ' ', '--idempotency-key', 'x'],
      [company, '1.0000001', ...why('x')],
      [company, '1e3', ...why('x')],
      ['acme', '1', ...why('x')],
      [company, '1', ...why('x'), '--force'],
      [company, '1', '--reason', 'x'.repeat(501), '--idempotency-key', 'x'],
    ];
    for (const words of wrong) {
      expect((await typed(adjustCreditsCommand, ...words)).exitCode).toBe(EXIT_USAGE);
    }
  });

  test('credits are written and read exactly', () => {
    const amounts: [string, bigint][] = [
      ['0', 0n],
      ['0.000001', 1n],
      ['-0.5', -500_000n],
      ['1234567.000001', 1_234_567_000_001n],
    ];
    for (const [text, micro] of amounts) {
      expect(microOfCredits(text)).toBe(micro);
      expect(creditsOfMicro(micro)).toBe(text);
    }
    for (const text of ['', '-', '1.', '.5', '1,5', '0x1', '1.0000001'])
      expect(microOfCredits(text)).toBeNull();
  });
});

describe('prices', () => {
  test('G-28 are listed, and one that is set is said', async () => {
    const { lines } = await typed(pricesCommand);
    expect(lines).toHaveLength(6);
    expect(lines).toContain('acme/chat-default from the beginning: prompt 1, cached 0.5, completion 4');
    const parts = ['--prompt', '2.5', '--cached', '0.25', '--completion', '10'];
    const from = '2099-01-01T00:00Z';
    const set = await typed(setPriceCommand, 'acme/chat-default', ...parts, '--from', from);
    const line = 'acme/chat-default from 2099-01-01T00:00:00.000Z: prompt 2.5, cached 0.25, completion 10';
    expect(set).toEqual({ exitCode: EXIT_OK, lines: [line] });
    expect((await typed(pricesCommand)).lines).toContain(line);
    expect((await typed(setPriceCommand, 'acme/embed-default', ...parts)).exitCode).toBe(EXIT_OK);
  });

  test('a price in the past, of no alias or in no number is refused', async () => {
    const parts = ['--prompt', '1', '--cached', '1', '--completion', '1'];
    const refused = [
      ['acme/chat-default', ...parts, '--from', '2020-01-01'],
      ['acme/chat-default', ...parts, '--from', 'tomorrow'],
      ['svc/chat-default', ...parts],
      ['acme/chat-default', '--prompt', 'x', '--cached', '1', '--completion', '1'],
    ];
    for (const words of refused) {
      expect((await typed(setPriceCommand, ...words)).exitCode).toBe(EXIT_FAILED);
    }
    for (const words of [[], parts, ['acme/chat-default', '--prompt', '1'], ['a', 'b', ...parts]]) {
      expect((await typed(setPriceCommand, ...words)).exitCode).toBe(EXIT_USAGE);
    }
    expect((await typed(pricesCommand, 'all')).exitCode).toBe(EXIT_USAGE);
  });
});

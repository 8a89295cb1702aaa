import { beforeAll, describe, expect, test } from 'bun:test';
import { finishedCall } from '../../test/doubles/finished-calls.ts';
import { typedCommand } from '../../test/doubles/typed-command.ts';
import { useDatabase } from '../../test/setup/use-database.ts';
import { createSystemSecrets } from '../adapters/secrets/system-secrets.ts';
import { addCompany } from '../domain/accounts/company.ts';
import { chargeCalls, insertCalls } from '../domain/calls/settlement/charge-calls.ts';
import { listTransactions, postTransaction } from '../domain/credits/ledger/ledger.ts';
import { AUDIT_CHECKS } from '../domain/reconciliation/audit.ts';
import type { Database } from '../ports/database.ts';
import { type Command, EXIT_FAILED, EXIT_OK, EXIT_USAGE } from './command.ts';
import { adjustCreditsCommand, auditCommand } from './credit-commands.ts';
import { pricesCommand, setPriceCommand } from './model-commands.ts';

const { newId } = createSystemSecrets();

describe('grants and statements', () => {
  const database = useDatabase();
  const company = newId();
  beforeAll(async () => {
    await addCompany(database, { id: company, name: 'Acme', billingMode: 'PREPAID' });
  });
  const typed = (command: Command, ...words: string[]) => typedCommand({ database }, command, ...words);

  describe('adjust-credits', () => {
    const why = (key: string) => ['--reason', 'a gift', '--idempotency-key', key];

    test('P-19 posts an ADJUSTMENT once for its key, and prints the balance', async () => {
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

    test('a key that was used for another adjustment, an unknown account and no amount change nothing', async () => {
      await typed(adjustCreditsCommand, company, '1', ...why('k3'));
      const before = await listTransactions(database, company, { first: 100 });
      const refused = async (...words: string[]) => {
        const { exitCode, lines } = await typed(adjustCreditsCommand, ...words);
        return [exitCode, lines[0]];
      };
      expect(await refused(company, '2', ...why('k3'))).toEqual([
        EXIT_FAILED,
        expect.stringContaining(`used for 1 credits to ${company}: nothing was changed`),
      ]);
      expect((await refused(newId(), '1', ...why('k4')))[0]).toBe(EXIT_FAILED);
      expect(await refused(company, '0', ...why('k5'))).toEqual([
        EXIT_FAILED,
        '! an amount of zero changes nothing',
      ]);
      expect((await refused(company, '9999999999999', ...why('k6')))[0]).toBe(EXIT_FAILED);
      for (const text of ['1.0000001', '1e3', '1,5', '', ' 1', '--1', '٣', '0x1', '12345678901234']) {
        expect(await refused(company, text, ...why('k7'))).toEqual([
          EXIT_USAGE,
          expect.stringContaining(`CREDITS: ${JSON.stringify(text)} is not an amount of credits`),
        ]);
      }
      for (const words of [
        [company, '1', '--idempotency-key', 'x'],
        [company, '1', '--reason', 'x'.repeat(501), '--idempotency-key', 'x'],
      ]) {
        expect((await refused(...words))[0]).toBe(EXIT_USAGE);
      }
      expect(await listTransactions(database, company, { first: 100 })).toEqual(before);
    });
  });

  describe('prices', () => {
    test('G-28 are listed, and a new one is confirmed', async () => {
      const { lines } = await typed(pricesCommand);
      expect(lines).toHaveLength(6);
      expect(lines).toContain(
        'acme/chat-default from the beginning: prompt 1, cached 0.5, completion 4 credits per million tokens',
      );
      const parts = ['--prompt', '2.5', '--cached', '0.25', '--completion', '10', '--cache-write', '3'];
      const from = '2099-01-01T00:00Z';
      const set = await typed(setPriceCommand, 'acme/chat-default', ...parts, '--from', from);
      const line =
        'acme/chat-default from 2099-01-01T00:00:00.000Z: prompt 2.5, cached 0.25, cache write 3, completion 10 credits per million tokens';
      expect(set).toEqual({ exitCode: EXIT_OK, lines: [line] });
      expect((await typed(pricesCommand)).lines).toContain(line);
      const late = await typed(setPriceCommand, 'acme/chat-default', ...parts, '--from', '2020-01-01');
      expect(late.exitCode).toBe(EXIT_FAILED);
      expect((await typed(setPriceCommand, 'acme/chat-default', '--prompt', '1')).exitCode).toBe(EXIT_USAGE);
    });
  });
});

describe('turnpike audit', () => {
  const database = useDatabase();
  const [company, other, key, call] = [newId(), newId(), newId(), newId()];
  beforeAll(async () => {
    for (const id of [company, other])
      await addCompany(database, { id, name: 'Acme', billingMode: 'PREPAID' });
    await database.transaction((transaction) =>
      postTransaction(transaction, {
        accountId: company,
        type: 'PACK_PURCHASE',
        amountMicro: 1_000n,
        contra: 'sales',
        sourceKind: 'test',
        sourceId: 'one',
      }),
    );
    const limited = { keyId: key, monthlyLimitMicro: 1_000n };
    await chargeCalls(database, [
      finishedCall(company, { id: call, ...limited }),
      finishedCall(company, limited),
      finishedCall(company),
      finishedCall(company, { outcome: 'FAILED' }),
      finishedCall(other),
    ]);
    await insertCalls(database, [
      finishedCall(company, { outcome: 'REFUSED', tokens: null }),
      finishedCall(company, { alias: null, tokens: null }),
    ]);
  });

  /** The audit's report on books that were tampered with; the damage is rolled back. */
  async function auditAfter(damage: string) {
    let output: Awaited<ReturnType<typeof typedCommand>> | null = null;
    const undone = new Error('undone');
    await database
      .transaction(async (transaction) => {
        // Triggers, and what references hold, which are triggers too.
        for (const table of ['credit_transactions', 'model_prices', 'credit_pack_purchases', 'plan_grants']) {
          await transaction.query(`alter table ${table} disable trigger all`);
        }
        await transaction.query(damage);
        const inside: Database = { ...database, ...transaction, transaction: (work) => work(transaction) };
        output = await typedCommand({ database: inside }, auditCommand);
        throw undone;
      })
      .catch((error) => {
        if (error !== undone) throw error;
      });
    if (output === null) throw new Error('the audit did not run');
    return output as Awaited<ReturnType<typeof typedCommand>>;
  }

  test('P-19 correct books are one line', async () => {
    const lines = ['the books balance: 2 accounts, 5 transactions, 7 calls'];
    expect(await typedCommand({ database }, auditCommand)).toEqual({ exitCode: EXIT_OK, lines });
    const { lines: verbose } = await typedCommand({ database }, auditCommand, '--verbose');
    expect(verbose).toHaveLength(AUDIT_CHECKS.length + 1);
    expect(verbose[0]).toBe('checked that the balance of every account is the sum of its transactions');
    expect((await typedCommand({ database }, auditCommand, 'all')).exitCode).toBe(EXIT_USAGE);
  });

  const at = `where account_id = '${company}' and version`;
  const damages: readonly (readonly [string, string, readonly string[]])[] = [
    [
      'a balance',
      `update credit_accounts set balance_micro = balance_micro + 1 where id = '${company}'`,
      [
        `account ${company} holds 773 micro-credits, but its transactions sum to 772`,
        'all accounts hold 697 micro-credits, the contra accounts gave 696',
      ],
    ],
    [
      'a balance after a transaction',
      `update credit_transactions set balance_after_micro = 925 ${at} = 2`,
      [
        `transaction 2 of account ${company} leaves 925 micro-credits, which is not -76 and the 1000 before it`,
        `transaction 3 of account ${company} leaves 848 micro-credits, which is not -76 and the 925 before it`,
      ],
    ],
    [
      'the view of both sides',
      'create or replace view credit_entries as select account_id::text as account, amount_micro, type, ' +
        'source_kind, source_id, created_at from credit_transactions',
      [
        'both sides of all transactions sum to 696 micro-credits, not to 0',
        'all accounts hold 696 micro-credits, the contra accounts gave 0',
      ],
    ],
    [
      'the charge of a call',
      `update calls set charge_micro = 75 where id = '${call}'`,
      [
        `call ${call} of company ${company} costs 75 micro-credits; transaction 2 of account ${company} has the amount -76`,
        `call ${call} costs 75 micro-credits; its tokens cost 76`,
      ],
    ],
    [
      'a transaction without its call',
      `update credit_transactions set source_id = 'another' where source_id = '${call}'`,
      [
        `transaction 2 of account ${company} charges for call another, which is not a charged one`,
        `call ${call} of company ${company} costs 76 micro-credits and was not charged`,
      ],
    ],
    [
      'a call that succeeded without a price',
      `update calls set price_id = null where id = '${call}'`,
      [`call ${call} succeeded with tokens and has no price`],
    ],
    [
      'a failed call with a price',
      `update calls set outcome = 'FAILED' where id = '${call}'`,
      [`call ${call} is not to be charged and costs 76 micro-credits`],
    ],
    [
      'a day’s usage',
      `update usage_days set failures = 0 where company_id = '${company}' and failures = 1`,
      [
        `usage of company ${company}, key 00000000-0000-0000-0000-000000000000, on 2026-01-31, svc/chat-default: ` +
          'kept is (4,0,30,12,0,51,228,0), its calls sum to (4,1,30,12,0,51,228,0)',
      ],
    ],
    [
      'a purchase without its credits',
      `insert into credit_pack_purchases (id, company_id, credit_pack_id, status, credits_micro, amount_minor, currency,
         created_at, completed_at, updated_at)
       values ('${call}', '${company}', '${call}', 'COMPLETED', 500, 1, 'usd', now(), now(), now())`,
      [`credit-pack-purchase/${call}: expected 0.0005 credits for company ${company}, found nothing posted`],
    ],
    [
      'credits without their purchase',
      `update credit_transactions set source_kind = 'credit-pack-purchase' where source_id = 'one'`,
      [
        `credit-pack-purchase/one: expected no credits: it is not there or not complete, found 0.001 credits on account ${company}. To mend it: turnpike correct credit-pack-purchase/one --credits=-0.001`,
      ],
    ],
    [
      'a plan grant that was not posted',
      `insert into plan_grants (provider_invoice_id, company_id, plan_id, provider_subscription_id, kind, period_start,
         credits_micro, amount_minor, currency, created_at)
       values ('one', '${company}', '${call}', 's', 'PERIOD', now(), 999, 1, 'usd', now())`,
      [`plan-invoice/one: expected 0.000999 credits for company ${company}, found nothing posted`],
    ],
    [
      'a refund that was not taken',
      `insert into charge_refunds (charge_id, company_id, source_kind, source_id, amount_minor, currency,
         refunded_minor, granted_micro, refunded_micro, updated_at)
       values ('ch_1', '${company}', 'PURCHASE', 'one', 10, 'usd', 5, 1000, 500, now())`,
      [
        `charge-refund/ch_1: expected 0.0005 credits taken from company ${company}, found 0 credits taken. To mend it: turnpike correct charge-refund/ch_1 --credits=-0.0005`,
      ],
    ],
  ];

  test.each(damages)('P-19 a wrong %s is named', async (_, damage, expected) => {
    const { exitCode, lines } = await auditAfter(damage);
    expect(exitCode).toBe(EXIT_FAILED);
    for (const line of expected) expect(lines.join('\n')).toContain(`! ${line}`);
    expect(lines.at(-1)).toBe(`! the books do not balance: ${lines.length - 1} faults`);
  });

  test('a long list of faults is cut, and the output says so', async () => {
    const { lines } = await auditAfter(
      `insert into credit_accounts (id, owner, balance_micro)
       select gen_random_uuid(), 'COMPANY', 1 from generate_series(1, 1200)`,
    );
    expect(lines).toContain('! and more faults of this kind than 1000');
  });
});

import { beforeEach, describe, expect, test } from 'bun:test';
import { postAt } from '../../../../test/doubles/posted-usage.ts';
import { createSeededRandom } from '../../../../test/doubles/seeded-random.ts';
import { addTestCompany } from '../../../../test/doubles/test-company.ts';
import { useDatabase } from '../../../../test/setup/use-database.ts';
import { createSystemSecrets } from '../../../adapters/secrets/system-secrets.ts';
import type { Database } from '../../../ports/database.ts';
import { postTransaction } from './ledger.ts';
import { lastVersionBefore, statementLines, textField } from './statement.ts';

const { newId } = createSystemSecrets();
const database = useDatabase();
let accountId = '';

beforeEach(async () => {
  accountId = await addTestCompany(database);
});

async function linesOf(from: string, to: string, statements = database): Promise<string[]> {
  const lines: string[] = [];
  const period = { accountId, from: new Date(from), to: new Date(to) };
  for await (const line of statementLines(statements, period)) lines.push(line);
  return lines;
}

describe('a statement', () => {
  test('it begins with the opening balance and ends with the closing one, which match the adjacent periods', async () => {
    await postAt(database, accountId, 10_000_000n, '2030-01-05T10:00:00Z');
    await postAt(database, accountId, -1n, '2030-01-31T23:59:59Z');
    await postAt(database, accountId, -2_500_000n, '2030-02-01T00:00:00Z');
    await postAt(database, accountId, -500_000n, '2030-03-09T00:00:00Z');
    const january = await linesOf('2030-01-01', '2030-02-01');
    expect(january[0]).toBe('date,type,credits,balance_after,source,reason,expires_at');
    expect(january[1]).toBe('2030-01-01T00:00:00.000Z,OPENING_BALANCE,,0,,,');
    expect(january[2]).toStartWith('2030-01-05T10:00:00.000Z,ADJUSTMENT,10,10,test:');
    expect(january[3]).toStartWith('2030-01-31T23:59:59.000Z,USAGE,-0.000001,9.999999,test:');
    expect(january[4]).toBe('2030-02-01T00:00:00.000Z,CLOSING_BALANCE,,9.999999,,,');
    const february = await linesOf('2030-02-01', '2030-03-01');
    expect(february[1]).toBe('2030-02-01T00:00:00.000Z,OPENING_BALANCE,,9.999999,,,');
    expect(february.at(-1)).toBe('2030-03-01T00:00:00.000Z,CLOSING_BALANCE,,7.499999,,,');
    expect(await linesOf('2030-02-02', '2030-03-01')).toHaveLength(3);
    expect(await linesOf('2029-01-01', '2029-02-01')).toHaveLength(3);
    expect(await linesOf('2030-01-01', '2031-01-01')).toHaveLength(7);
  });

  test('many pages give every transaction once, a page in memory at a time', async () => {
    await database.query(
      `insert into credit_transactions (account_id, version, type, amount_micro, balance_after_micro, contra,
         source_kind, source_id, created_at)
       select $1, n, 'USAGE', -1, -n, 'usage', 'bulk', n::text, timestamptz '2030-01-01Z' + n * interval '1 second'
       from generate_series(1, 3500) as n`,
      [accountId],
    );
    await database.query('update credit_accounts set version = 3500, balance_micro = -3500 where id = $1', [
      accountId,
    ]);
    let largest = 0;
    const watched = {
      ...database,
      async query<R>(...given: Parameters<Database['query']>) {
        const rows = await database.query<R>(...given);
        largest = Math.max(largest, rows.length);
        return rows;
      },
    };
    const lines = await linesOf('2030-01-01', '2030-02-01', watched);
    const sources = lines.slice(2, -1).map((line) => Number(line.split(',')[4]?.split(':')[1]));
    expect(sources).toEqual(Array.from({ length: 3_500 }, (_, at) => at + 1));
    expect(lines.at(-1)).toEndWith(',CLOSING_BALANCE,,-0.0035,,,');
    expect(largest).toBe(1_000);
  });

  test('timestamps out of order because of a lock lose nothing between two periods', async () => {
    const random = createSeededRandom(7);
    const startMs = Date.UTC(2030, 0, 1);
    const atMs: number[] = [];
    for (let n = 0; n < 120; n += 1) {
      const at = startMs + n * 60_000 + random.below(600_000);
      atMs.push(at);
      await postAt(database, accountId, -1n, new Date(at).toISOString());
    }
    for (let round = 0; round < 20; round += 1) {
      const at = startMs + random.below(130 * 60_000);
      const wanted = atMs.findLastIndex((one) => one < at) + 1;
      expect(await lastVersionBefore(database, accountId, new Date(at))).toBe(BigInt(wanted));
    }
    const middle = new Date(startMs + 3_000_000).toISOString();
    const [first, second] = [await linesOf('2029-12-31', middle), await linesOf(middle, '2030-02-01')];
    expect(first.length + second.length).toBe(120 + 6);
    expect(second[1]?.split(',')[3]).toBe(first.at(-1)?.split(',')[3] ?? 'none');
  });

  test('a reason cannot become a formula, a column or a line', async () => {
    const posting = { accountId, type: 'ADJUSTMENT', amountMicro: -7n, contra: 'adjustments' } as const;
    const reason = '=HYPERLINK("http://evil.example","x"),\r\n2030,FAKE';
    await database.transaction((transaction) =>
      postTransaction(transaction, { ...posting, sourceKind: 'test', sourceId: newId(), reason }),
    );
    const lines = await linesOf('2020-01-01', '2100-01-01');
    expect(lines).toHaveLength(4);
    expect(lines[2]).toEndWith(`,"'=HYPERLINK(""http://evil.example"",""x""), 2030,FAKE",`);
    for (const text of ['=1', '+1', '-1', '@a', '\t=1', ' =1', '|x', '%x']) {
      expect(textField(text).replace(/^"/, '')).toStartWith("'");
    }
    expect(textField('a "b"')).toBe('"a ""b"""');
    expect(textField('plain words')).toBe('plain words');
  });
});

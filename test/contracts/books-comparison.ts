import { expect } from 'bun:test';
import type { Database } from '../../src/ports/database.ts';
import type { ModelBooks } from '../doubles/model-books.ts';

/** Every row of the books of these accounts is in the model, and the other way round. */
export async function compareWhole(database: Database, model: ModelBooks): Promise<void> {
  const ids = [...model.accounts.keys()];
  const posted = await database.query<{ account: string; source: string; amount: bigint }>(
    `select account_id as account, source_kind || ' ' || source_id as source, amount_micro as amount
     from credit_transactions where account_id = any($1::uuid[])`,
    [ids],
  );
  for (const [id, account] of model.accounts) {
    const own = posted
      .filter((row) => row.account === id)
      .map(({ source, amount }) => [source, amount] as const);
    expect(new Map(own)).toEqual(account.posted);
    expect(own).toHaveLength(account.posted.size);
  }
  const calls = await database.query<{ id: string; charge: bigint }>(
    'select id, charge_micro as charge from calls where company_id = any($1::uuid[])',
    [ids],
  );
  expect(new Map(calls.map(({ id, charge }) => [id, charge]))).toEqual(new Map(model.charges));
  await compareTotals(database, model, ids);
}

async function compareTotals(database: Database, model: ModelBooks, ids: readonly string[]): Promise<void> {
  const days = await database.query<{ place: string; calls: bigint; failures: bigint; charge: bigint }>(
    `select company_id || ' ' || case key_id when '00000000-0000-0000-0000-000000000000' then 'all'
       else key_id::text end || ' ' || day || ' ' || alias as place, calls, failures, charge_micro as charge
     from usage_days where company_id = any($1::uuid[])`,
    [ids],
  );
  expect(new Map(days.map(({ place, ...sums }) => [place, sums]))).toEqual(new Map(model.usage));
  const keys = [...new Set([...model.spending.keys()].map((place) => place.split(' ')[0] ?? ''))];
  const months = await database.query<{ place: string; charge: bigint }>(
    `select key_id || ' ' || to_char(month, 'YYYY-MM') as place, charge_micro as charge from key_months
     where key_id = any($1::uuid[])`,
    [keys],
  );
  expect(new Map(months.map(({ place, charge }) => [place, charge]))).toEqual(new Map(model.spending));
}

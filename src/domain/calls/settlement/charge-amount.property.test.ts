import { expect, test } from 'bun:test';
import { finishedCall } from '../../../../test/doubles/finished-calls.ts';
import { createSeededRandom } from '../../../../test/doubles/seeded-random.ts';
import { useMemoryDatabase } from '../../../../test/setup/use-memory-database.ts';
import { createSystemSecrets } from '../../../adapters/secrets/system-secrets.ts';
import { addCompany } from '../../accounts/company.ts';
import { priceOf, type TokenPrice } from '../../models/aliases.ts';
import { chargeCalls } from './finished-call.ts';

const { newId } = createSystemSecrets();
const database = useMemoryDatabase();

test('G-28 the statement charges what priceOf says, for any price and any tokens, rounded up once', async () => {
  const random = createSeededRandom(28);
  const companyId = newId();
  await addCompany(database, { id: companyId, name: 'Acme', billingMode: 'PREPAID' });
  const upTo = (digits: number) => random.below(10 ** (1 + random.below(digits)));
  const expected = new Map<string, bigint>();
  for (let round = 0; round < 40; round += 1) {
    const price: TokenPrice = {
      promptMicro: BigInt(upTo(12)),
      cachedMicro: BigInt(upTo(12)),
      completionMicro: BigInt(upTo(12)),
    };
    const startedAtMs = Date.UTC(2026, 0, 1) + round;
    await database.query(
      `insert into model_prices (id, alias, prompt_micro, cached_micro, completion_micro, in_force_from)
       values ($1, 'chat-cheap', $2, $3, $4, $5)`,
      [newId(), price.promptMicro, price.cachedMicro, price.completionMicro, new Date(startedAtMs)],
    );
    const calls = Array.from({ length: 50 }, () => {
      const tokens = { promptTokens: upTo(10), cachedTokens: upTo(10), completionTokens: upTo(10) };
      const call = finishedCall(companyId, { alias: 'svc/chat-cheap', tokens, startedAtMs });
      expected.set(call.id, priceOf(price, tokens));
      return call;
    });
    await chargeCalls(database, calls);
  }
  const rows = await database.query<{ id: string; charge: bigint }>(
    'select id, charge_micro as charge from calls',
  );
  expect(new Map(rows.map(({ id, charge }) => [id, charge]))).toEqual(expected);
});

test('G-28 rounding is up, once a call, and only where there is something to round', () => {
  const price = { promptMicro: 1n, cachedMicro: 1n, completionMicro: 1n };
  const cost = (promptTokens: number, cachedTokens: number, completionTokens: number) =>
    priceOf(price, { promptTokens, cachedTokens, completionTokens });
  expect([cost(0, 0, 0), cost(1, 0, 0), cost(2, 1, 1), cost(1_000_000, 0, 0), cost(1_000_000, 0, 1)]).toEqual(
    [0n, 1n, 1n, 1n, 2n],
  );
});

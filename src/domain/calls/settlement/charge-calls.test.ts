import { describe, expect, test } from 'bun:test';
import { attributedCallsContract } from '../../../../test/contracts/attributed-calls.contract.ts';
import { chargeCallsContract } from '../../../../test/contracts/charge-calls.contract.ts';
import { finishedCall } from '../../../../test/doubles/finished-calls.ts';
import { createSeededRandom } from '../../../../test/doubles/seeded-random.ts';
import { addTestCompany } from '../../../../test/doubles/test-company.ts';
import { useDatabase } from '../../../../test/setup/use-database.ts';
import { describePostgres, usePostgres } from '../../../../test/setup/use-postgres.ts';
import { createSystemSecrets } from '../../../adapters/secrets/system-secrets.ts';
import { type AccountLevel, readLevel } from '../../credits/ledger/credit-account.ts';
import { priceOf, type TokenPrice } from '../../models/aliases.ts';
import { chargeCalls } from './charge-calls.ts';

const { newId } = createSystemSecrets();

describe('charge_calls on PGlite', () => {
  const database = useDatabase();

  chargeCallsContract('PGlite', () => database);
  attributedCallsContract('PGlite', () => database);
});

describePostgres('with a server', () => {
  const database = usePostgres();

  chargeCallsContract('PostgreSQL', () => database);
  attributedCallsContract('PostgreSQL', () => database);

  test('G-33 concurrent groups with the same calls and companies, in any order, charge each call once', async () => {
    const random = createSeededRandom(4);
    const ids = await Promise.all(Array.from({ length: 8 }, () => addTestCompany(database)));
    const keyIds = ids.map(newId);
    const calls = Array.from({ length: 300 }, () => {
      const at = random.below(ids.length);
      return finishedCall(ids[at] ?? '', { keyId: keyIds[at] ?? null, monthlyLimitMicro: 5_000n });
    });
    const shuffled = () => calls.map((call) => ({ call, at: random.below(1e9) })).sort((a, b) => a.at - b.at);
    const groups = Array.from({ length: 60 }, () =>
      shuffled()
        .slice(0, 1 + random.below(60))
        .map(({ call }) => call),
    );
    const newest = new Map<string, AccountLevel>();
    await Promise.all(
      [...groups, calls].map(async (group) => {
        for (const level of (await chargeCalls(database, group)).levels) {
          const known = newest.get(level.accountId);
          if (known === undefined || known.version < level.version) newest.set(level.accountId, level);
        }
      }),
    );
    for (const id of ids) {
      const count = BigInt(calls.filter(({ companyId }) => companyId === id).length);
      const level = { accountId: id, balanceMicro: -76n * count, lineMicro: 0n, version: count };
      expect(newest.get(id)).toEqual(level);
      expect(await readLevel(database, id)).toEqual(level);
    }
    const chain = await database.query(
      `select account_id from (select *, sum(amount_micro) over (partition by account_id order by version) as sum,
         row_number() over (partition by account_id order by version) as place
         from credit_transactions where account_id = any($1::uuid[])) as t
       where sum <> balance_after_micro or place <> version`,
      [ids],
    );
    expect(chain).toEqual([]);
    const [spent] = await database.query(
      'select sum(charge_micro)::bigint as sum from key_months where key_id = any($1::uuid[])',
      [keyIds],
    );
    expect(spent).toEqual({ sum: 300n * 76n });
  });
});

describe('the amount of a charge', () => {
  const database = useDatabase();

  test('G-28 the statement charges what priceOf returns up to the call’s bounds, for any price and any tokens, and withholds the rest', async () => {
    const random = createSeededRandom(28);
    const companyId = await addTestCompany(database);
    const upTo = (digits: number) => random.below(10 ** (1 + random.below(digits)));
    const expected = new Map<string, bigint>();
    const withheld = new Map<string, bigint>();
    for (let round = 0; round < 40; round += 1) {
      const price: TokenPrice = {
        promptMicro: BigInt(upTo(12)),
        cachedMicro: BigInt(upTo(12)),
        completionMicro: BigInt(upTo(12)),
        cacheWriteMicro: random.below(3) === 0 ? null : BigInt(upTo(12)),
      };
      const startedAtMs = Date.UTC(2026, 0, 1) + round;
      await database.query(
        `insert into model_prices (id, alias, prompt_micro, cached_micro, completion_micro, in_force_from, cache_write_micro)
       values ($1, 'chat-cheap', $2, $3, $4, $5, $6)`,
        [
          ...[newId(), price.promptMicro, price.cachedMicro, price.completionMicro, new Date(startedAtMs)],
          price.cacheWriteMicro ?? null,
        ],
      );
      const calls = Array.from({ length: 50 }, () => {
        const written = random.below(2) === 0 ? {} : { cacheWriteTokens: upTo(10) };
        const counts = { promptTokens: upTo(10), cachedTokens: upTo(10), completionTokens: upTo(10) };
        const tokens = { ...counts, ...written };
        const isBounded = random.below(2) === 0;
        const tokenBounds = {
          promptTokens: isBounded ? upTo(10) : 10 ** 10,
          completionTokens: isBounded ? upTo(10) : 10 ** 10,
        };
        const surcharge = random.below(3) === 0 ? { surchargeMicro: upTo(10) } : {};
        const hour =
          random.below(3) === 0
            ? { tokens: upTo(10), factorMillionths: 1_000_000 + random.below(9_000_000) }
            : undefined;
        const ofHour = { hourWriteTokens: hour?.tokens, hourWriteFactorMillionths: hour?.factorMillionths };
        const given = { alias: 'svc/chat-cheap', tokens, tokenBounds, startedAtMs, ...surcharge, ...ofHour };
        const call = finishedCall(companyId, given);
        const promptTokens = Math.min(tokens.promptTokens, tokenBounds.promptTokens);
        const completionTokens = Math.min(tokens.completionTokens, tokenBounds.completionTokens);
        const due = priceOf(price, { ...tokens, promptTokens, completionTokens }, hour);
        expected.set(call.id, due + BigInt(call.surchargeMicro ?? 0));
        const whole = priceOf(price, tokens, hour);
        if (whole > due) withheld.set(call.id, whole - due);
        return call;
      });
      await chargeCalls(database, calls);
    }
    const rows = await database.query<{ id: string; charge: bigint }>(
      'select id, charge_micro as charge from calls',
    );
    expect(new Map(rows.map(({ id, charge }) => [id, charge]))).toEqual(expected);
    const rest = await database.query<{ id: string; excess: string }>(
      'select call_id as id, excess_micro::text as excess from withheld_usage',
    );
    expect(new Map(rest.map(({ id, excess }) => [id, BigInt(excess)]))).toEqual(withheld);
    expect(withheld.size).toBeGreaterThan(100);
  });

  test('tokens written to a cache have their own price, or that of the prompt, and are part of the prompt tokens', () => {
    const price = { promptMicro: 1_000_000n, cachedMicro: 100_000n, completionMicro: 0n };
    const tokens = { promptTokens: 100, cachedTokens: 30, cacheWriteTokens: 20, completionTokens: 0 };
    expect(priceOf({ ...price, cacheWriteMicro: 1_250_000n }, tokens)).toBe(50n + 3n + 25n);
    expect(priceOf({ ...price, cacheWriteMicro: 0n }, tokens)).toBe(50n + 3n);
    expect(priceOf(price, tokens)).toBe(70n + 3n);
    // Ten of the twenty for an hour, at eight fifths of the price of the others.
    const hour = { tokens: 10, factorMillionths: 1_600_000 };
    expect(priceOf({ ...price, cacheWriteMicro: 1_250_000n }, tokens, hour)).toBe(78n + 8n);
    expect(priceOf(price, tokens, { ...hour, tokens: 1_000 })).toBe(priceOf(price, tokens) + 12n);
    const absurd = { ...tokens, cacheWriteTokens: 1_000 };
    expect(priceOf({ ...price, cacheWriteMicro: 1_250_000n }, absurd)).toBe(91n);
  });

  test('G-28 charges are rounded up, once per call, and only where there is a fraction', () => {
    const price = { promptMicro: 1n, cachedMicro: 1n, completionMicro: 1n };
    const cost = (promptTokens: number, cachedTokens: number, completionTokens: number) =>
      priceOf(price, { promptTokens, cachedTokens, completionTokens });
    expect([
      cost(0, 0, 0),
      cost(1, 0, 0),
      cost(2, 1, 1),
      cost(1_000_000, 0, 0),
      cost(1_000_000, 0, 1),
    ]).toEqual([0n, 1n, 1n, 1n, 2n]);
  });
});

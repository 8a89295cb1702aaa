import { describe, expect, test } from 'bun:test';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { readLevel } from '../../src/domain/credits/ledger/credit-account.ts';
import { listTransactions, type Posting, postTransaction } from '../../src/domain/credits/ledger/ledger.ts';
import { openUserAccount } from '../../src/domain/credits/ledger/user-account.ts';
import type { Database } from '../../src/ports/database.ts';
import { addTestCompany } from '../doubles/test-company.ts';

/** What accounts and their transactions guarantee, on one engine. */
export function ledgerContract(engine: string, given: () => Database): void {
  const { newId } = createSystemSecrets();

  const company = () => addTestCompany(given());
  const purchase = (accountId: string, amountMicro: bigint, changes: Partial<Posting> = {}): Posting => {
    const source = { sourceKind: 'purchase', sourceId: newId() };
    return { accountId, type: 'PACK_PURCHASE', amountMicro, contra: 'sales', ...source, ...changes };
  };
  const post = (posting: Posting) =>
    given().transaction((transaction) => postTransaction(transaction, posting));
  const list = async (id: string, first = 100, after?: bigint) =>
    (await listTransactions(given(), id, { first, after: after ?? null })).map(
      ({ version, amountMicro, balanceAfterMicro }) => [version, amountMicro, balanceAfterMicro],
    );

  describe(`the ledger on ${engine}`, () => {
    test('P-19 a posting writes a row, a balance and a version, and returns the level', async () => {
      const id = await company();
      const posting = purchase(id, 5_000_000n, { reason: 'a pack' });
      const level = { accountId: id, balanceMicro: 5_000_000n, lineMicro: 0n, version: 1n };
      expect(await post(posting)).toEqual({ outcome: 'posted', level, transactionVersion: 1n });
      expect(await readLevel(given(), id)).toEqual(level);
      const [row] = await listTransactions(given(), id, { first: 1 });
      expect(row).toEqual({
        accountId: id,
        version: 1n,
        type: 'PACK_PURCHASE',
        amountMicro: 5_000_000n,
        balanceAfterMicro: 5_000_000n,
        contra: 'sales',
        sourceKind: 'purchase',
        sourceId: posting.sourceId,
        reason: 'a pack',
        createdAt: expect.any(Date),
        expiresAt: null,
      });
    });

    test('G-33 a second posting of a source is ignored, also on another account or with another amount', async () => {
      const [id, other] = [await company(), await company()];
      const posting = purchase(id, 100n);
      await post(posting);
      const posted = { accountId: id, amountMicro: 100n };
      const level = { accountId: id, balanceMicro: 100n, lineMicro: 0n, version: 1n };
      expect(await post(posting)).toEqual({ outcome: 'already-posted', level, posted });
      expect(await post({ ...posting, amountMicro: 7n })).toMatchObject({
        outcome: 'already-posted',
        posted,
      });
      expect(await post({ ...posting, accountId: other })).toMatchObject({
        outcome: 'already-posted',
        level: { accountId: other, balanceMicro: 0n },
        posted,
      });
      // The kind belongs to it.
      expect(await post({ ...posting, sourceKind: 'invoice' })).toMatchObject({ outcome: 'posted' });
    });

    test('transactions are listed by pages, the newest first', async () => {
      const id = await company();
      for (let n = 1n; n <= 5n; n += 1n) await post(purchase(id, n));
      const versions = async (first: number, after?: bigint) =>
        (await list(id, first, after)).map(([version]) => version);
      expect(await versions(2)).toEqual([5n, 4n]);
      expect(await versions(2, 4n)).toEqual([3n, 2n]);
      expect(await versions(2, 2n)).toEqual([1n]);
      expect(await versions(0, 1n)).toEqual([]);
      expect(await versions(0)).toEqual([5n]);
      expect(await list(newId())).toEqual([]);
    });

    test('a balance beyond 64 bits and an amount of zero are refused, and nothing has changed', async () => {
      const id = await company();
      const most = 2n ** 63n - 1n;
      expect(await post(purchase(id, most))).toMatchObject({ outcome: 'posted' });
      for (const amount of [1n, 0n, most, -(2n ** 63n) - most]) {
        expect(await post(purchase(id, amount))).toMatchObject({ outcome: 'wrong-amount' });
      }
      expect(await list(id)).toEqual([[1n, most, most]]);
      expect(await post(purchase(id, -most))).toMatchObject({
        outcome: 'posted',
        level: { balanceMicro: 0n },
      });
    });

    test('an unknown account is reported as such; a user’s account is opened once', async () => {
      expect(await post(purchase(newId(), 1n))).toEqual({ outcome: 'no-account' });
      expect(await readLevel(given(), newId())).toBeNull();
      const [companyId, userId] = [await company(), newId()];
      const open = (ofCompany = companyId) =>
        given().transaction((transaction) => openUserAccount(transaction, { userId, companyId: ofCompany }));
      expect(await open()).toBe(false);
      await given().query(
        'insert into users (id, company_id, email, password_hash) values ($1, $2, $3, $4)',
        [userId, companyId, `${userId}@example.com`, 'none'],
      );
      expect([await open(), await open(), await open(await company())]).toEqual([true, true, false]);
      await post(purchase(userId, 100n));
      expect(await post(purchase(userId, -100n))).toMatchObject({ outcome: 'posted' });
      expect(await given().query('select 1 from credit_alerts where company_id = $1', [userId])).toEqual([]);
    });

    test('no row of the books can be changed or removed', async () => {
      await post(purchase(await company(), 100n));
      for (const table of ['credit_transactions', 'model_prices']) {
        for (const statement of [
          `delete from ${table}`,
          `truncate ${table}`,
          `update ${table} set alias = ''`,
        ]) {
          const error = await given()
            .query(statement.replace('alias', table === 'model_prices' ? 'alias' : 'reason'))
            .catch((reason) => reason);
          expect(error).toMatchObject({ message: `${table} is append-only` });
        }
      }
    });
  });
}

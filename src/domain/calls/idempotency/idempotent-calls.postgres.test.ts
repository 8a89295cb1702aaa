import { expect, test } from 'bun:test';
import {
  askedBy,
  endOf,
  idempotentCallsContract,
} from '../../../../test/contracts/idempotent-calls.contract.ts';
import { createSeededRandom } from '../../../../test/doubles/seeded-random.ts';
import { describePostgres, usePostgres } from '../../../../test/setup/use-postgres.ts';
import { createSystemSecrets } from '../../../adapters/secrets/system-secrets.ts';
import { addCompany } from '../../accounts/company.ts';
import { readLevel } from '../../credits/ledger/credit-account.ts';
import { chargeCalls, type FinishedCall } from '../settlement/finished-call.ts';
import { claimIdempotencyKey, type IdempotentClaim, renewClaims } from './key-claims.ts';

describePostgres('with a server', () => {
  const { newId } = createSystemSecrets();
  const database = usePostgres();

  idempotentCallsContract('PostgreSQL', () => database);

  test('G-47 commits in any order, twice, beside renewals and repeats: a key is charged once and nobody waits in a circle', async () => {
    const random = createSeededRandom(47);
    const companies = Array.from({ length: 4 }, newId);
    for (const id of companies) await addCompany(database, { id, name: 'Acme', billingMode: 'PREPAID' });
    const endLeases = "update idempotency_keys set leased_until = now() - interval '1 second'";
    const claims: IdempotentClaim[] = [];
    const ends: FinishedCall[] = [];
    // Two calls for each key: the lease of the first has ended while it ran.
    for (let key = 0; key < 60; key += 1) {
      const companyId = companies[key % companies.length] ?? '';
      const asked = askedBy(newId());
      for (let call = 0; call < 2; call += 1) {
        const claim = { ...asked, callId: newId() };
        expect(await claimIdempotencyKey(database, claim)).toBe(true);
        await database.query(`${endLeases} where key_id = $1`, [asked.keyId]);
        claims.push(claim);
        ends.push(endOf(claim, companyId, {}, btoa(claim.callId)));
      }
    }
    const some = () => ends.filter(() => random.below(4) === 0).sort(() => random.below(3) - 1);
    const work = Array.from({ length: 60 }, () => [
      () => chargeCalls(database, some()),
      () => renewClaims(database, claims.toReversed()),
      () =>
        claimIdempotencyKey(database, {
          ...askedBy(claims[random.below(120)]?.keyId ?? ''),
          callId: newId(),
        }),
    ]).flat();
    await Promise.all(work.map((one) => one()));
    await chargeCalls(database, ends);
    for (const id of companies) expect((await readLevel(database, id))?.balanceMicro).toBe(-76n * 15n);
    // The answer that is kept is the charged call's.
    const [row] = await database.query(
      `select count(*) as kept from idempotency_keys join calls on calls.id = call_id
       where charge_micro = 76 and convert_from(sealed_answer, 'utf8') = call_id::text`,
    );
    expect(row).toEqual({ kept: 60n });
  });
});

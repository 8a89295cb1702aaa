import { beforeAll, describe, expect, test } from 'bun:test';
import { keysContract } from '../../../test/contracts/keys.contract.ts';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createSilentLog } from '../../../test/doubles/silent-log.ts';
import { addTestCompany } from '../../../test/doubles/test-company.ts';
import { useDatabase } from '../../../test/setup/use-database.ts';
import { describePostgres, usePostgres } from '../../../test/setup/use-postgres.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import { createInProcessState } from '../../adapters/shared-state/in-process.ts';
import type { SharedState } from '../../ports/shared-state.ts';
import { addCompany } from '../accounts/company.ts';
import { isWellFormed, keyStatus } from './api-key.ts';
import { createLastUses } from './key-directory.ts';
import { findKey, listKeys, revokeKey, rotateKey } from './key-lifecycle.ts';
import { type KeyToMint, mintKey } from './mint-key.ts';

const secrets = createSystemSecrets();
const clock = createManualClock();
const sharedState = createInProcessState({ clock });

describe('the life of a key', () => {
  const companyId = secrets.newId();
  const otherCompanyId = secrets.newId();

  const database = useDatabase();

  beforeAll(async () => {
    for (const id of [companyId, otherCompanyId]) {
      await addCompany(database, { id, name: 'Acme', billingMode: 'PREPAID' });
    }
  });

  async function mint(wanted: Partial<KeyToMint> = {}) {
    const whole = { name: 'A key', companyId, createdBy: null, ...wanted };
    const minted = await mintKey({ database, secrets, clock }, whole);
    if (minted.outcome !== 'minted') throw new Error(JSON.stringify(minted));
    return minted;
  }
  const rotate = (keyId: string, company = companyId) =>
    rotateKey({ database, secrets, clock }, { companyId: company, keyId, createdBy: null });
  const revoke = (keyId: string, company = companyId, state: SharedState = sharedState) =>
    revokeKey({ database, sharedState: state, clock }, { companyId: company, keyId });

  describe('G-22 rotation', () => {
    test('G-22 mints a sibling with every setting of the old key, which is not changed', async () => {
      const old = await mint({
        name: 'Nightly',
        scopes: ['jobs:read'],
        models: ['svc/chat-cheap'],
        requestsPerMinute: 7,
        tokensPerMinute: 8,
        maxCallsInFlight: 9,
        monthlySpendingLimitMicro: 10n,
        expiresAt: new Date(clock.now() + 86_400_000),
      });
      const rotated = await rotate(old.key.id);
      if (rotated.outcome !== 'rotated') throw new Error(rotated.outcome);
      const { rawKey, key } = rotated;
      expect(isWellFormed(rawKey) && rawKey !== old.rawKey).toBe(true);
      const own = {
        id: key.id,
        createdAt: key.createdAt,
        rotatedFromId: old.key.id,
        rotationRootId: old.key.id,
      };
      expect(key).toEqual({ ...old.key, ...own, prefix: rawKey.slice(0, 8), lastFour: rawKey.slice(-4) });
      expect(key.id).not.toBe(old.key.id);
      expect(await findKey(database, companyId, old.key.id)).toEqual(old.key);
      const [row] = await database.query('select sha256 from api_keys where id = $1', [key.id]);
      expect(row?.sha256).toEqual(secrets.sha256(rawKey));
    });

    test('a revoked, expired, foreign or unknown key has no sibling', async () => {
      const revoked = (await mint()).key.id;
      await revoke(revoked);
      const expired = (await mint({ expiresAt: new Date(clock.now() + 1_000) })).key.id;
      await clock.advance(1_000);
      const foreign = (await mint({ companyId: otherCompanyId })).key.id;
      const before = (await listKeys(database, companyId)).length;
      expect(await rotate(revoked)).toEqual({ outcome: 'not-live', status: 'REVOKED' });
      expect(await rotate(expired)).toEqual({ outcome: 'not-live', status: 'EXPIRED' });
      for (const id of [foreign, secrets.newId(), 'nonsense', '']) {
        expect(await rotate(id)).toEqual({ outcome: 'no-such-key' });
      }
      expect(await rotate(foreign, 'nonsense')).toEqual({ outcome: 'no-such-key' });
      expect(await listKeys(database, companyId)).toHaveLength(before);
    });
  });

  describe('G-23 revocation', () => {
    test('G-23 is stored with its time and then published; repeated, it is published again and the time stays', async () => {
      const { key, rawKey } = await mint();
      const heard: string[] = [];
      const ear = await sharedState.subscribe(
        'keys',
        (message) => void heard.push(message),
        () => {},
      );
      const at = new Date(clock.now());
      const first = await revoke(key.id);
      expect(first).toEqual({ outcome: 'revoked', announced: true, key: { ...key, revokedAt: at } });
      expect(heard).toEqual([secrets.sha256(rawKey).toHex()]);
      await clock.advance(5_000);
      expect(await revoke(key.id)).toEqual(first);
      expect(heard).toHaveLength(2);
      const kept = await findKey(database, companyId, key.id);
      expect(kept && keyStatus(kept, clock.now())).toBe('REVOKED');
      await ear.close();
    });

    test('a foreign or unknown key is not revoked', async () => {
      const foreign = (await mint({ companyId: otherCompanyId })).key;
      for (const id of [foreign.id, secrets.newId(), 'nonsense']) {
        expect(await revoke(id)).toEqual({ outcome: 'no-such-key' });
      }
      expect(await findKey(database, otherCompanyId, foreign.id)).toEqual(foreign);
    });

    test('the message is sent only once the revocation is visible, and retried a few times', async () => {
      for (const [failures, announced] of [
        [2, true],
        [99, false],
      ] as const) {
        const { key } = await mint();
        const seenAtPublish: boolean[] = [];
        const failing: SharedState = {
          ...sharedState,
          async publish() {
            seenAtPublish.push((await findKey(database, companyId, key.id))?.revokedAt !== null);
            if (seenAtPublish.length <= failures) throw new Error('away');
          },
        };
        let result: Awaited<ReturnType<typeof revoke>> | null = null;
        const running = revoke(key.id, companyId, failing).then((revoked) => {
          result = revoked;
        });
        // However long the database takes: a time that has passed before the pause begins does not end it.
        while (result === null) await clock.advance(10);
        await running;
        expect(result).toMatchObject({ outcome: 'revoked', announced });
        expect(seenAtPublish).toEqual([true, true, true]);
      }
    });
  });
});

describe('on PGlite', () => {
  const database = useDatabase();

  keysContract('the embedded database', () => database);
});

describePostgres('with a server', () => {
  const database = usePostgres();

  keysContract('PostgreSQL', () => database);

  test('the last use of a key that another transaction is changing is skipped, not waited for', async () => {
    const secrets = createSystemSecrets();
    const clock = createManualClock();
    const companyId = await addTestCompany(database);
    const mint = async () => {
      const minted = await mintKey({ database, secrets, clock }, { companyId, name: 'A', createdBy: null });
      if (minted.outcome !== 'minted') throw new Error(minted.outcome);
      return minted.key.id;
    };
    const [locked, free] = [await mint(), await mint()];
    const uses = createLastUses({ database, clock, log: createSilentLog() });
    await database.transaction(async (transaction) => {
      await transaction.query('update api_keys set name = $2 where id = $1', [locked, 'B']);
      for (const id of [locked, free]) uses.note(id);
      await uses.close();
    });
    expect((await findKey(database, companyId, free))?.lastUsedAt).toEqual(new Date(clock.now()));
    expect((await findKey(database, companyId, locked))?.lastUsedAt).toBeNull();
  });
});

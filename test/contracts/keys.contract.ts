import { describe, expect, test } from 'bun:test';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { createInProcessState } from '../../src/adapters/shared-state/in-process.ts';
import { createKeyDirectory } from '../../src/domain/keys/key-directory.ts';
import { findKey, listKeys, revokeKey, rotateKey } from '../../src/domain/keys/key-lifecycle.ts';
import { mintKey } from '../../src/domain/keys/mint-key.ts';
import type { Database } from '../../src/ports/database.ts';
import { createManualClock } from '../doubles/manual-clock.ts';
import { createSilentLog } from '../doubles/silent-log.ts';
import { addTestCompany } from '../doubles/test-company.ts';

/** The whole life of keys, from the mint to the gateways' look-up, on one engine. */
export function keysContract(engine: string, given: () => Database): void {
  const secrets = createSystemSecrets();

  async function open() {
    const database = given();
    const clock = createManualClock();
    const sharedState = createInProcessState({ clock });
    const companyId = await addTestCompany(database);
    const parts = { database, sharedState, clock, secrets, log: createSilentLog() };
    const gateways = [await createKeyDirectory(parts), await createKeyDirectory(parts)] as const;
    const mint = async (expiresAt: Date | null = null) => {
      const wanted = {
        companyId,
        name: 'Ключ "1", \\ {a,b}',
        createdBy: null,
        models: ['a"b', "c'd\\"],
        expiresAt,
      };
      const minted = await mintKey(parts, wanted);
      if (minted.outcome !== 'minted') throw new Error(JSON.stringify(minted));
      return minted;
    };
    const outcomes = (rawKey: string) =>
      Promise.all(gateways.map(async (gateway) => (await gateway.find(rawKey)).outcome));
    const close = () => Promise.all(gateways.map((gateway) => gateway.close()));
    return { ...parts, parts, companyId, gateways, mint, outcomes, close };
  }

  describe(`keys on ${engine}`, () => {
    test('G-20 the gateway finds a minted key as it was minted', async () => {
      const { database, clock, companyId, gateways, mint, close } = await open();
      const { rawKey, key } = await mint(new Date(clock.now() + 60_000));
      const found = await gateways[0].find(rawKey);
      expect(found).toEqual({
        outcome: 'live',
        key: { ...key, ceilings: null },
        scopes: new Set(key.scopes),
        models: new Set(['a"b', "c'd\\"]),
      });
      expect(await findKey(database, companyId, key.id)).toEqual(key);
      await close();
    });

    test('G-22 G-23 a rotated key works next to its predecessor until that is revoked, in every process', async () => {
      const { parts, companyId, mint, outcomes, close } = await open();
      const old = await mint();
      const rotated = await rotateKey(parts, { companyId, keyId: old.key.id, createdBy: null });
      if (rotated.outcome !== 'rotated') throw new Error(rotated.outcome);
      expect(await outcomes(old.rawKey)).toEqual(['live', 'live']);
      expect(await outcomes(rotated.rawKey)).toEqual(['live', 'live']);
      const revoked = await revokeKey(parts, { companyId, keyId: old.key.id });
      expect(revoked).toMatchObject({ outcome: 'revoked', announced: true });
      expect(await outcomes(old.rawKey)).toEqual(['unknown', 'unknown']);
      expect(await outcomes(rotated.rawKey)).toEqual(['live', 'live']);
      await close();
    });

    test('processes that record the use of the same keys at once do not block each other', async () => {
      const { database, clock, companyId, gateways, mint, close } = await open();
      const ids: string[] = [];
      for (let n = 0; n < 20; n += 1) ids.push((await mint()).key.id);
      const usedAt = new Date(clock.now());
      for (const id of ids) gateways[0].noteUse(id);
      for (const id of ids.toReversed()) gateways[1].noteUse(id);
      await close();
      const listed = await listKeys(database, companyId);
      expect(new Set(listed.map(({ lastUsedAt }) => lastUsedAt?.getTime()))).toEqual(
        new Set([usedAt.getTime()]),
      );
    });
  });
}

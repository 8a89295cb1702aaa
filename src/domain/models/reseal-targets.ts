import type { AliasName } from './aliases.ts';
import { type CatalogueParts, changeCatalogue } from './change-targets.ts';
import type { CipherFailure } from './cipher.ts';

export interface Resealed {
  readonly outcome: 'changed' | 'nothing-to-do';
  readonly resealed: number;
  /** Under no master key that this process was given: they stay as they are, and their aliases lack them. */
  readonly unreadable: readonly { readonly baseUrl: string; readonly alias: AliasName }[];
}

/**
 * Seals every provider's key anew under the first of the master keys, so that the others can be taken out of use. It
 * runs beside the services: until it is committed they read what was there, afterwards what it wrote, and both open.
 */
export async function resealTargets(
  parts: Pick<CatalogueParts, 'database' | 'sharedState' | 'cipher'>,
): Promise<Resealed> {
  const { cipher } = parts;
  return await changeCatalogue(parts, async (transaction, stored): Promise<Resealed> => {
    const unreadable: { baseUrl: string; alias: AliasName }[] = [];
    let resealed = 0;
    for (const { id, alias, baseUrl, sealedKey } of stored) {
      if (sealedKey === null) continue;
      const apiKey = await cipher.decrypt(sealedKey, baseUrl).catch((error: CipherFailure) => {
        if (error.name !== 'CipherFailure') throw error;
        return null;
      });
      if (apiKey === null) {
        unreadable.push({ baseUrl, alias });
        continue;
      }
      const sealed = await cipher.encrypt(apiKey, baseUrl);
      await transaction.query('update model_targets set sealed_key = $2 where id = $1', [id, sealed]);
      resealed += 1;
    }
    return { outcome: resealed > 0 ? 'changed' : 'nothing-to-do', resealed, unreadable };
  });
}

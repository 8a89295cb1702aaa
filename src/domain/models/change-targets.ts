import type { Database, Transaction } from '../../ports/database.ts';
import type { Secrets } from '../../ports/secrets.ts';
import type { SharedState } from '../../ports/shared-state.ts';
import { type AliasName, nameOfAlias, unknownAlias } from './aliases.ts';
import type { Cipher } from './cipher.ts';
import { lockCatalogue, readCatalogue, replaceTargets, type StoredTarget } from './stored-targets.ts';
import { checkTargets, MOST_TARGETS, TOO_MANY_TARGETS, type WantedTarget } from './wanted-target.ts';

/** Something about the targets has changed: whoever keeps them in memory reads them again. */
export const MODELS_TOPIC = 'models';

export interface CatalogueParts {
  readonly database: Database;
  readonly sharedState: SharedState;
  readonly secrets: Secrets;
  readonly cipher: Cipher;
  /** What stands before the slash of every alias. */
  readonly prefix: string;
}

export type ChangedTargets =
  | { readonly outcome: 'changed' }
  | { readonly outcome: 'unknown-alias' | 'wrong-target'; readonly problem: string };

/** From now on the alias has exactly these targets, in this order; with none, the embedded models serve it. */
export async function setAliasTargets(
  parts: CatalogueParts,
  alias: string,
  wanted: readonly WantedTarget[],
): Promise<ChangedTargets> {
  return await changeTargets(parts, alias, () => [], wanted);
}

/** One more target behind those that the alias has, whose keys stay as they are. */
export async function addAliasTarget(
  parts: CatalogueParts,
  alias: string,
  wanted: WantedTarget,
): Promise<ChangedTargets> {
  return await changeTargets(parts, alias, (stored) => stored, [wanted]);
}

async function changeTargets(
  parts: CatalogueParts,
  alias: string,
  kept: (stored: readonly StoredTarget[]) => readonly StoredTarget[],
  wanted: readonly WantedTarget[],
): Promise<ChangedTargets> {
  const name = nameOfAlias(parts.prefix, alias);
  if (name === null) return { outcome: 'unknown-alias', problem: unknownAlias(parts.prefix, alias) };
  const checked = checkTargets(wanted);
  if (checked.outcome === 'wrong') return { outcome: 'wrong-target', problem: checked.problem };
  const added = await sealTargets(parts, name, checked.targets);
  return await changeCatalogue(parts, async (transaction, stored) => {
    const targets = [...kept(stored.filter((target) => target.alias === name)), ...added];
    if (targets.length > MOST_TARGETS) return { outcome: 'wrong-target', problem: TOO_MANY_TARGETS };
    await replaceTargets(transaction, name, targets);
    return { outcome: 'changed' };
  });
}

/** Each target with an id of its own: a changed one does not inherit what was known of its predecessor. */
export async function sealTargets(
  { cipher, secrets }: Pick<CatalogueParts, 'cipher' | 'secrets'>,
  alias: AliasName,
  targets: readonly WantedTarget[],
): Promise<StoredTarget[]> {
  return await Promise.all(
    targets.map(async ({ baseUrl, model, apiKey, weight }) => {
      const sealedKey = apiKey === null ? null : await cipher.encrypt(apiKey, baseUrl);
      return { id: secrets.newId(), alias, baseUrl, model, sealedKey, weight };
    }),
  );
}

/** Compares and writes under the catalogue's lock; what it wrote is told to all processes once it is committed. */
export async function changeCatalogue<Outcome extends { readonly outcome: string }>(
  { database, sharedState }: Pick<CatalogueParts, 'database' | 'sharedState'>,
  change: (transaction: Transaction, stored: readonly StoredTarget[]) => Promise<Outcome>,
): Promise<Outcome> {
  const result = await database.transaction(async (transaction) => {
    await lockCatalogue(transaction);
    const { targets } = await readCatalogue(transaction);
    return await change(transaction, targets);
  });
  if (result.outcome !== 'changed') return result;
  // The change stands whether or not this arrives: the others look at the version twice a second.
  await sharedState.publish(MODELS_TOPIC, result.outcome).catch(() => {});
  return result;
}

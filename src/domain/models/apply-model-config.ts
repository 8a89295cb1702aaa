import { type AliasName, aliasOf, nameOfAlias, unknownAlias } from './aliases.ts';
import { type CatalogueParts, changeCatalogue, sealTargets } from './change-targets.ts';
import type { Cipher } from './cipher.ts';
import { replaceTargets, type StoredTarget } from './stored-targets.ts';
import { checkTargets, type WantedTarget } from './wanted-target.ts';

/** The aliases of the file behind MODEL_CONFIG, in its own words. */
export type ConfiguredAliases = {
  readonly [alias: string]: {
    /** Without it the alias keeps the targets it has. */
    readonly targets?:
      | readonly {
          readonly base_url: string;
          readonly model: string;
          readonly api_key?: string | undefined;
          readonly weight: number;
        }[]
      | undefined;
  };
};

export type AppliedModelConfig =
  | { readonly outcome: 'changed'; readonly aliases: readonly string[] }
  | { readonly outcome: 'unchanged' }
  /** Nothing was written. */
  | { readonly outcome: 'refused'; readonly problem: string };

/**
 * At a start: every alias whose targets the file names gets exactly those. Where it has them already nothing is
 * written and nobody is told, so that any number of processes may start with the same file at once.
 */
export async function applyModelConfig(
  parts: CatalogueParts,
  configured: ConfiguredAliases,
): Promise<AppliedModelConfig> {
  const wanted = new Map<AliasName, readonly WantedTarget[]>();
  for (const [alias, { targets }] of Object.entries(configured)) {
    const name = nameOfAlias(parts.prefix, alias);
    if (name === null) return { outcome: 'refused', problem: unknownAlias(parts.prefix, alias) };
    if (targets === undefined) continue;
    const checked = checkTargets(
      targets.map(({ base_url, model, api_key, weight }) => {
        return { baseUrl: base_url, model, apiKey: api_key ?? null, weight };
      }),
    );
    if (checked.outcome === 'wrong') return { outcome: 'refused', problem: `${alias}, ${checked.problem}` };
    wanted.set(name, checked.targets);
  }
  if (wanted.size === 0) return { outcome: 'unchanged' };
  return await changeCatalogue(parts, async (transaction, stored): Promise<AppliedModelConfig> => {
    const aliases: string[] = [];
    for (const [name, targets] of wanted) {
      const present = stored.filter((target) => target.alias === name);
      if (await isSame(parts.cipher, present, targets)) continue;
      await replaceTargets(transaction, name, await sealTargets(parts, name, targets));
      aliases.push(aliasOf(parts.prefix, name));
    }
    return aliases.length === 0 ? { outcome: 'unchanged' } : { outcome: 'changed', aliases };
  });
}

async function isSame(
  cipher: Cipher,
  stored: readonly StoredTarget[],
  wanted: readonly WantedTarget[],
): Promise<boolean> {
  if (stored.length !== wanted.length) return false;
  for (const [at, target] of wanted.entries()) {
    const present = stored[at];
    if (present === undefined || present.baseUrl !== target.baseUrl || present.model !== target.model) {
      return false;
    }
    if (present.weight !== target.weight) return false;
    if ((await openedKey(cipher, present)) !== target.apiKey) return false;
  }
  return true;
}

/** A key that does not open is not the one wanted: the file's takes its place, under today's master key. */
async function openedKey(cipher: Cipher, { sealedKey, baseUrl }: StoredTarget): Promise<string | null> {
  if (sealedKey === null) return null;
  return await cipher.decrypt(sealedKey, baseUrl).catch(() => '');
}

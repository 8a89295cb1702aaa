import type { Log } from '../../ports/log.ts';
import { ALIAS_NAMES, type Alias, type AliasKind, type AliasTarget, aliasOf } from './aliases.ts';
import type { Cipher } from './cipher.ts';
import type { AliasPrice } from './prices.ts';
import type { StoredTarget } from './stored-targets.ts';

export interface OpeningParts {
  readonly cipher: Cipher;
  readonly log: Log;
  readonly prefix: string;
  /** False in production: what only makes things up does not answer for a model. */
  readonly embeddedAllowed: boolean;
}

/** The aliases by their full names, in the order of ALIAS_NAMES. */
export type OpenedCatalogue = ReadonlyMap<string, Alias>;

/**
 * Every alias with its targets and prices, keys decrypted. Where a key does not open, the alias keeps the targets it had; at
 * a start, when it had none, it has those that do open. It is never handed to the embedded models instead: whoever
 * set a provider wants that provider or an error.
 */
export async function openCatalogue(
  parts: OpeningParts,
  stored: { readonly targets: readonly StoredTarget[]; readonly prices: readonly AliasPrice[] },
  before: OpenedCatalogue | null,
): Promise<OpenedCatalogue> {
  const opened = new Map<string, Alias>();
  for (const { name, kind } of ALIAS_NAMES) {
    const alias = aliasOf(parts.prefix, name);
    const own = stored.targets.filter((target) => target.alias === name);
    const prices = stored.prices.filter((price) => price.alias === name);
    const targets: AliasTarget[] = [];
    for (const target of own) {
      const usable = await openTarget(parts, alias, target);
      if (usable !== null) targets.push(usable);
    }
    const known = before?.get(alias);
    if (own.length === 0) opened.set(alias, { alias, kind, targets: embedded(parts, alias, kind), prices });
    else if (targets.length < own.length && known !== undefined) opened.set(alias, { ...known, prices });
    else opened.set(alias, { alias, kind, targets, prices });
  }
  return opened;
}

async function openTarget(
  { cipher, log }: OpeningParts,
  alias: string,
  { id, baseUrl, model, sealedKey, weight }: StoredTarget,
): Promise<AliasTarget | null> {
  try {
    const apiKey = sealedKey === null ? null : await cipher.decrypt(sealedKey, baseUrl);
    return { id, baseUrl, model, apiKey, weight };
  } catch (error) {
    log.error('a model target cannot be used: its key does not open', { alias, targetId: id, error });
    return null;
  }
}

/** Reading out of a text is the embedded engine's own work, so extract aliases have it in production too. */
function embedded({ embeddedAllowed }: OpeningParts, alias: string, kind: AliasKind): readonly AliasTarget[] {
  if (!embeddedAllowed && kind !== 'extract') return [];
  return [{ id: 'embedded', baseUrl: null, model: alias, apiKey: null, weight: 1 }];
}

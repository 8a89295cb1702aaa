import { checkBounds, ensureBounds, type WantedBounds } from './alias-bounds.ts';
import { type AliasName, aliasOf, nameOfAlias, type TokenPrice, unknownAlias } from './aliases.ts';
import type { Cipher } from './cipher.ts';
import { checkTools, ensureTools } from './hosted-tools.ts';
import { checkPrice, ensurePrice, type WantedPrice } from './prices.ts';
import { providerFacts, type StoredTarget, type WantedTarget } from './target.ts';
import { openTargetSecrets, sealTargets } from './target-secrets.ts';
import { type CatalogueParts, changeCatalogue, checkTargets, replaceTargets } from './targets.ts';

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
          readonly provider?: string | undefined;
          readonly responses?: boolean | undefined;
          readonly api_version?: string | undefined;
          readonly headers?: Readonly<Record<string, string>> | undefined;
        }[]
      | undefined;
    /** In credits a million tokens. Without it the alias keeps its price. */
    readonly price?:
      | (Omit<WantedPrice, 'cacheWrite'> & { readonly cache_write?: number | undefined })
      | undefined;
    /** In tokens. What is left out stays as it is. */
    readonly context_length?: number | undefined;
    readonly max_output_tokens?: number | undefined;
    readonly enforce_max_output?: boolean | undefined;
    /** In credits a use: all that are enabled. */
    readonly hosted_tools?: Readonly<Record<string, number>> | undefined;
    readonly max_tool_uses?: number | undefined;
    readonly provider_ids?: readonly string[] | undefined;
  };
};

export type AppliedModelConfig =
  | { readonly outcome: 'changed'; readonly aliases: readonly string[] }
  | { readonly outcome: 'unchanged' }
  /** Nothing was written. */
  | { readonly outcome: 'refused'; readonly problem: string };

/**
 * At a start: every alias whose targets the file names gets exactly those, and where it names a price that is not the
 * one in force, it is from now on. Where nothing differs nothing is written or published, so that any number
 * of processes may start with the same file at once.
 */
export async function applyModelConfig(
  parts: CatalogueParts,
  configured: ConfiguredAliases,
): Promise<AppliedModelConfig> {
  const checked = checkConfigured(parts.prefix, configured);
  if (checked.outcome === 'refused') return checked;
  const { wanted } = checked;
  if (wanted.length === 0) return { outcome: 'unchanged' };
  return await changeCatalogue(parts, async (transaction, stored): Promise<AppliedModelConfig> => {
    const aliases: string[] = [];
    for (const { name, targets, price, bounds, tools } of wanted) {
      const present = stored.filter((target) => target.alias === name);
      const isOther = targets !== null && !(await isSame(parts.cipher, present, targets));
      if (isOther) {
        const sealed = await sealTargets(parts, name, targets, present);
        if (sealed.outcome === 'wrong') return { outcome: 'refused', problem: sealed.problem };
        await replaceTargets(transaction, name, sealed.targets);
      }
      const isPriced = price !== null && (await ensurePrice(transaction, parts.secrets, name, price));
      const isBounded = await ensureBounds(transaction, name, bounds);
      const isEquipped = await ensureTools(transaction, name, tools);
      if (isOther || isPriced || isBounded || isEquipped) aliases.push(aliasOf(parts.prefix, name));
    }
    return aliases.length === 0 ? { outcome: 'unchanged' } : { outcome: 'changed', aliases };
  });
}

interface WantedAlias {
  readonly name: AliasName;
  /** Null where the file does not name them. */
  readonly targets: readonly WantedTarget[] | null;
  readonly price: TokenPrice | null;
  readonly bounds: WantedBounds;
  readonly tools: Parameters<typeof ensureTools>[2];
}

function checkConfigured(
  prefix: string,
  configured: ConfiguredAliases,
): { outcome: 'fine'; wanted: readonly WantedAlias[] } | { outcome: 'refused'; problem: string } {
  const wanted: WantedAlias[] = [];
  for (const [alias, { targets, price, ...more }] of Object.entries(configured)) {
    const name = nameOfAlias(prefix, alias);
    if (name === null) return { outcome: 'refused', problem: unknownAlias(prefix, alias) };
    const checked = checkTargets(
      (targets ?? []).map(({ base_url, api_key, api_version, ...same }) => {
        return { ...same, baseUrl: base_url, apiKey: api_key ?? null, apiVersion: api_version ?? null };
      }),
    );
    if (checked.outcome === 'wrong') return { outcome: 'refused', problem: `${alias}, ${checked.problem}` };
    const priced = price === undefined ? null : checkPrice({ ...price, cacheWrite: price.cache_write });
    if (priced?.outcome === 'wrong') return { outcome: 'refused', problem: `${alias}, ${priced.problem}` };
    const bounded = checkBounds({
      contextLength: more.context_length,
      maxOutputTokens: more.max_output_tokens,
      enforceMaxOutput: more.enforce_max_output,
    });
    if (bounded.outcome === 'wrong') return { outcome: 'refused', problem: `${alias}, ${bounded.problem}` };
    const equipped = checkTools({
      tools: more.hosted_tools,
      maxUses: more.max_tool_uses,
      providerIds: more.provider_ids,
    });
    if (equipped.outcome === 'wrong') return { outcome: 'refused', problem: `${alias}, ${equipped.problem}` };
    wanted.push({
      name,
      tools: equipped.tools,
      bounds: bounded.bounds,
      targets: targets === undefined ? null : checked.targets,
      price: priced?.price ?? null,
    });
  }
  return { outcome: 'fine', wanted };
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
    const { provider, responses, apiVersion, headers } = providerFacts(target);
    if (present.provider !== provider || present.responses !== responses) return false;
    if (present.apiVersion !== apiVersion) return false;
    // Secrets that do not open are not those wanted: the file's take their place, under today's master key.
    const opened = await openTargetSecrets(cipher, present).catch(() => null);
    if (opened === null || opened.apiKey !== target.apiKey) return false;
    if (!isSameHeaders(opened.headers, headers)) return false;
  }
  return true;
}

function isSameHeaders(one: Readonly<Record<string, string>>, other: typeof one): boolean {
  const names = Object.keys(one);
  if (names.length !== Object.keys(other).length) return false;
  return names.every((name) => one[name] === other[name]);
}

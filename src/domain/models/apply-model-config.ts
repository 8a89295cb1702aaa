import { type AliasParams, type CheckedAlias, checkAlias, writeAliases } from './change-alias.ts';
import { type CatalogueParts, changeCatalogue } from './targets.ts';
import type { FactorsByField } from './tiers/price-factors.ts';
import type { TokenPriceParams } from './token-price.ts';

type ConfiguredPrice = Omit<TokenPriceParams, 'cacheWrite'> & { readonly cache_write?: number | undefined };

/** The aliases of the MODEL_CONFIG file, with its field names. */
type ConfiguredAliases = {
  readonly [alias: string]: {
    /** If omitted, the alias keeps its targets. */
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
          readonly timeout_ms?: number | undefined;
          readonly idle_timeout_ms?: number | undefined;
          readonly max_in_flight?: number | undefined;
          /** The provider's price for us, in credits per million tokens. */
          readonly cost?: ConfiguredPrice | undefined;
        }[]
      | undefined;
    /** In credits per million tokens. If omitted, the alias keeps its price. */
    readonly price?: ConfiguredPrice | undefined;
    /** Required for a new name. */
    readonly kind?: string | undefined;
    readonly strategy?: string | undefined;
    readonly retries?: number | undefined;
    readonly retry_statuses?: readonly number[] | undefined;
    readonly fallback?: string | undefined;
    readonly fallback_price?: string | undefined;
    readonly hedge_ms?: number | undefined;
    /** In tokens. Omitted fields stay unchanged. */
    readonly context_length?: number | undefined;
    readonly max_output_tokens?: number | undefined;
    readonly enforce_max_output?: boolean | undefined;
    readonly cache_breakpoints?: boolean | undefined;
    readonly drop?: readonly string[] | undefined;
    /** Credits per use of every enabled tool. */
    readonly hosted_tools?: Readonly<Record<string, number>> | undefined;
    readonly max_tool_uses?: number | undefined;
    readonly provider_ids?: readonly string[] | undefined;
    /** Null: companies may not use their own provider keys. */
    readonly byok_fee_percent?: number | null | undefined;
    /** By field and value of the body. Null: tiers that cost more are refused. */
    readonly price_factors?: FactorsByField | null | undefined;
  };
};

type AppliedModelConfig =
  | { readonly outcome: 'changed'; readonly aliases: readonly string[]; readonly retired?: readonly string[] }
  | { readonly outcome: 'unchanged'; readonly retired?: readonly string[] }
  /** Nothing was written. */
  | { readonly outcome: 'refused'; readonly problem: string };

/**
 * Runs at startup. Each alias whose targets the file lists gets exactly those, and a price that differs from the one in
 * force takes effect now. New names are added. Retired ones stay retired and are reported. Nothing is written if
 * nothing differs, so that any number of processes may start with the same file at once.
 */
export async function applyModelConfig(
  parts: CatalogueParts,
  configured: ConfiguredAliases,
): Promise<AppliedModelConfig> {
  const aliases: CheckedAlias[] = [];
  for (const [alias, given] of Object.entries(configured)) {
    const checked = checkAlias(parts.prefix, wantedAlias(alias, given));
    if (checked.outcome === 'wrong') return refused(checked);
    aliases.push(checked.alias);
  }
  if (aliases.length === 0) return { outcome: 'unchanged' };
  return await changeCatalogue(parts, async (transaction, stored): Promise<AppliedModelConfig> => {
    const written = await writeAliases({ parts, transaction, stored, aliases, how: 'apply' });
    if (written.outcome === 'wrong') return refused(written);
    const retired = written.retired.length === 0 ? {} : { retired: written.retired };
    if (written.changed.length === 0) return { outcome: 'unchanged', ...retired };
    return { outcome: 'changed', aliases: written.changed, ...retired };
  });
}

function refused({ alias, field, problem }: Extract<ReturnType<typeof checkAlias>, { outcome: 'wrong' }>) {
  const namesIt = field === 'alias' || field === 'kind' || field === 'fallback';
  return { outcome: 'refused', problem: namesIt ? problem : `${alias}, ${problem}` } as const;
}

function wantedAlias(alias: string, given: ConfiguredAliases[string]): AliasParams {
  const { targets, price, kind, strategy, retries, fallback } = given;
  return {
    ...{ alias, kind, strategy, retries, fallback },
    targets: targets?.map(({ base_url, api_key, api_version, max_in_flight, cost, ...rest }) => {
      const { timeout_ms, idle_timeout_ms, ...same } = rest;
      return {
        ...same,
        baseUrl: base_url,
        apiKey: api_key ?? null,
        apiVersion: api_version ?? null,
        timeoutMs: timeout_ms ?? null,
        idleTimeoutMs: idle_timeout_ms ?? null,
        maxInFlight: max_in_flight ?? null,
        cost: cost === undefined ? null : wantedPrice(cost),
      };
    }),
    price: price === undefined ? undefined : wantedPrice(price),
    contextLength: given.context_length,
    maxOutputTokens: given.max_output_tokens,
    enforceMaxOutput: given.enforce_max_output,
    cacheBreakpoints: given.cache_breakpoints,
    drop: given.drop,
    retryStatuses: given.retry_statuses,
    hedgeMs: given.hedge_ms,
    fallbackPrice: given.fallback_price,
    byokFeePercent: given.byok_fee_percent,
    priceFactors: given.price_factors,
    hostedTools: {
      tools: given.hosted_tools,
      maxUses: given.max_tool_uses,
      providerIds: given.provider_ids,
    },
  };
}

function wantedPrice({ cache_write, ...price }: ConfiguredPrice): TokenPriceParams {
  return { ...price, cacheWrite: cache_write };
}

import type { AliasName, TokenPrice } from './aliases.ts';
import { DEFAULT_PROVIDER, type TargetProvider } from './providers.ts';
import type { TokenPriceParams } from './token-price.ts';

/** A requested target: by command, by MODEL_CONFIG or by the console. */
export interface TargetParams {
  readonly baseUrl: string;
  readonly model: string;
  readonly apiKey: string | null;
  /** Null: that of the stored target that `id` names, otherwise 1. */
  readonly weight: number | null;
  /** Default: `openai`. */
  readonly provider?: string | undefined;
  /** Null: as in the provider's preset. Omitted: as in the stored target if its provider is the same, otherwise null. */
  readonly responses?: boolean | null | undefined;
  readonly apiVersion?: string | null | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** How long it may take until its answer begins. */
  readonly timeoutMs?: number | null | undefined;
  /** How long it may be silent within its answer. */
  readonly idleTimeoutMs?: number | null | undefined;
  /** The maximum number of concurrent calls in one process. */
  readonly maxInFlight?: number | null | undefined;
  /** In credits per million tokens. */
  readonly cost?: TokenPriceParams | null | undefined;
  /**
   * The id of a stored target of the alias, which supplies the key, headers, limits and cost that are omitted here.
   * Null removes a limit or the cost, but not the key.
   */
  readonly id?: string | null | undefined;
  /** Removes the key, even if a stored one would be kept. */
  readonly removesKey?: boolean | undefined;
}

export interface StoredTarget {
  readonly id: string;
  readonly alias: AliasName;
  readonly baseUrl: string;
  readonly model: string;
  readonly sealedKey: Uint8Array | null;
  readonly weight: number;
  readonly provider: string;
  readonly responses: boolean | null;
  readonly apiVersion: string | null;
  readonly sealedHeaders: Uint8Array | null;
  readonly timeoutMs: number | null;
  readonly idleTimeoutMs: number | null;
  readonly maxInFlight: number | null;
  readonly cost: TokenPrice | null;
}

/** A target's provider settings, with defaults for omitted ones. */
export function providerFacts({ provider, responses, apiVersion, headers }: TargetParams): TargetProvider {
  return {
    provider: provider ?? DEFAULT_PROVIDER,
    responses: responses ?? null,
    apiVersion: apiVersion ?? null,
    headers: headers ?? {},
  };
}

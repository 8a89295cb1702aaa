import type { AliasName, TokenPrice } from './aliases.ts';
import { DEFAULT_PROVIDER, type TargetProvider } from './providers.ts';
import type { WantedPrice } from './token-price.ts';

/** A requested target: by command, by MODEL_CONFIG, by the console. */
export interface WantedTarget {
  readonly baseUrl: string;
  readonly model: string;
  readonly apiKey: string | null;
  /** Null: 1, or that of the stored target that it names. */
  readonly weight: number | null;
  /** Left out: `openai`. */
  readonly provider?: string | undefined;
  /** Left out: as the provider's preset says. */
  readonly responses?: boolean | null | undefined;
  readonly apiVersion?: string | null | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** How long it may take to begin its answer. */
  readonly timeoutMs?: number | null | undefined;
  /** Calls that it serves at once, in one process. */
  readonly maxInFlight?: number | null | undefined;
  /** In credits for a million tokens. */
  readonly cost?: WantedPrice | null | undefined;
  /**
   * That of a stored target of the alias: what is left out of its key, headers, limits and cost is taken from it. Null
   * removes it, except for the key.
   */
  readonly id?: string | null | undefined;
  /** True: it has no key from now on, even where a stored one would be taken over. */
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
  readonly maxInFlight: number | null;
  readonly cost: TokenPrice | null;
}

/** What a target says of its provider, with what it leaves out. */
export function providerFacts({ provider, responses, apiVersion, headers }: WantedTarget): TargetProvider {
  return {
    provider: provider ?? DEFAULT_PROVIDER,
    responses: responses ?? null,
    apiVersion: apiVersion ?? null,
    headers: headers ?? {},
  };
}

import type { AliasName } from './aliases.ts';
import { DEFAULT_PROVIDER, type TargetProvider } from './providers.ts';

/** A requested target: by command, by MODEL_CONFIG, by the console. */
export interface WantedTarget {
  readonly baseUrl: string;
  readonly model: string;
  readonly apiKey: string | null;
  readonly weight: number;
  /** Left out: `openai`. */
  readonly provider?: string | undefined;
  /** Left out: as the provider's preset says. */
  readonly responses?: boolean | null | undefined;
  readonly apiVersion?: string | null | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** That of a stored target of the alias: what is left out of key and headers is taken from it. */
  readonly id?: string | null | undefined;
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

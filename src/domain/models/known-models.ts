import { z } from 'zod';
import type { AliasKind } from './aliases.ts';
import file from './known-models.json' with { type: 'json' };
import { PROVIDER_PRESETS } from './providers.ts';

/**
 * Published facts about well-known models: how much they read and write, and the price of a million tokens in the
 * provider's currency. Only for suggestions: nothing is charged or held by these figures. Each entry has the date of
 * its figures; docs/models.md explains how to update them.
 */
export interface KnownModel {
  /** The preset of this name if there is one; otherwise the model is reached as `compatible`. */
  readonly vendor: string;
  /** The provider's name for it. */
  readonly model: string;
  readonly kind: AliasKind;
  readonly contextLength: number;
  /** Null for embeddings. */
  readonly maxOutputTokens: number | null;
  readonly currency: string;
  readonly prompt: number;
  /** Null if the provider has no separate price for it. */
  readonly cached: number | null;
  readonly completion: number;
  readonly cacheWrite: number | null;
  /** A date, for example 2026-08-08. */
  readonly asOf: string;
  /** The page that the figures were read from. */
  readonly source: string;
  /** The page where the provider publishes its prices. */
  readonly pricePage: string;
  readonly note?: string | undefined;
}

/** Older figures are shown as outdated. */
export const STALE_AFTER_DAYS = 180;
const DAY_MS = 86_400_000;

const MOST_MODELS = 1_000;
const price = z.number().nonnegative().max(1_000_000);
const tokens = z.int().positive().max(1_000_000_000);
const address = z.url({ protocol: /^https$/ }).max(500);

const catalogue = z.strictObject({
  models: z
    .array(
      z.strictObject({
        vendor: z.string().regex(/^[a-z]{2,20}$/),
        model: z.string().min(1).max(200),
        kind: z.enum(['chat', 'extract', 'embed']),
        contextLength: tokens,
        maxOutputTokens: tokens.nullable(),
        currency: z.string().regex(/^[A-Z]{3}$/),
        prompt: price,
        cached: price.nullable(),
        completion: price,
        cacheWrite: price.nullable(),
        asOf: z.iso.date(),
        source: address,
        pricePage: address,
        note: z.string().max(200).optional(),
      }),
    )
    .max(MOST_MODELS),
});

let read: readonly KnownModel[] | null = null;

/** In the order of the file, which is by provider. */
export function knownModels(): readonly KnownModel[] {
  read ??= catalogue.parse(file).models;
  return read;
}

/** Null if the catalogue has no such model. The preset distinguishes models of the same name at several providers. */
export function knownModel(provider: string, model: string): KnownModel | null {
  const named = knownModels().filter((known) => known.model === model);
  return named.find(({ vendor }) => vendor === provider) ?? (isPreset(provider) ? null : (named[0] ?? null));
}

/** The preset for a target with this model. */
export function presetOf({ vendor }: KnownModel): string {
  return isPreset(vendor) ? vendor : 'compatible';
}

/** Whether the figures are more than 180 days old, so that providers may have changed them. */
export function isStale({ asOf }: Pick<KnownModel, 'asOf'>, nowMs: number): boolean {
  return nowMs - Date.parse(asOf) > STALE_AFTER_DAYS * DAY_MS;
}

/** For example `2.5 USD prompt, 1.25 cached, 10 completion for a million tokens`. */
export function listPrice({ prompt, cached, completion, cacheWrite, currency }: KnownModel): string {
  const parts = [
    `${prompt} ${currency} prompt`,
    cached === null ? [] : `${cached} cached`,
    cacheWrite === null ? [] : `${cacheWrite} cache write`,
    `${completion} completion`,
  ];
  return `${parts.flat().join(', ')} for a million tokens`;
}

/** Presets that serve models of any vendor. Each of the others is one vendor's own. */
const OPEN_PRESETS: readonly string[] = ['compatible', 'vllm', 'ollama', 'openrouter', 'azure', 'bedrock'];

function isPreset(name: string): boolean {
  return !OPEN_PRESETS.includes(name) && PROVIDER_PRESETS.some((preset) => preset.name === name);
}

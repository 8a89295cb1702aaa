import { DEFAULT_REQUESTS_PER_MINUTE, DEFAULT_TOKENS_PER_MINUTE, type KeySettings } from './api-key.ts';
import { DEFAULT_SCOPES, isScope, SCOPES } from './scopes.ts';

/** What somebody asks for. Whatever is null or left out takes its default. */
export interface WantedKey {
  readonly name: string;
  readonly scopes?: readonly string[] | null | undefined;
  readonly models?: readonly string[] | null | undefined;
  readonly requestsPerMinute?: number | null | undefined;
  readonly tokensPerMinute?: number | null | undefined;
  readonly maxCallsInFlight?: number | null | undefined;
  readonly monthlySpendingLimitMicro?: bigint | null | undefined;
  readonly expiresAt?: Date | null | undefined;
  /** The aliases there are. Without it any name of the right form is taken, and one that is none opens nothing. */
  readonly knownModels?: readonly string[] | undefined;
}

export type CheckedKey =
  | { readonly outcome: 'valid'; readonly settings: KeySettings }
  | { readonly outcome: 'invalid'; readonly field: keyof KeySettings; readonly message: string };

export const LONGEST_NAME = 200;
export const MOST_MODELS = 50;
export const LONGEST_MODEL = 100;
export const HIGHEST_RATE = 10_000_000;
export const MOST_CALLS_IN_FLIGHT = 100_000;
/** It is counted in shared state, whose amounts end at 2^53. */
export const HIGHEST_SPENDING_LIMIT_MICRO = 9_000_000_000_000_000n;
/** Later years have no four digits, and whoever typed one made a mistake. */
const LAST_EXPIRY_MS = Date.UTC(9999, 11, 31);
const MODEL = new RegExp(`^[^\\p{C}\\s,]{1,${LONGEST_MODEL}}$`, 'u');

/** Looks at every setting and fills in the defaults, or says what is wrong with the first bad one. */
export function checkWantedKey(wanted: WantedKey, nowMs: number): CheckedKey {
  const settings: KeySettings = {
    name: wanted.name.trim(),
    scopes: SCOPES.filter((scope) => (wanted.scopes ?? DEFAULT_SCOPES).includes(scope)),
    models: wanted.models == null ? null : [...new Set(wanted.models)],
    requestsPerMinute: wanted.requestsPerMinute ?? DEFAULT_REQUESTS_PER_MINUTE,
    tokensPerMinute: wanted.tokensPerMinute ?? DEFAULT_TOKENS_PER_MINUTE,
    maxCallsInFlight: wanted.maxCallsInFlight ?? null,
    monthlySpendingLimitMicro: wanted.monthlySpendingLimitMicro ?? null,
    expiresAt: wanted.expiresAt ?? null,
  };
  const complaints: Partial<Record<keyof KeySettings, string | null>> = {
    name: nameComplaint(settings.name),
    scopes: scopesComplaint(wanted.scopes ?? DEFAULT_SCOPES),
    models: settings.models === null ? null : modelsComplaint(settings.models, wanted.knownModels),
    requestsPerMinute: rangeComplaint(settings.requestsPerMinute, HIGHEST_RATE),
    tokensPerMinute: rangeComplaint(settings.tokensPerMinute, HIGHEST_RATE),
    maxCallsInFlight: rangeComplaint(settings.maxCallsInFlight, MOST_CALLS_IN_FLIGHT),
    monthlySpendingLimitMicro: spendingComplaint(settings.monthlySpendingLimitMicro),
    expiresAt: expiryComplaint(settings.expiresAt, nowMs),
  };
  for (const [field, message] of Object.entries(complaints)) {
    if (message !== null) return { outcome: 'invalid', field: field as keyof KeySettings, message };
  }
  return { outcome: 'valid', settings };
}

function nameComplaint(name: string): string | null {
  if (name === '') return 'a key needs a name';
  if (name.length > LONGEST_NAME) return `a name has at most ${LONGEST_NAME} characters`;
  // It is shown in tables and on terminals, where a control character could pass for something else.
  return /\p{C}/u.test(name) ? 'a name has no control characters' : null;
}

function scopesComplaint(scopes: readonly string[]): string | null {
  const unknown = scopes.filter((scope) => !isScope(scope));
  if (unknown.length > 0) return `there is no scope ${quoted(unknown)}; there are ${SCOPES.join(', ')}`;
  return scopes.length === 0 ? `a key needs at least one scope of ${SCOPES.join(', ')}` : null;
}

function modelsComplaint(models: readonly string[], known: readonly string[] | undefined): string | null {
  // An empty list must never be taken for "all": that is said by leaving it out.
  if (models.length === 0) return 'name at least one model, or leave the list out for all of them';
  if (models.length > MOST_MODELS) return `at most ${MOST_MODELS} models can be named`;
  const bad = models.filter((model) => !MODEL.test(model) || known?.includes(model) === false);
  return bad.length > 0 ? `there is no model ${quoted(bad)}` : null;
}

function rangeComplaint(value: number | null, most: number): string | null {
  if (value === null || (Number.isInteger(value) && value >= 1 && value <= most)) return null;
  return `a whole number from 1 to ${most} is needed`;
}

function spendingComplaint(limitMicro: bigint | null): string | null {
  if (limitMicro === null || (limitMicro >= 0n && limitMicro <= HIGHEST_SPENDING_LIMIT_MICRO)) return null;
  return `0 to ${HIGHEST_SPENDING_LIMIT_MICRO} micro-credits are possible`;
}

function expiryComplaint(expiresAt: Date | null, nowMs: number): string | null {
  if (expiresAt === null) return null;
  const at = expiresAt.getTime();
  if (Number.isNaN(at) || at > LAST_EXPIRY_MS) return 'this is not a date';
  return at > nowMs ? null : 'this date is past: a key expires in the future or never';
}

/** The first few, each cut: what somebody sent is not thrown back at its full length. */
function quoted(words: readonly string[]): string {
  const shown = words.slice(0, 3).map((word) => JSON.stringify(word.slice(0, LONGEST_MODEL)));
  return words.length > shown.length ? `${shown.join(', ')} …` : shown.join(', ');
}

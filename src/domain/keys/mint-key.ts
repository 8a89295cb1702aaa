import type { Clock } from '../../ports/clock.ts';
import type { Statements } from '../../ports/database.ts';
import type { Secrets } from '../../ports/secrets.ts';
import {
  type ApiKey,
  DEFAULT_REQUESTS_PER_MINUTE,
  DEFAULT_SCOPES,
  DEFAULT_TOKENS_PER_MINUTE,
  isId,
  isPrintable,
  isScope,
  KEY_BYTES,
  KEY_COLUMNS,
  type KeySettings,
  LONGEST_CACHE_TTL_SECONDS,
  rawKeyFrom,
  recognition,
  SCOPES,
  STREAM_USAGE_CHUNKS,
} from './api-key.ts';

export interface MintParts {
  readonly database: Statements;
  readonly secrets: Secrets;
  readonly clock: Clock;
}

export interface KeyToMint extends KeyParams {
  readonly companyId: string;
  /** The user who mints it; null on the command line. */
  readonly createdBy: string | null;
}

/** The requested key. Settings that are null or undefined take their defaults. */
interface KeyParams {
  readonly name: string;
  readonly scopes?: readonly string[] | null | undefined;
  readonly models?: readonly string[] | null | undefined;
  readonly requestsPerMinute?: number | null | undefined;
  readonly tokensPerMinute?: number | null | undefined;
  readonly maxCallsInFlight?: number | null | undefined;
  readonly monthlySpendingLimitMicro?: bigint | null | undefined;
  readonly expiresAt?: Date | null | undefined;
  readonly streamUsageChunk?: string | null | undefined;
  readonly project?: string | null | undefined;
  readonly cacheTtlSeconds?: number | null | undefined;
  readonly logPayloads?: boolean | null | undefined;
  /** A user of the company with a credit account. If null or undefined, the company pays. */
  readonly payerUserId?: string | null | undefined;
  /** The existing aliases. Without them any well-formed name is accepted, and one that is no alias opens nothing. */
  readonly knownModels?: readonly string[] | undefined;
}

/** `rawKey` is shown once: it is not stored (G-19). */
type MintedKey =
  | { readonly outcome: 'minted'; readonly rawKey: string; readonly key: ApiKey }
  | Extract<CheckedKey, { outcome: 'invalid' }>
  | { readonly outcome: 'no-such-company' };

export async function mintKey(parts: MintParts, params: KeyToMint): Promise<MintedKey> {
  const checked = checkKeyParams(params, parts.clock.now());
  if (checked.outcome === 'invalid') return checked;
  if (!isId(params.companyId)) return { outcome: 'no-such-company' };
  const { companyId, createdBy } = params;
  const rawKey = generateRawKey(parts.secrets);
  const id = parts.secrets.newId();
  const key = await addKey(parts.database, parts.secrets, {
    ...checked.settings,
    id,
    companyId,
    createdBy,
    rawKey,
  });
  return key === null ? { outcome: 'no-such-company' } : { outcome: 'minted', rawKey, key };
}

export function generateRawKey(secrets: Secrets): string {
  return rawKeyFrom(secrets.randomBytes(KEY_BYTES));
}

type CheckedKey =
  | { readonly outcome: 'valid'; readonly settings: KeySettings }
  | { readonly outcome: 'invalid'; readonly field: keyof KeySettings; readonly message: string };

const LONGEST_NAME = 200;
const LONGEST_PROJECT = 64;
const MOST_MODELS = 50;
const LONGEST_MODEL = 100;
/** Slightly below the maximum of the columns and of GraphQL's Int. */
const HIGHEST_RATE = 2_000_000_000;
const MOST_CALLS_IN_FLIGHT = 100_000;
/** Spending is counted in shared state, whose amounts are limited to 2^53. */
const HIGHEST_SPENDING_LIMIT_MICRO = 9_000_000_000_000_000n;
/** Later years have more than four digits and are typing errors. */
const LAST_EXPIRY_MS = Date.UTC(9999, 11, 31);
const MODEL_NAME = new RegExp(`^[^\\p{C}\\s,]{1,${LONGEST_MODEL}}$`, 'u');

/** Validates all settings and fills in the defaults, or reports the first invalid one. */
export function checkKeyParams(params: KeyParams, nowMs: number): CheckedKey {
  const settings: KeySettings = {
    name: params.name.trim(),
    scopes: SCOPES.filter((scope) => (params.scopes ?? DEFAULT_SCOPES).includes(scope)),
    models: params.models == null ? null : [...new Set(params.models)],
    requestsPerMinute: params.requestsPerMinute ?? DEFAULT_REQUESTS_PER_MINUTE,
    tokensPerMinute: params.tokensPerMinute ?? DEFAULT_TOKENS_PER_MINUTE,
    maxCallsInFlight: params.maxCallsInFlight ?? null,
    monthlySpendingLimitMicro: params.monthlySpendingLimitMicro ?? null,
    expiresAt: params.expiresAt ?? null,
    streamUsageChunk: STREAM_USAGE_CHUNKS.find((one) => one === params.streamUsageChunk) ?? null,
    cacheTtlSeconds: params.cacheTtlSeconds ?? null,
    logPayloads: params.logPayloads ?? false,
    payerUserId: params.payerUserId ?? null,
    project: params.project?.trim() || null,
  };
  const complaints: Partial<Record<keyof KeySettings, string | null>> = {
    name: nameComplaint(settings.name),
    scopes: scopesComplaint(params.scopes ?? DEFAULT_SCOPES),
    models: settings.models === null ? null : modelsComplaint(settings.models, params.knownModels),
    requestsPerMinute: rangeComplaint(settings.requestsPerMinute, HIGHEST_RATE),
    tokensPerMinute: rangeComplaint(settings.tokensPerMinute, HIGHEST_RATE),
    maxCallsInFlight: rangeComplaint(settings.maxCallsInFlight, MOST_CALLS_IN_FLIGHT),
    monthlySpendingLimitMicro: spendingComplaint(settings.monthlySpendingLimitMicro),
    expiresAt: expiryComplaint(settings.expiresAt, nowMs),
    streamUsageChunk: usageChunkComplaint(params.streamUsageChunk ?? null),
    project: projectNameProblem(settings.project),
    cacheTtlSeconds: rangeComplaint(settings.cacheTtlSeconds, LONGEST_CACHE_TTL_SECONDS),
  };
  for (const [field, message] of Object.entries(complaints)) {
    if (message !== null) return { outcome: 'invalid', field: field as keyof KeySettings, message };
  }
  return { outcome: 'valid', settings };
}

/** A key with valid settings. */
interface NewKey extends Partial<Omit<KeySettings, 'name' | 'scopes'>> {
  readonly id: string;
  readonly companyId: string;
  readonly name: string;
  readonly scopes: KeySettings['scopes'];
  readonly rawKey: string;
  readonly createdBy: string | null;
}

/** Stores the key's hash and its settings. Null if there is no such company. */
export async function addKey(statements: Statements, secrets: Secrets, key: NewKey): Promise<ApiKey | null> {
  const { prefix, lastFour } = recognition(key.rawKey);
  const rows = await statements.query<ApiKey>(
    `insert into api_keys (id, company_id, name, sha256, prefix, last_four, scopes, models, requests_per_minute,
       tokens_per_minute, max_calls_in_flight, monthly_spending_limit_micro, created_by, expires_at,
       stream_usage_chunk, payer_user_id, project, cache_ttl_seconds, log_payloads)
     select $1::uuid, companies.id, $3::text, $4::bytea, $5::text, $6::text, $7::text[], $8::text[], $9::integer,
       $10::integer, $11::integer, $12::bigint, $13::uuid, $14::timestamptz, $15::text, $16::uuid, $17::text, $18::integer,
       $19::boolean
     from companies where companies.id = $2
     returning ${KEY_COLUMNS}`,
    [
      key.id,
      key.companyId,
      key.name,
      secrets.sha256(key.rawKey),
      prefix,
      lastFour,
      key.scopes,
      key.models ?? null,
      key.requestsPerMinute ?? DEFAULT_REQUESTS_PER_MINUTE,
      key.tokensPerMinute ?? DEFAULT_TOKENS_PER_MINUTE,
      key.maxCallsInFlight ?? null,
      key.monthlySpendingLimitMicro ?? null,
      key.createdBy,
      key.expiresAt ?? null,
      key.streamUsageChunk ?? null,
      key.payerUserId ?? null,
      key.project ?? null,
      key.cacheTtlSeconds ?? null,
      key.logPayloads ?? false,
    ],
  );
  return rows[0] ?? null;
}

function nameComplaint(name: string): string | null {
  if (name === '') return 'a key needs a name';
  if (name.length > LONGEST_NAME) return `a name has at most ${LONGEST_NAME} characters`;
  return isPrintable(name) ? null : 'a name has no control characters';
}

/** Null if the name is valid or there is none. */
export function projectNameProblem(project: string | null): string | null {
  if (project === null) return null;
  if (project.length > LONGEST_PROJECT) return `a project has at most ${LONGEST_PROJECT} characters`;
  return /\p{C}/u.test(project) ? 'a project has no control characters' : null;
}

function scopesComplaint(scopes: readonly string[]): string | null {
  const unknown = scopes.filter((scope) => !isScope(scope));
  if (unknown.length > 0) return `there is no scope ${quoted(unknown)}; there are ${SCOPES.join(', ')}`;
  return scopes.length === 0 ? `a key needs at least one scope of ${SCOPES.join(', ')}` : null;
}

function modelsComplaint(models: readonly string[], known: readonly string[] | undefined): string | null {
  // An empty list must never mean "all": for that, the list is omitted.
  if (models.length === 0) return 'name at least one model, or leave the list out for all of them';
  if (models.length > MOST_MODELS) return `at most ${MOST_MODELS} models can be named`;
  const bad = models.filter((model) => !MODEL_NAME.test(model) || known?.includes(model) === false);
  if (bad.length === 0) return null;
  return `there is no model ${quoted(bad)}${known === undefined ? '' : `; there are ${listed(known)}`}`;
}

const MOST_LISTED = 20;

function listed(names: readonly string[]): string {
  const more = names.length > MOST_LISTED ? ` and ${names.length - MOST_LISTED} more` : '';
  return `${names.slice(0, MOST_LISTED).join(', ')}${more}`;
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

function usageChunkComplaint(chosen: string | null): string | null {
  if (chosen === null || STREAM_USAGE_CHUNKS.some((one) => one === chosen)) return null;
  return `there is no ${quoted([chosen])}; there are ${STREAM_USAGE_CHUNKS.join(' and ')}`;
}

/** The first three, each truncated: input is not echoed in full. */
function quoted(words: readonly string[]): string {
  const shown = words.slice(0, 3).map((word) => JSON.stringify(word.slice(0, LONGEST_MODEL)));
  return words.length > shown.length ? `${shown.join(', ')} …` : shown.join(', ');
}

/** The record of a key: everything except the raw key. */
export interface ApiKey extends KeySettings {
  readonly id: string;
  readonly companyId: string;
  /** The raw key's first eight characters and its last four, for recognition. */
  readonly prefix: string;
  readonly lastFour: string;
  readonly createdBy: string | null;
  readonly rotatedFromId: string | null;
  /** The first key of a series of rotations, which all share one spending limit. Null if it was not created by a rotation. */
  readonly rotationRootId: string | null;
  readonly createdAt: Date;
  /** Accurate within five seconds. */
  readonly lastUsedAt: Date | null;
  readonly revokedAt: Date | null;
  /** Incremented with every change of its settings. */
  readonly version: number;
}

/** The settings of a key. A rotation copies them. */
export interface KeySettings {
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** The aliases it may call; null for all, including those added later. */
  readonly models: readonly string[] | null;
  readonly requestsPerMinute: number;
  readonly tokensPerMinute: number;
  readonly maxCallsInFlight: number | null;
  readonly monthlySpendingLimitMicro: bigint | null;
  /** The user whose balance pays for its calls; null if the company pays. Never changes. */
  readonly payerUserId: string | null;
  /** The key is invalid from this moment on. */
  readonly expiresAt: Date | null;
  /** Whether its streams include the usage chunk by default; null for the gateway's setting. */
  readonly streamUsageChunk: StreamUsageChunk | null;
  /** The company's own label for the use of its calls; null for none. */
  readonly project: string | null;
  /** How long answers are cached if the call does not specify it; null for not at all. */
  readonly cacheTtlSeconds: number | null;
  /** Whether prompts and answers of its calls are stored. */
  readonly logPayloads: boolean;
}

/** Thirty days; the operator's CACHE_MAX_TTL_SECONDS applies besides. */
export const LONGEST_CACHE_TTL_SECONDS = 2_592_000;

/**
 * The last chunk of a stream, with its usage. The gateway always requests it, because calls are charged by it. ALWAYS passes
 * it on, with an empty choice where the client did not send `stream_options.include_usage: true`; ASKED only where it did.
 */
export const STREAM_USAGE_CHUNKS = ['ALWAYS', 'ASKED'] as const;

export type StreamUsageChunk = (typeof STREAM_USAGE_CHUNKS)[number];

export const SCOPES = ['inference:chat', 'inference:parse', 'usage:read', 'jobs:read'] as const;

export type Scope = (typeof SCOPES)[number];

export type KeyStatus = 'LIVE' | 'REVOKED' | 'EXPIRED';

export const DEFAULT_REQUESTS_PER_MINUTE = 600;
/** An agent with several calls of a full context a minute; cached tokens are given back. */
export const DEFAULT_TOKENS_PER_MINUTE = 2_000_000;

/** The default scopes: `jobs:read` is given only on request (G-21). */
export const DEFAULT_SCOPES: readonly Scope[] = ['inference:chat', 'inference:parse', 'usage:read'];

/** A row of `api_keys` as an ApiKey. */
export const KEY_COLUMNS = `id, company_id as "companyId", name, prefix, last_four as "lastFour", scopes, models,
  requests_per_minute as "requestsPerMinute", tokens_per_minute as "tokensPerMinute",
  max_calls_in_flight as "maxCallsInFlight", monthly_spending_limit_micro as "monthlySpendingLimitMicro",
  payer_user_id as "payerUserId", created_by as "createdBy", rotated_from_id as "rotatedFromId",
  rotation_root_id as "rotationRootId", created_at as "createdAt", last_used_at as "lastUsedAt", expires_at as "expiresAt", revoked_at as "revokedAt",
  stream_usage_chunk as "streamUsageChunk", project, cache_ttl_seconds as "cacheTtlSeconds",
  log_payloads as "logPayloads", version`;

export function keyStatus(key: Pick<ApiKey, 'revokedAt' | 'expiresAt'>, nowMs: number): KeyStatus {
  if (key.revokedAt !== null) return 'REVOKED';
  return key.expiresAt !== null && key.expiresAt.getTime() <= nowMs ? 'EXPIRED' : 'LIVE';
}

/** The id under which its spending is held and counted, for its monthly limit and its budget. */
export function spendingKeyId({ id, rotationRootId }: Pick<ApiKey, 'id' | 'rotationRootId'>): string {
  return rotationRootId ?? id;
}

export function isScope(text: string): text is Scope {
  return SCOPES.some((scope) => scope === text);
}

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Ids come from URLs and command lines. An invalid one is not found; PostgreSQL would report an error. */
export function isId(text: string): boolean {
  return ID.test(text);
}

/** Persian, Indic scripts and emoji of several parts are written with joiners between their letters. */
const JOINERS =
  /(?<=[\p{M}\p{Emoji_Modifier}\p{Extended_Pictographic}]|[^\P{L}\p{Script=Latin}])(?:\u200c|\u200d)(?=[\p{L}\p{Extended_Pictographic}])/gu;

/** For names, which are shown in tables and terminals: control characters could falsify the output. */
export function isPrintable(name: string): boolean {
  return !/[\p{C}\u2028\u2029]/u.test(name.replaceAll(JOINERS, ''));
}

/**
 * A raw key is `tpk_`, 43 base62 characters of 256 random bits, and 6 characters of the CRC-32 of everything before them. The
 * prefix lets secret scanners find leaked keys; the checksum detects typing errors without a look-up.
 */
const KEY_PREFIX = 'tpk_';
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
export const KEY_BYTES = 32;
const RANDOM_CHARACTERS = 43;
const CHECKSUM_CHARACTERS = 6;
const BODY_LENGTH = KEY_PREFIX.length + RANDOM_CHARACTERS;
const KEY_LENGTH = BODY_LENGTH + CHECKSUM_CHARACTERS;

export function rawKeyFrom(bytes: Uint8Array): string {
  if (bytes.length !== KEY_BYTES) throw new Error(`a raw key is made of ${KEY_BYTES} bytes`);
  const number = bytes.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  const body = KEY_PREFIX + base62(number, RANDOM_CHARACTERS);
  return body + base62(BigInt(crc32OfBody(body)), CHECKSUM_CHARACTERS);
}

/** Whether the form and checksum are valid. Runs for every call, so it allocates nothing. */
export function isWellFormed(rawKey: string): boolean {
  if (rawKey.length !== KEY_LENGTH || !rawKey.startsWith(KEY_PREFIX)) return false;
  for (let at = KEY_PREFIX.length; at < BODY_LENGTH; at += 1)
    if (digitAt(rawKey, at) === NO_DIGIT) return false;
  let checksum = 0;
  for (let at = BODY_LENGTH; at < KEY_LENGTH; at += 1) {
    const digit = digitAt(rawKey, at);
    if (digit === NO_DIGIT) return false;
    checksum = checksum * ALPHABET.length + digit;
  }
  return checksum === crc32OfBody(rawKey);
}

/** The part of a key that may be shown, to recognize it. */
export function recognition(rawKey: string): { prefix: string; lastFour: string } {
  return { prefix: rawKey.slice(0, KEY_PREFIX.length + 4), lastFour: rawKey.slice(-4) };
}

function base62(number: bigint, width: number): string {
  let digits = '';
  for (let rest = number; rest > 0n; rest /= 62n) digits = ALPHABET[Number(rest % 62n)] + digits;
  return digits.padStart(width, '0');
}

const NO_DIGIT = 255;
const DIGITS = new Uint8Array(128).fill(NO_DIGIT);
for (const [digit, character] of [...ALPHABET].entries()) DIGITS[character.charCodeAt(0)] = digit;

function digitAt(text: string, at: number): number {
  return DIGITS[text.charCodeAt(at)] ?? NO_DIGIT;
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

/** The CRC of everything before the checksum. It is ASCII, so each character is one byte. */
function crc32OfBody(rawKey: string): number {
  let crc = 0xffffffff;
  for (let at = 0; at < BODY_LENGTH; at += 1) {
    crc = (crc >>> 8) ^ (CRC_TABLE[(crc ^ rawKey.charCodeAt(at)) & 0xff] ?? 0);
  }
  return (crc ^ 0xffffffff) >>> 0;
}

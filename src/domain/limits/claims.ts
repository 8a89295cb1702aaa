import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { Claim, Reservation, Settlement, SharedState } from '../../ports/shared-state.ts';

/** The limits of a key, from its record. */
export interface KeyLimits {
  readonly id: string;
  readonly companyId: string;
  readonly requestsPerMinute: number;
  readonly tokensPerMinute: number;
  readonly maxCallsInFlight: number | null;
  /** The ceilings of all keys of the company together; undefined or null if there are none. */
  readonly ceilings?: CallCeilings | null;
}

/** The ceilings that operators set for all keys of a company together; null for none. */
export interface CallCeilings {
  readonly requestsPerMinute: number | null;
  readonly tokensPerMinute: number | null;
  readonly callsInFlight: number | null;
  readonly documentsPerDay: number | null;
}

/**
 * An amount that a call holds against a level while it runs. It is admitted if the level is above the sum of the other
 * holds. So a single call passes if the level is above zero, and parallel calls can take it below zero by less than one
 * amount.
 */
export interface CreditHold {
  /** The kind of the hold, within the company. */
  readonly name: string;
  /** The name of the level it is held against. */
  readonly level: string;
  /** Added to the level: a limit that may change, against a level of what was spent. 0 by default. */
  readonly plus?: number;
  readonly amount: number;
  /** `fits` admits only what the level covers completely. Default: `room`. */
  readonly rule?: 'fits' | 'room';
  /** An older level is read again before it is used. */
  readonly maxAgeMs: number;
  /** How old it may be if it cannot be read. */
  readonly graceMs: number;
  /** Null if it cannot be read now. */
  read(): Promise<HeldLevel | null>;
}

export interface HeldLevel {
  readonly name: string;
  readonly value: number;
  /** A higher version is newer. */
  readonly version: number;
  /** How long it is stored. Each reader specifies how old it may be. */
  readonly ttlMs: number;
}

export interface StatePlaceParts {
  readonly sharedState: SharedState;
  /** This process's own counters, used while shared state is unavailable. */
  readonly ownState: SharedState;
  readonly clock: Clock;
  readonly log: Log;
  /** The share of each limit that this process grants while it limits alone, above 0 and at most 1. */
  readonly ownShare?: number;
  /** Shared state is available again after this process has limited alone. */
  readonly onTogether?: () => void;
}

export interface StatePlace {
  /** With the state it was reserved in, where it must be settled. */
  reserve(tag: string, claims: readonly Claim[]): Promise<Reserved>;
  /** Shared state is unavailable, and this process limits alone. */
  isAlone(): boolean;
}

export interface EstimatedUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
}

export const MINUTE_MS = 60_000;

interface KeyNames {
  readonly requests: string;
  readonly tokens: string;
  readonly inFlight: string;
}

/** Cached by the key's record, so that names are built once and not for each call. */
const namesOfKeys = new WeakMap<KeyLimits, KeyNames>();

function namesOf(key: KeyLimits): KeyNames {
  const known = namesOfKeys.get(key);
  if (known !== undefined) return known;
  const { id } = key;
  const names = { requests: `rpm ${id}`, tokens: `tpm ${id}`, inFlight: `calls ${id}` };
  namesOfKeys.set(key, names);
  return names;
}

export const requestsName = (key: KeyLimits) => namesOf(key).requests;
export const tokensName = (key: KeyLimits) => namesOf(key).tokens;
export const inFlightName = (key: KeyLimits) => namesOf(key).inFlight;
/** For a company that is limited to one stream. */
export const ONE_STREAM_NAME = 'one-stream';

/** Requests, tokens, calls in flight, the one stream: the order in which they refuse. */
export function keyClaims(
  key: KeyLimits,
  callId: string,
  tokens: number,
  isOnlyStream: boolean,
  requests: 0 | 1 = 1,
): Claim[] {
  const claims = [
    windowClaim(requestsName(key), key.requestsPerMinute, requests),
    // A call without tokens is never refused for tokens, even if other calls exceeded their estimates.
    windowClaim(tokensName(key), tokens === 0 ? NO_LIMIT : key.tokensPerMinute, tokens),
  ];
  const limit = key.maxCallsInFlight;
  const entry = { entry: callId, amount: 1, ttlMs: HELD_MS, rule: 'fits' } as const;
  if (limit !== null) claims.push({ kind: 'held', name: inFlightName(key), limit, ...entry });
  if (isOnlyStream) claims.push({ kind: 'held', name: ONE_STREAM_NAME, limit: 1, ...entry });
  return claims;
}

export const NO_LIMIT = 2 ** 52;

/** `aheadMs`: for so long the units may be used after they were counted. */
export function windowClaim(name: string, limit: number, amount: number, aheadMs = 0): Claim {
  return { kind: 'window', name, amount, limit, windowMs: MINUTE_MS, aheadMs };
}

/** Held entries expire if their process dies. Those of running calls are renewed three times per lifetime. */
export const HELD_MS = 90_000;

/** At each attempt the availability of shared state and its levels may have changed. */
const MOST_ATTEMPTS = 3;

interface HoldsToReserve {
  readonly tag: string;
  readonly callId: string;
  readonly holds: readonly CreditHold[];
  /** Claims in the same step, after the holds. */
  readonly others: readonly Claim[];
}

/** Holds come first: a lack of credits is reported before a rate limit (G-37). */
export function claimsWithHolds(
  { callId, holds, others }: HoldsToReserve,
  ageOf: (hold: CreditHold) => number = freshAge,
): readonly Claim[] {
  if (holds.length === 0) return others;
  const claims: Claim[] = [];
  for (const hold of holds) {
    const limit = { level: hold.level, maxAgeMs: ageOf(hold), plus: hold.plus ?? 0 };
    const { name, amount, rule = 'room' } = hold;
    claims.push({ kind: 'held', name, entry: callId, amount, ttlMs: HELD_MS, rule, limit });
  }
  return claims.concat(others);
}

/** The database returned an older version than it had committed: it was restored, or lost commits. */
export interface LevelSteppedBack {
  readonly tag: string;
  readonly level: string;
  readonly knownVersion: number;
  readonly readVersion: number;
}

/**
 * Sets the levels that the state did not know and reserves again. If they cannot be read, the last known ones are used
 * during a grace period. Without any, returns null: it is unknown whether the call can be paid for, so it is not admitted.
 *
 * A level that is too old was set after its commit and before this read, so the database must return that version or a
 * higher one. If it does not, it has lost commits, and its current version replaces the one in shared state. Each refusal
 * names one such level, so there is one more attempt for each further hold.
 */
export async function reserveAfterReading(
  place: StatePlace,
  toReserve: HoldsToReserve,
  refused: Reserved,
  {
    onSteppedBack,
    beforeStored,
  }: {
    readonly onSteppedBack: (back: LevelSteppedBack) => void;
    /** Before missing levels are stored: the beginning of the step that does it. */
    readonly beforeStored: (missing: Reserved) => Promise<readonly Settlement[]>;
  },
): Promise<Reserved | null> {
  const { tag, holds } = toReserve;
  let { state, reservation } = refused;
  let found = new Map<string, number>();
  for (let attempt = 1; attempt < MOST_ATTEMPTS + holds.length; attempt += 1) {
    if (reservation.outcome === 'level-unknown' && reservation.version !== null) {
      found.set(reservation.level, reservation.version);
    }
    const first = await beforeStored({ reservation, state });
    const read = await Promise.all(holds.map((hold) => hold.read()));
    const levels = read.filter((level) => level !== null);
    const settlements = levels.map((level) => ({
      ...settlementOf(level),
      replaces: found.get(level.name) ?? null,
    }));
    // If this fails, the reservation below also fails, and the other state is used.
    if (levels.length > 0) await state.settle(tag, [...first, ...settlements]).catch(() => {});
    if (settlements.some(({ replaces }) => replaces === null)) {
      // Commits change only stored levels, so a commit between the read and the write is read now.
      const again = (await Promise.all(holds.map((hold) => hold.read()))).filter((level) => level !== null);
      await state.settle(tag, again.map(settlementOf)).catch(() => {});
    }
    for (const { name: level, version: readVersion } of levels) {
      const knownVersion = found.get(level) ?? readVersion;
      if (knownVersion > readVersion) onSteppedBack({ tag, level, knownVersion, readVersion });
    }
    const isUnavailable = levels.length < holds.length;
    const reserved = await place.reserve(
      tag,
      claimsWithHolds(toReserve, isUnavailable ? ageWithGrace : freshAge),
    );
    if (reserved.reservation.outcome !== 'level-unknown') return reserved;
    if (isUnavailable && reserved.state === state) return null;
    if (reserved.state !== state) found = new Map();
    ({ state, reservation } = reserved);
  }
  return null;
}

export function settlementOf(level: HeldLevel): Settlement {
  return { kind: 'level', ...level };
}

interface Reserved {
  readonly reservation: Reservation;
  readonly state: SharedState;
}

/** How long shared state is not used after a failure: a paused server would delay every call by its time-out. */
const RETRY_DELAY_MS = 1_000;

/**
 * Shared state or, while it is unavailable, this process's own state with its share of the limits. So calls are still
 * served; if the shares of all processes add up to more than one, limits are looser by that much.
 */
export function createStatePlace(parts: StatePlaceParts): StatePlace {
  const { sharedState, ownState, clock, log, ownShare = 1, onTogether = () => {} } = parts;
  let retryAtMs = 0;
  return {
    async reserve(tag, claims) {
      if (retryAtMs === 0 || clock.uptimeMs() >= retryAtMs) {
        try {
          const reservation = await sharedState.reserve(tag, claims);
          if (retryAtMs !== 0) {
            log.info('limits are shared by all processes again');
            onTogether();
          }
          retryAtMs = 0;
          return { reservation, state: sharedState };
        } catch (error) {
          if (retryAtMs === 0)
            log.error('each process enforces its share of the limits alone for now', { error, ownShare });
          retryAtMs = clock.uptimeMs() + RETRY_DELAY_MS;
        }
      }
      const shared = ownShare === 1 ? claims : claims.map((claim) => shareOf(claim, ownShare));
      return { reservation: await ownState.reserve(tag, shared), state: ownState };
    },
    isAlone: () => retryAtMs !== 0,
  };
}

/** The expected output of a call without a maximum, for the tokens per minute. Its hold is larger. */
const DEFAULT_ANSWER_TOKENS = 1_000;
const BYTES_PER_TOKEN = 4;
/** Both factors come from the client. Their product must be an integer that the database can store. */
export const MOST_TOKENS = 2 ** 40;

/**
 * A cheap estimate before the call: its bytes divided by four, and its maximum output for each choice. The actual usage
 * replaces it afterwards.
 */
export function estimateUsage(
  bodyBytes: number,
  maxAnswerTokens: number | null,
  choices: number,
): EstimatedUsage {
  const answer = (maxAnswerTokens ?? DEFAULT_ANSWER_TOKENS) * Math.max(1, choices);
  return {
    promptTokens: Math.min(Math.ceil(bodyBytes / BYTES_PER_TOKEN), MOST_TOKENS),
    completionTokens: Math.min(answer, MOST_TOKENS),
  };
}

export function estimateTokens(bodyBytes: number, maxAnswerTokens: number | null, choices: number): number {
  const { promptTokens, completionTokens } = estimateUsage(bodyBytes, maxAnswerTokens, choices);
  return Math.min(promptTokens + completionTokens, MOST_TOKENS);
}

const freshAge = ({ maxAgeMs }: CreditHold): number => maxAgeMs;
const ageWithGrace = ({ graceMs }: CreditHold): number => graceMs;

/** Holds against a level are not scaled by the share: they are the company's money, and every process knows the level. */
function shareOf(claim: Claim, share: number): Claim {
  if (claim.kind === 'window') return { ...claim, limit: partOf(claim.limit, share) };
  return typeof claim.limit === 'number' ? { ...claim, limit: partOf(claim.limit, share) } : claim;
}

function partOf(limit: number, share: number): number {
  return Math.max(1, Math.floor(limit * share));
}

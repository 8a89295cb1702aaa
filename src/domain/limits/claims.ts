import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { Claim, Reservation, Settlement, SharedState } from '../../ports/shared-state.ts';

/** The limits of one key, as its record says. */
export interface KeyLimits {
  readonly id: string;
  readonly companyId: string;
  readonly requestsPerMinute: number;
  readonly tokensPerMinute: number;
  readonly maxCallsInFlight: number | null;
  /** What the company's keys may use together; nothing or null where that has no ceiling. */
  readonly ceilings?: CallCeilings | null;
}

/** What operators allow the keys of a company together; null is no ceiling. */
export interface CallCeilings {
  readonly requestsPerMinute: number | null;
  readonly tokensPerMinute: number | null;
  readonly callsInFlight: number | null;
  readonly documentsPerDay: number | null;
}

/**
 * An amount that a call holds against a level for as long as it runs. It is admitted while the level is above what
 * the others hold: so a lone call passes wherever the level is above zero, and parallel ones take it below zero by
 * less than one amount.
 */
export interface CreditHold {
  /** Of what is held, among that of the company. */
  readonly name: string;
  /** The name of the level that it is held against. */
  readonly level: string;
  readonly amount: number;
  /** `fits` admits only what the level covers whole; `room` where left out. */
  readonly rule?: 'fits' | 'room';
  /** An older level is read again before it is used. */
  readonly maxAgeMs: number;
  /** How old it may be where it cannot be read. */
  readonly graceMs: number;
  /** Null where it cannot be read now. */
  read(): Promise<HeldLevel | null>;
}

export interface HeldLevel {
  readonly name: string;
  readonly value: number;
  /** Of two levels the one with the higher version is newer. */
  readonly version: number;
  /** How long it is stored; each reader says how old it may be. */
  readonly ttlMs: number;
}

export interface StatePlaceParts {
  readonly sharedState: SharedState;
  /** This process's own counters, for while shared state is unavailable. */
  readonly ownState: SharedState;
  readonly clock: Clock;
  readonly log: Log;
  /** The part of each limit that this process grants while it limits by itself, above 0 and at most 1. */
  readonly ownShare?: number;
  /** Shared state answers again after this process has limited by itself. */
  readonly onTogether?: () => void;
}

export interface StatePlace {
  /** With the state it was reserved in: there it is settled. */
  reserve(tag: string, claims: readonly Claim[]): Promise<Reserved>;
  /** Shared state is unavailable, and this process limits by itself. */
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

/** A key's record lives as long as it is cached: its names are put together once, and not for each call. */
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
/** Of a company that has one stream at a time. */
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
    // What takes no tokens is never refused for them, even where calls used more than their estimates.
    windowClaim(tokensName(key), tokens === 0 ? NO_LIMIT : key.tokensPerMinute, tokens),
  ];
  const limit = key.maxCallsInFlight;
  const entry = { entry: callId, amount: 1, ttlMs: HELD_MS, rule: 'fits' } as const;
  if (limit !== null) claims.push({ kind: 'held', name: inFlightName(key), limit, ...entry });
  if (isOnlyStream) claims.push({ kind: 'held', name: ONE_STREAM_NAME, limit: 1, ...entry });
  return claims;
}

export const NO_LIMIT = 2 ** 52;

export function windowClaim(name: string, limit: number, amount: number): Claim {
  return { kind: 'window', name, amount, limit, windowMs: MINUTE_MS };
}

/** A held entry ends by itself if its process dies; that of a running call is renewed three times as often. */
export const HELD_MS = 90_000;

/** Each attempt may find that shared state has come or gone, and that its levels are others. */
const MOST_ATTEMPTS = 3;

interface HoldsToReserve {
  readonly tag: string;
  readonly callId: string;
  readonly holds: readonly CreditHold[];
  /** What is claimed in the same step, after the holds. */
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
    const limit = { level: hold.level, maxAgeMs: ageOf(hold) };
    const { name, amount, rule = 'room' } = hold;
    claims.push({ kind: 'held', name, entry: callId, amount, ttlMs: HELD_MS, rule, limit });
  }
  return claims.concat(others);
}

/** A level of the database is older than one that it had committed before: it was restored, or lost commits. */
export interface LevelSteppedBack {
  readonly tag: string;
  readonly level: string;
  readonly knownVersion: number;
  readonly readVersion: number;
}

/**
 * Sets the levels that the state did not know and reserves again. Where they cannot be read, the last ones known
 * serve for the time of grace; without any, null: then it is unknown whether the call can be paid for, and it is
 * not admitted.
 *
 * A level that was found too old was set after its commit and before this read, so the database must answer with that
 * version or a higher one. Where it does not it has lost commits, and what it says now is the truth: it replaces the
 * version that was found. Each refusal names one such level, hence an attempt more for each further hold.
 */
export async function reserveAfterReading(
  place: StatePlace,
  wanted: HoldsToReserve,
  refused: Reserved,
  onSteppedBack: (back: LevelSteppedBack) => void,
): Promise<Reserved | null> {
  const { tag, holds } = wanted;
  let { state, reservation } = refused;
  let found = new Map<string, number>();
  for (let attempt = 1; attempt < MOST_ATTEMPTS + holds.length; attempt += 1) {
    if (reservation.outcome === 'level-unknown' && reservation.version !== null) {
      found.set(reservation.level, reservation.version);
    }
    const read = await Promise.all(holds.map((hold) => hold.read()));
    const levels = read.filter((level) => level !== null);
    const settlements = levels.map((level) => ({
      ...settlementOf(level),
      replaces: found.get(level.name) ?? null,
    }));
    // A state that fails here fails below too, and the other one takes its place.
    if (levels.length > 0) await state.settle(tag, settlements).catch(() => {});
    if (settlements.some(({ replaces }) => replaces === null)) {
      // Commits change only levels that are stored: what was committed between the read and the setting is read now.
      const again = (await Promise.all(holds.map((hold) => hold.read()))).filter((level) => level !== null);
      await state.settle(tag, again.map(settlementOf)).catch(() => {});
    }
    for (const { name: level, version: readVersion } of levels) {
      const knownVersion = found.get(level) ?? readVersion;
      if (knownVersion > readVersion) onSteppedBack({ tag, level, knownVersion, readVersion });
    }
    const isAway = levels.length < holds.length;
    const reserved = await place.reserve(tag, claimsWithHolds(wanted, isAway ? ageWithGrace : freshAge));
    if (reserved.reservation.outcome !== 'level-unknown') return reserved;
    if (isAway && reserved.state === state) return null;
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

/** How long after a failure shared state is left alone: a paused server would hold up every call by its time-out. */
const LEFT_ALONE_MS = 1_000;

/**
 * Shared state, or while it is unavailable this process's own, at its share of the limits. Fails to the process: serving goes
 * on; where the shares of all processes are more than one in sum, limits loosen by that much.
 */
export function createStatePlace(parts: StatePlaceParts): StatePlace {
  const { sharedState, ownState, clock, log, ownShare = 1, onTogether = () => {} } = parts;
  let leftAloneUntil = 0;
  return {
    async reserve(tag, claims) {
      if (leftAloneUntil === 0 || clock.uptimeMs() >= leftAloneUntil) {
        try {
          const reservation = await sharedState.reserve(tag, claims);
          if (leftAloneUntil !== 0) {
            log.info('limits are shared by all processes again');
            onTogether();
          }
          leftAloneUntil = 0;
          return { reservation, state: sharedState };
        } catch (error) {
          if (leftAloneUntil === 0)
            log.error('each process enforces its share of the limits alone for now', { error, ownShare });
          leftAloneUntil = clock.uptimeMs() + LEFT_ALONE_MS;
        }
      }
      const shared = ownShare === 1 ? claims : claims.map((claim) => shareOf(claim, ownShare));
      return { reservation: await ownState.reserve(tag, shared), state: ownState };
    },
    isAlone: () => leftAloneUntil !== 0,
  };
}

/** What a call without a maximum of its own is expected to answer, for tokens a minute. Its hold counts more. */
const DEFAULT_ANSWER_TOKENS = 1_000;
const BYTES_PER_TOKEN = 4;
/** Both factors come from the client: what they make must stay a whole number that the database can hold. */
export const MOST_TOKENS = 2 ** 40;

/**
 * A cheap guess before the call: its bytes by four, and the most it may answer, for each choice. It changes
 * nothing in the body, and real usage takes its place afterwards.
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

/** What is held against a level is the company's own money, of which every process knows all. */
function shareOf(claim: Claim, share: number): Claim {
  if (claim.kind === 'window') return { ...claim, limit: partOf(claim.limit, share) };
  return typeof claim.limit === 'number' ? { ...claim, limit: partOf(claim.limit, share) } : claim;
}

function partOf(limit: number, share: number): number {
  return Math.max(1, Math.floor(limit * share));
}

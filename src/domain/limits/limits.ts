import type { LimitState, Reservation, SharedState, StateSubscription } from '../../ports/shared-state.ts';
import { addressBlock } from './address-block.ts';
import {
  type CallReservation,
  createReservation,
  createSettleTogether,
  createUnsettledNotice,
} from './call-reservation.ts';
import {
  type CreditHold,
  claimsWithHolds,
  createStatePlace,
  inFlightName,
  type KeyLimits,
  keyClaims,
  type LevelSteppedBack,
  ONE_STREAM_NAME,
  requestsName,
  reserveAfterReading,
  type StatePlaceParts,
  tokensName,
  windowClaim,
} from './claims.ts';
import {
  addCompanyClaims,
  COMPANY_CALLS,
  COMPANY_TOKENS,
  type CompanyLimitName,
  companyLimits,
} from './company-ceilings.ts';
import { createHoldQueue } from './hold-queue.ts';
import { createKeyLeases } from './key-leases.ts';
import { NOTHING_UNUSED, type Slot, type UnusedCounts } from './lease.ts';
import { type CountRequest, createRequestCount } from './request-count.ts';
import { createRunningHolds } from './running-holds.ts';

export type { KeyLimits } from './claims.ts';

/** The state of a counter after the call was counted, for the response headers. */
export interface Allowance {
  readonly limit: number;
  readonly remaining: number;
  readonly resetMs: number;
}

export interface KeyAllowances {
  readonly requests: Allowance;
  readonly tokens: Allowance;
}

export type KeyLimitName = 'requests' | 'tokens' | 'calls in flight' | 'streams' | CompanyLimitName;

/** What a call counts as, in addition to a request. */
interface CallMarks {
  /** A stream of a company that is limited to one (abandoned-streams.ts). */
  readonly isOnlyStream?: boolean;
  /** A CV or a job posting, which counts towards the company's documents per day. */
  readonly isDocument?: boolean;
  /** Already counted as a request and as a document: a call whose body was replaced is admitted a second time. */
  readonly isCounted?: boolean;
}

type KeyOutcome =
  | { outcome: 'admitted'; allowances: KeyAllowances; reservation: CallReservation }
  | { outcome: 'refused'; by: KeyLimitName; retryAfterMs: number; allowances: KeyAllowances }
  /** The level is at or below zero, or does not cover what this call must hold. */
  | { outcome: 'not-payable'; hold: CreditHold; level: number; allowances: KeyAllowances }
  /** Running calls hold what the level has, and none of them ended in time. */
  | { outcome: 'held'; hold: CreditHold; level: number; retryAfterMs: number; allowances: KeyAllowances }
  /** A level is unknown and cannot be read. */
  | { outcome: 'unknown-level' };

export interface Limits {
  /** G-39, by network for IPv6. */
  countAddress: CountRequest;
  /** All claims or none, in one step; holds come first. */
  reserve(
    key: KeyLimits,
    callId: string,
    estimatedTokens: number,
    holds: readonly CreditHold[],
    marks?: CallMarks,
  ): Promise<KeyOutcome>;
  /** The state of a key, without counting anything. */
  look(key: KeyLimits): Promise<KeyAllowances>;
  /** Shared state is unavailable, and this process limits alone. */
  isAlone(): boolean;
  /** Starts to restore the holds of running calls when shared state has lost them. */
  listen(newId: string): Promise<StateSubscription>;
  /** The number of holds restored because shared state may have lost them. */
  restoredHolds(): number;
}

interface LimitsParts extends StatePlaceParts {
  /** 0 disables it. */
  readonly addressRequestsPerMinute: number;
  /** For shared state on another machine or with many clients: frequent calls are counted ahead. */
  readonly countsAhead?: boolean;
  readonly onSteppedBack?: (back: LevelSteppedBack) => void;
  /** How long a call waits for credits that other calls hold. Default: not at all. */
  readonly holdWaitMs?: number;
  /** Charges ended calls that still hold credits, before a call is refused for lack of credits; false if there are none. */
  readonly chargeDeferred?: (() => Promise<boolean>) | undefined;
}

/** If a retry may help, but the time is unknown. */
const SOON_MS = 1_000;
const NO_MARKS: CallMarks = {};

export function createLimits(parts: LimitsParts): Limits {
  const { clock, log, addressRequestsPerMinute } = parts;
  const settleTogether = createSettleTogether(parts.ownState);
  const noteUnsettled = createUnsettledNotice(clock, log);
  const { sharedState, countsAhead = false, onSteppedBack = () => {} } = parts;
  const running = createRunningHolds({ sharedState, clock, log });
  const place = createStatePlace({ ...parts, onTogether: running.restoreNow });
  const countAddress = createRequestCount({
    ...{ place, clock, of: 'address', requestsPerMinute: addressRequestsPerMinute },
  });
  const queue = createHoldQueue(clock, parts.holdWaitMs ?? 0);
  const leases = countsAhead ? createKeyLeases({ sharedState, clock, isAlone: place.isAlone }) : null;

  /** `counted`: the tokens counted in the bucket; `own`: the estimate of the call. */
  function reservationOf(
    key: KeyLimits,
    holds: readonly CreditHold[],
    { state, entry, bucket, counted, own, isOnlyStream, companyBucket, isCountedAhead }: Counted,
  ): CallReservation {
    const held = ({ name, amount }: { name: string; amount: number }) => ({ name, entry, amount });
    return createReservation({
      state,
      sharedState,
      tag: key.companyId,
      places: placesOf(key, entry, isOnlyStream),
      credits: holds.map(held),
      isCountedAhead,
      estimate: {
        name: tokensName(key),
        bucket,
        counted,
        own,
        companys: companyBucket === null ? null : { name: COMPANY_TOKENS, bucket: companyBucket },
        onCorrected: leases === null ? undefined : (delta) => leases.corrected(key.id, bucket, delta),
      },
      clock,
      noteUnsettled,
      settleTogether,
      running,
      onReleased(released) {
        if (!queue.isEmpty()) void released.then(() => queue.released(key.companyId));
      },
    });
  }

  /** Waits while other calls hold the credits, and behind those that wait already. */
  async function reserveInTurn(toReserve: ClaimsToReserve): Promise<Reserved | null> {
    const { tag, holds } = toReserve;
    let level = queue.isEmpty() ? null : queue.waitedFor(tag, holds);
    let reserved: Reserved | null = null;
    if (level === null) {
      reserved = await reserveOnce(toReserve);
      if (heldLevel(reserved, holds) !== null && (await parts.chargeDeferred?.()) === true) {
        reserved = await reserveOnce(toReserve);
      }
      level = heldLevel(reserved, holds);
      if (level === null) return reserved;
    }
    const attempt = async () => {
      const value = await reserveOnce(toReserve);
      return { isHeld: heldLevel(value, holds) !== null, value };
    };
    const waited = await queue.wait({ tag, level }, attempt);
    return waited ?? reserved ?? (await reserveOnce(toReserve));
  }

  /** Null if a level is unknown and cannot be read. */
  async function reserveOnce(toReserve: ClaimsToReserve): Promise<Reserved | null> {
    const { tag, callId } = toReserve;
    const reserved = await place.reserve(tag, claimsWithHolds(toReserve));
    if (reserved.reservation.outcome !== 'level-unknown') return reserved;
    return reserveAfterReading(place, toReserve, reserved, {
      onSteppedBack,
      // With a level, calls are admitted as if missing holds did not exist.
      async beforeStored({ reservation, state }) {
        const isMissing = reservation.outcome === 'level-unknown' && reservation.version === null;
        if (!isMissing || state !== sharedState) return [];
        await running.restoreIfLost(callId);
        return running.whileComplete();
      },
    });
  }

  return {
    countAddress: (address) => countAddress(addressBlock(address)),
    async reserve(key, callId, estimatedTokens, holds, marks = NO_MARKS) {
      const { isOnlyStream = false, isDocument = false, isCounted = false } = marks;
      const ceilings = key.ceilings ?? null;
      const tokens = Math.min(Math.max(0, Math.ceil(estimatedTokens)), mostTokens(key));
      // A lease counts for its key only. If the company has a ceiling, every call is counted singly.
      const isSingle = isOnlyStream || ceilings !== null || isCounted;
      const slot = isSingle ? null : (leases?.take(key, callId, tokens, holds) ?? null);
      if (slot !== null) {
        const { entry, bucket } = slot;
        const counted = {
          state: sharedState,
          entry,
          bucket,
          counted: slot.tokens,
          own: tokens,
          isOnlyStream,
          companyBucket: null,
          isCountedAhead: true,
        };
        return {
          outcome: 'admitted',
          allowances: allowancesOfSlot(key, slot),
          reservation: reservationOf(key, holds, counted),
        };
      }
      const tag = key.companyId;
      const requests = isCounted ? 0 : 1;
      const others = keyClaims(key, callId, tokens, isOnlyStream, requests);
      const ofKey = others.length;
      if (ceilings !== null) addCompanyClaims(others, ceilings, { callId, tokens, isDocument, requests });
      const toReserve = { tag, callId, holds, others };
      const reserved = await reserveInTurn(toReserve);
      if (reserved === null) return { outcome: 'unknown-level' };
      const { reservation, state } = reserved;
      if (reservation.outcome !== 'reserved') return refusedBy(key, reservation, holds, marks);
      const unused =
        ceilings === null && !isCounted
          ? leases?.admitted({ key, callId, tokens, holds, reservation })
          : undefined;
      const bucket = reservation.limitStates[holds.length + 1]?.bucket ?? 0;
      const first = holds.length + ofKey;
      const companyBucket = ceilings === null ? null : companyBucketOf(key, reservation.limitStates, first);
      const counted = {
        state,
        entry: callId,
        bucket,
        counted: tokens,
        own: tokens,
        isOnlyStream,
        companyBucket,
        isCountedAhead: false,
      };
      const allowances = allowancesOf(key, reservation, holds.length, unused);
      return {
        outcome: 'admitted',
        allowances: ceilings === null ? allowances : withinCeilings(key, allowances, reservation, first),
        reservation: reservationOf(key, holds, counted),
      };
    },
    async look(key) {
      const { reservation } = await place.reserve(key.companyId, [
        windowClaim(requestsName(key), key.requestsPerMinute, 0),
        windowClaim(tokensName(key), key.tokensPerMinute, 0),
      ]);
      return allowancesOf(key, reservation, 0);
    },
    isAlone: place.isAlone,
    listen: running.listen,
    restoredHolds: running.restoredCount,
  };
}

type ClaimsToReserve = Parameters<typeof reserveAfterReading>[1];
type Reserved = Parameters<typeof reserveAfterReading>[2];

/** The level of which other calls hold what this one needs; null if it was not refused, or would be without them too. */
function heldLevel(reserved: Reserved | null, holds: readonly CreditHold[]): string | null {
  const reservation = reserved?.reservation;
  if (reservation?.outcome !== 'refused') return null;
  const hold = holds[reservation.refusedBy];
  const state = reservation.limitStates[reservation.refusedBy];
  return hold !== undefined && state !== undefined && isHeldByOthers(hold, state) ? hold.level : null;
}

function isHeldByOthers({ rule, amount }: CreditHold, { limit, used }: LimitState): boolean {
  return used > 0 && limit > 0 && (rule !== 'fits' || amount <= limit);
}

interface Counted {
  readonly state: SharedState;
  readonly entry: string;
  readonly bucket: number;
  readonly counted: number;
  readonly own: number;
  readonly isOnlyStream: boolean;
  /** The bucket of the company's tokens; null without a ceiling. */
  readonly companyBucket: number | null;
  /** Counted by a lease. */
  readonly isCountedAhead: boolean;
}

const NO_PLACES: readonly { readonly name: string; readonly entry: string; readonly amount: number }[] = [];

function placesOf(key: KeyLimits, entry: string, isOnlyStream: boolean) {
  const isCompanyHeld = key.ceilings != null && key.ceilings.callsInFlight !== null;
  if (key.maxCallsInFlight === null && !isOnlyStream && !isCompanyHeld) return NO_PLACES;
  const places = [];
  if (key.maxCallsInFlight !== null) places.push({ name: inFlightName(key), entry, amount: 1 });
  if (isOnlyStream) places.push({ name: ONE_STREAM_NAME, entry, amount: 1 });
  if (isCompanyHeld) places.push({ name: COMPANY_CALLS, entry, amount: 1 });
  return places;
}

/** The only call in its window always passes: its tokens count up to the lowest limit. */
function mostTokens({ tokensPerMinute, ceilings }: KeyLimits): number {
  return Math.min(tokensPerMinute, ceilings?.tokensPerMinute ?? tokensPerMinute);
}

/** The index of the company's tokens among the claims; `first` is the index of the company's first claim. */
function companyTokensAt({ ceilings }: KeyLimits, first: number): number {
  return first + (ceilings?.requestsPerMinute == null ? 0 : 1);
}

function allowancesOfSlot(key: KeyLimits, { requestsUsed, tokensUsed, resetMs }: Slot): KeyAllowances {
  const { requestsPerMinute, tokensPerMinute } = key;
  return {
    requests: { limit: requestsPerMinute, remaining: Math.max(0, requestsPerMinute - requestsUsed), resetMs },
    tokens: { limit: tokensPerMinute, remaining: Math.max(0, tokensPerMinute - tokensUsed), resetMs },
  };
}

function refusedBy(
  key: KeyLimits,
  reservation: Reservation,
  holds: readonly CreditHold[],
  { isOnlyStream = false, isDocument = false }: CallMarks,
): KeyOutcome {
  if (reservation.outcome !== 'refused') return { outcome: 'unknown-level' };
  const ofKey = 2 + (key.maxCallsInFlight === null ? 0 : 1) + (isOnlyStream ? 1 : 0);
  const ownAllowances = allowancesOf(key, reservation, holds.length);
  const allowances = withinCeilings(key, ownAllowances, reservation, holds.length + ofKey);
  const hold = holds[reservation.refusedBy];
  if (hold !== undefined) {
    const state = reservation.limitStates[reservation.refusedBy];
    const level = state?.limit ?? 0;
    if (state !== undefined && isHeldByOthers(hold, state)) {
      return { outcome: 'held', hold, level, retryAfterMs: SOON_MS, allowances };
    }
    return { outcome: 'not-payable', hold, level, allowances };
  }
  const inOrder: readonly KeyLimitName[] = [
    ...['requests' as const, 'tokens' as const],
    ...(key.maxCallsInFlight === null ? [] : ['calls in flight' as const]),
    ...(isOnlyStream ? ['streams' as const] : []),
    ...(key.ceilings == null ? [] : companyLimits(key.ceilings, isDocument)),
  ];
  const by = inOrder[reservation.refusedBy - holds.length] ?? 'requests';
  return { outcome: 'refused', by, retryAfterMs: reservation.retryAfterMs ?? SOON_MS, allowances };
}

/** The bucket of the company's tokens; null without a ceiling. */
function companyBucketOf(key: KeyLimits, limitStates: readonly LimitState[], first: number): number | null {
  if (key.ceilings?.tokensPerMinute == null) return null;
  return limitStates[companyTokensAt(key, first)]?.bucket ?? 0;
}

/** The smaller of the key's and the company's remaining allowance. `first`: the index of the company's first claim. */
function withinCeilings(
  key: KeyLimits,
  own: KeyAllowances,
  reservation: Reservation,
  first: number,
): KeyAllowances {
  if (key.ceilings == null || reservation.outcome === 'level-unknown') return own;
  const { requestsPerMinute, tokensPerMinute } = key.ceilings;
  const { limitStates } = reservation;
  const less = (mine: Allowance, limit: number | null, at: number): Allowance => {
    const companys = limit === null ? mine : allowance(limit, limitStates[at], 0);
    return companys.remaining < mine.remaining ? companys : mine;
  };
  return {
    requests: less(own.requests, requestsPerMinute, first),
    tokens: less(own.tokens, tokensPerMinute, companyTokensAt(key, first)),
  };
}

/** `before`: the number of claims before the key's. */
function allowancesOf(
  key: KeyLimits,
  reservation: Reservation,
  before: number,
  unused: UnusedCounts = NOTHING_UNUSED,
): KeyAllowances {
  const limitStates = reservation.outcome === 'level-unknown' ? [] : reservation.limitStates;
  return {
    requests: allowance(key.requestsPerMinute, limitStates[before], unused.requests),
    tokens: allowance(key.tokensPerMinute, limitStates[before + 1], unused.tokens),
  };
}

function allowance(limit: number, limitState: LimitState | undefined, unused: number): Allowance {
  return {
    limit,
    remaining: Math.max(0, limit - (limitState?.used ?? 0) + unused),
    resetMs: limitState?.resetMs ?? 0,
  };
}

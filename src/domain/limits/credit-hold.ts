import type { Claim, Settlement } from '../../ports/shared-state.ts';
import type { Reserved, StatePlace } from './state-place.ts';

/**
 * An amount that a call holds against a level for as long as it runs. It is admitted while the level is above what
 * the others hold: so a lone call passes wherever the level is above zero, and parallel ones take it below zero by
 * less than one amount.
 */
export interface CreditHold {
  /** Of the level, and of what is held against it, among those of the company. */
  readonly name: string;
  readonly amount: number;
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
  /** How long it is kept; whoever uses it says how old it may be. */
  readonly ttlMs: number;
}

/** A held entry ends by itself if its process dies; that of a running call is renewed three times as often. */
export const HELD_MS = 90_000;

/** Each attempt may find that shared state has come or gone, and that its levels are others. */
const MOST_ATTEMPTS = 3;

export interface HoldsToReserve {
  readonly tag: string;
  readonly callId: string;
  readonly holds: readonly CreditHold[];
  /** What is claimed in the same step, after the holds. */
  readonly others: readonly Claim[];
}

/** Holds come first: whoever may not spend is told so before being told to slow down (G-37). */
export function claimsWithHolds(
  { callId, holds, others }: HoldsToReserve,
  ageOf: (hold: CreditHold) => number = fresh,
): readonly Claim[] {
  if (holds.length === 0) return others;
  const claims: Claim[] = [];
  for (const hold of holds) {
    const limit = { level: hold.name, maxAgeMs: ageOf(hold) };
    const { name, amount } = hold;
    claims.push({ kind: 'held', name, entry: callId, amount, ttlMs: HELD_MS, rule: 'room', limit });
  }
  return claims.concat(others);
}

const fresh = ({ maxAgeMs }: CreditHold): number => maxAgeMs;
const withGrace = ({ graceMs }: CreditHold): number => graceMs;

/**
 * Sets the levels that the state did not know and reserves again. Where they cannot be read, the last ones known
 * serve for the time of grace; without any, null: then nobody knows whether the call may be paid for, and it is
 * not admitted.
 */
export async function reserveAfterReading(
  place: StatePlace,
  wanted: HoldsToReserve,
  refused: Reserved,
): Promise<Reserved | null> {
  let { state } = refused;
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
    const read = await Promise.all(wanted.holds.map((hold) => hold.read()));
    const levels = read.filter((level) => level !== null);
    // A state that fails here fails below too, and the other one takes its place.
    if (levels.length > 0) await state.settle(wanted.tag, levels.map(settlementOf)).catch(() => {});
    const isAway = levels.length < wanted.holds.length;
    const claims = claimsWithHolds(wanted, isAway ? withGrace : fresh);
    const reserved = await place.reserve(wanted.tag, claims);
    if (reserved.reservation.outcome !== 'level-unknown') return reserved;
    if (isAway && reserved.state === state) return null;
    ({ state } = reserved);
  }
  return null;
}

export function settlementOf(level: HeldLevel): Settlement {
  return { kind: 'level', ...level };
}

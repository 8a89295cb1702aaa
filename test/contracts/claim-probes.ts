import type { Claim, Reservation, SharedState, Standing } from '../../src/ports/shared-state.ts';

type WindowClaim = Extract<Claim, { kind: 'window' }>;
type HeldClaim = Extract<Claim, { kind: 'held' }>;

/** Long, so that the seconds a busy machine may take between two calls decide nothing. */
export const HOUR = 3_600_000;
export const SLACK = 60_000;

export function windowClaim(name: string, changes: Partial<WindowClaim> = {}): WindowClaim {
  return { kind: 'window', name, amount: 1, limit: 3, windowMs: HOUR, ...changes };
}

export function heldClaim(name: string, entry: string, changes: Partial<HeldClaim> = {}): HeldClaim {
  return { kind: 'held', name, entry, amount: 1, limit: 3, ttlMs: HOUR, rule: 'fits', ...changes };
}

export async function outcomes(state: SharedState, tag: string, claims: readonly Claim[]): Promise<string> {
  const made: string[] = [];
  for (const claim of claims) made.push((await state.reserve(tag, [claim])).outcome);
  return made.join(' ');
}

export function standingsOf(reservation: Reservation): readonly Standing[] {
  if (reservation.outcome === 'level-unknown') throw new Error(`the level ${reservation.level} is unknown`);
  return reservation.standings;
}

/** What is used, without taking anything: a claim of nothing is always admitted below an endless limit. */
export async function usedBy(state: SharedState, tag: string, claim: Claim): Promise<number | undefined> {
  const asking =
    claim.kind === 'window'
      ? { ...claim, amount: 0, limit: Number.MAX_SAFE_INTEGER }
      : { ...claim, entry: 'asking', amount: 0, limit: Number.MAX_SAFE_INTEGER };
  const standings = standingsOf(await state.reserve(tag, [asking]));
  if (claim.kind === 'held')
    await state.settle(tag, [{ kind: 'release', name: claim.name, entry: 'asking' }]);
  return standings[0]?.used;
}

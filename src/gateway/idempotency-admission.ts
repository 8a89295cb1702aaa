import type { AskedOnce, IdempotentClaim } from '../domain/calls/idempotent-claims.ts';
import type { CallReservation } from '../domain/limits/call-reservation.ts';
import type { Admission, AdmitParts, WantedCall } from './admit.ts';
import { payerOf, refuseByLimit } from './refused.ts';

/** Last of all, so that a call that is refused anyway writes nothing. An answered one needs the reservation still. */
export async function claimOrGiveBack(
  parts: Pick<AdmitParts, 'idempotency'>,
  claim: IdempotentClaim,
  reservation: CallReservation,
) {
  let isTaken = false;
  try {
    const state = await parts.idempotency.claim(claim);
    isTaken = state === 'claimed' || state === 'answered';
    return state;
  } finally {
    if (!isTaken) await reservation.end(0, []);
  }
}

/** It counts as a request and is held back by no invoice and no balance: it was paid for. */
export async function admitReplay(
  parts: AdmitParts,
  wanted: WantedCall,
  asked: AskedOnce,
): Promise<Admission> {
  const { id, route, key, alias } = wanted;
  const limited = await parts.limits.reserve(key, id, 0, []);
  if (limited.outcome !== 'admitted') {
    return refuseByLimit(limited, payerOf(key, 0), { route, key, alias: alias.alias });
  }
  const { allowances, reservation } = limited;
  return { outcome: 'replay', call: { id, route, key, asked, allowances, reservation } };
}

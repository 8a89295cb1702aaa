/** What a charge was, and what was given back of it so far: money and credits, both only grow. */
export interface ChargeSoFar {
  readonly amountMinor: bigint;
  readonly grantedMicro: bigint;
  readonly refundedMinor: bigint;
  readonly refundedMicro: bigint;
}

export interface RefundStep {
  readonly refundedMinor: bigint;
  readonly refundedMicro: bigint;
  /** To be taken from the account now; zero where it was before. */
  readonly takenMicro: bigint;
}

/**
 * The provider tells how much of a charge was given back in all, so the larger of what is told and what is known
 * counts: told twice, late or in another order, it comes to the same. Credits go in proportion, rounded up to the
 * micro-credit, and exactly all of them with the last of the money.
 */
export function refundStep(soFar: ChargeSoFar, toldMinor: bigint): RefundStep {
  const { amountMinor, grantedMicro } = soFar;
  const refundedMinor = toldMinor > soFar.refundedMinor ? toldMinor : soFar.refundedMinor;
  const share = (grantedMicro * refundedMinor + amountMinor - 1n) / amountMinor;
  const target = refundedMinor >= amountMinor || share > grantedMicro ? grantedMicro : share;
  const refundedMicro = target > soFar.refundedMicro ? target : soFar.refundedMicro;
  return { refundedMinor, refundedMicro, takenMicro: refundedMicro - soFar.refundedMicro };
}

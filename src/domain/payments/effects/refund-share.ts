/** A charge, and what was given back of it so far. */
export interface ChargeSoFar {
  readonly amountMinor: bigint;
  readonly grantedMicro: bigint;
  readonly refundedMinor: bigint;
  readonly refundedMicro: bigint;
}

interface RefundStep {
  readonly refundedMinor: bigint;
  readonly refundedMicro: bigint;
  /** To be taken from the account now; zero if it was taken before. */
  readonly takenMicro: bigint;
}

/**
 * The provider reports the total refunded amount of a charge, so the larger of the reported and the known amount counts:
 * repeated, late or reordered events have the same result. Credits are taken back in proportion, rounded up to the
 * micro-credit, and exactly all of them with a full refund.
 */
export function refundStep(soFar: ChargeSoFar, reportedMinor: bigint, mostMicro?: bigint): RefundStep {
  const { amountMinor, grantedMicro } = soFar;
  const refundedMinor = reportedMinor > soFar.refundedMinor ? reportedMinor : soFar.refundedMinor;
  const due = shareOf(grantedMicro, refundedMinor, amountMinor);
  const target = mostMicro !== undefined && due > mostMicro ? mostMicro : due;
  const refundedMicro = target > soFar.refundedMicro ? target : soFar.refundedMicro;
  return { refundedMinor, refundedMicro, takenMicro: refundedMicro - soFar.refundedMicro };
}

/** Rounded up; the whole amount if `part` reaches `whole`. */
export function shareOf(micro: bigint, part: bigint, whole: bigint): bigint {
  return part >= whole ? micro : (micro * part + whole - 1n) / whole;
}

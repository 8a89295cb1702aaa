import {
  type CallTokens,
  type ChargedCalls,
  chargeCalls,
  type FinishedCall,
  insertCalls,
  ownCharges,
} from '../../domain/calls/settlement/finished-call.ts';
import { type BillingStatuses, isBlocked } from '../../domain/credits/holds/billing-status.ts';
import { type CreditHolds, estimateCost, type Payer } from '../../domain/credits/holds/holds.ts';
import type { CallReservation } from '../../domain/limits/call-reservation.ts';
import { type EstimatedUsage, estimateUsage } from '../../domain/limits/claims.ts';
import type { Limits } from '../../domain/limits/limits.ts';
import { type Alias, priceAt } from '../../domain/models/aliases.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Transaction } from '../../ports/database.ts';
import type { Secrets } from '../../ports/secrets.ts';

/**
 * Model calls that the platform makes for a company (G-28): that company's calls, by the same credit check and the same
 * charge, without a key and so without a key's limits.
 */
export interface PlatformCalls {
  /** Rejects where nobody can say now whether the company may pay: try again later. */
  begin(wanted: WantedCall): Promise<PlatformCall>;
}

export interface WantedCall {
  readonly companyId: string;
  readonly alias: Alias;
  readonly endpoint: string;
  readonly requestId: string;
  readonly bodyBytes: number;
}

export interface CallEnd {
  /** Null where nothing is to be paid. */
  readonly tokens: CallTokens | null;
  readonly targetId: string | null;
  readonly reason: string | null;
  readonly answeredAtMs: number | null;
}

export interface PlatformCall {
  /** False where the company is out of credits or owes: then no provider may be asked for it. */
  readonly mayAsk: boolean;
  /** Writes the call and its charge, with the effect that it was for or not at all. At most once. */
  charge(transaction: Transaction, end: CallEnd): Promise<void>;
  /** Gives back what the call holds, whatever came of it. After the commit. */
  release(): Promise<void>;
}

export interface PlatformCallParts {
  readonly limits: Pick<Limits, 'reserve'>;
  readonly holds: CreditHolds;
  readonly standings: Pick<BillingStatuses, 'find'>;
  readonly secrets: Pick<Secrets, 'newId'>;
  readonly clock: Clock;
}

/** The platform's own pace is set by its workers, not by a number of tokens. */
const NO_LIMIT = 2 ** 40;

export function createPlatformCalls(parts: PlatformCallParts): PlatformCalls {
  const { limits, holds, standings, secrets, clock } = parts;

  async function admit(
    wanted: WantedCall,
    id: string,
    payer: Payer,
    usage: EstimatedUsage,
  ): Promise<Admitted> {
    const { companyId, alias } = wanted;
    const standing = await standings.find(companyId);
    if (standing === null) throw new Error('whether the company owes cannot be read at the moment');
    if (isBlocked(standing, payer.startedAtMs)) return { outcome: 'refused', reason: 'PLAN_LIMIT_EXCEEDED' };
    const nobody = {
      id: `platform ${companyId}`,
      companyId,
      requestsPerMinute: NO_LIMIT,
      tokensPerMinute: NO_LIMIT,
      maxCallsInFlight: null,
    };
    const held = holds.of(payer, estimateCost(priceAt(alias, payer.startedAtMs), usage));
    const reserved = await limits.reserve(nobody, id, 0, held);
    if (reserved.outcome === 'admitted') return { outcome: 'admitted', reservation: reserved.reservation };
    if (reserved.outcome === 'not-payable') return { outcome: 'refused', reason: 'INSUFFICIENT_CREDITS' };
    throw new Error('whether the company may pay cannot be read at the moment');
  }

  return {
    async begin(wanted) {
      const id = secrets.newId();
      const startedAtMs = clock.now();
      const payer = { companyId: wanted.companyId, keyId: null, monthlyLimitMicro: null, startedAtMs };
      const usage = estimateUsage(wanted.bodyBytes, null, 1);
      const admitted = await admit(wanted, id, payer, usage);
      const estimatedTokens = usage.promptTokens + usage.completionTokens;
      const call = { ...wanted, id, startedAtMs, estimatedTokens };
      let charged: { readonly call: FinishedCall; readonly by: ChargedCalls } | null = null;
      return {
        mayAsk: admitted.outcome === 'admitted',
        async charge(transaction, end) {
          const finished = recordOf(call, end, admitted, clock.now());
          if (admitted.outcome === 'refused') return await insertCalls(transaction, [finished]);
          charged = { call: finished, by: await chargeCalls(transaction, [finished]) };
        },
        async release() {
          if (admitted.outcome === 'refused') return;
          const levels =
            charged === null ? [] : holds.levelsAfter(payer, ownCharges(charged.by)(charged.call));
          await admitted.reservation.end(0, levels);
        },
      };
    },
  };
}

type Admitted =
  | { readonly outcome: 'admitted'; readonly reservation: CallReservation }
  | { readonly outcome: 'refused'; readonly reason: string };

/** What the embedded engine did in a provider's place is a failure of the provider, and free. */
function recordOf(
  call: WantedCall & { readonly id: string; readonly startedAtMs: number; readonly estimatedTokens: number },
  { tokens, targetId, reason, answeredAtMs }: CallEnd,
  admitted: Admitted,
  nowMs: number,
): FinishedCall {
  const { id, companyId, endpoint, requestId, startedAtMs, estimatedTokens } = call;
  const isRefused = admitted.outcome === 'refused';
  const outcome = tokens === null ? 'FAILED' : 'SUCCEEDED';
  return {
    ...{ id, companyId, endpoint, requestId, startedAtMs, estimatedTokens },
    keyId: null,
    alias: call.alias.alias,
    targetId: isRefused ? null : targetId,
    outcome: isRefused ? 'REFUSED' : outcome,
    reason: isRefused ? admitted.reason : reason,
    httpStatus: isRefused ? (admitted.reason === 'INSUFFICIENT_CREDITS' ? 402 : 403) : 200,
    streamed: false,
    tokens: isRefused ? null : tokens,
    firstByteMs: answeredAtMs === null ? null : answeredAtMs - startedAtMs,
    durationMs: nowMs - startedAtMs,
    monthlyLimitMicro: null,
  };
}

import type { Clock } from '../../ports/clock.ts';
import type { Transaction } from '../../ports/database.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { chargeCalls, insertCalls } from '../calls/settlement/charge-calls.ts';
import { type OwnCharge, ownCharges } from '../calls/settlement/own-charge.ts';
import { heldBudget } from '../credits/budgets/budget-levels.ts';
import { budgetsOfCall } from '../credits/budgets/call-budgets.ts';
import { type BillingStatuses, isBlocked } from '../credits/holds/billing-status.ts';
import type { CreditHolds } from '../credits/holds/holds.ts';
import type { CallReservation } from '../limits/call-reservation.ts';
import { estimateUsage } from '../limits/claims.ts';
import type { Limits } from '../limits/limits.ts';
import type { Alias } from '../models/aliases.ts';
import { fallbacksOf } from '../models/routing/fallbacks.ts';
import {
  type CallEnding,
  type CallUsage,
  endingOf,
  holdsFor,
  type PaidCall,
  recordOf,
  releaseCall,
  sizeOfText,
  totalTokens,
} from './paid-call.ts';

/**
 * Model calls that the platform makes for a company (G-28). They are that company's calls, with the same credit check
 * and the same charge, but without a key and therefore without a key's limits.
 */
export interface PlatformCalls {
  /** Rejects if it is currently unknown whether the company can pay: try again later. */
  begin(params: PlatformCallParams): Promise<PlatformCall>;
}

interface PlatformCallParams {
  readonly companyId: string;
  readonly alias: Alias;
  readonly endpoint: string;
  readonly requestId: string;
  readonly bodyBytes: number;
}

export interface PlatformCall {
  /** The alias as called by the company: with its own provider keys if it has stored any. Only this one may be called. */
  readonly alias: Alias;
  /** The aliases that answer if it cannot, in order; none for embeddings, which cannot be compared. */
  readonly fallbacks: readonly Alias[];
  /**
   * False if the company is suspended, owes, is out of credits or over its budget, or has an unusable provider key of
   * its own: then no provider may be called.
   */
  readonly mayAsk: boolean;
  /**
   * Writes the call and its charge, in the transaction of the effect that it was made for. Call it at most once, and as
   * the last statement: the account stays locked until the commit, and all calls of the company wait for it.
   */
  charge(transaction: Transaction, usage: CallUsage): Promise<void>;
  /** Releases what the call holds, whatever its result. Call it after the commit. */
  release(): Promise<void>;
}

interface PlatformCallParts {
  readonly limits: Pick<Limits, 'reserve'>;
  readonly holds: CreditHolds;
  readonly billingStatuses: Pick<BillingStatuses, 'find'>;
  readonly secrets: Pick<Secrets, 'newId'>;
  readonly clock: Clock;
  /** If omitted, no company has its own provider keys. */
  readonly ownKeys?: { aliasFor(companyId: string, alias: Alias): Alias };
  /** If omitted, no alias has a fallback. */
  readonly models?: { find(alias: string): Alias | null };
}

/** The platform's own pace is set by its workers, not by a token limit. */
const NO_LIMIT = 2 ** 40;

export function createPlatformCalls({
  limits,
  holds,
  billingStatuses,
  secrets,
  clock,
  ownKeys,
  models,
}: PlatformCallParts): PlatformCalls {
  function fallbacksFor(first: Alias, ofCompany: (alias: Alias) => Alias): readonly Alias[] {
    const find = (name: string) => {
      const found = models?.find(name) ?? null;
      return found === null ? null : ofCompany(found);
    };
    return fallbacksOf({ find }, first);
  }

  async function admit(
    unbudgeted: UnadmittedCall,
    { bodyBytes, fallbacks }: Pick<PlatformCallParams, 'bodyBytes'> & Pick<PlatformCall, 'fallbacks'>,
  ): Promise<Admitted> {
    const { companyId, startedAtMs } = unbudgeted.payer;
    const billingStatus = await billingStatuses.find(companyId);
    if (billingStatus === null) throw new Error('whether the company owes cannot be read right now');
    const budgets =
      billingStatus.budgets === null ? undefined : budgetsOfCall(billingStatus.budgets, WITHOUT_KEY);
    const call =
      budgets === undefined ? unbudgeted : { ...unbudgeted, payer: { ...unbudgeted.payer, budgets } };
    if (billingStatus.suspendedFor !== null) return { outcome: 'refused', call, ending: SUSPENDED };
    if (isBlocked(billingStatus, startedAtMs)) return { outcome: 'refused', call, ending: OWES };
    const { payer, alias } = call;
    if (alias.ownKey != null && alias.ownKey.problem !== null) {
      return { outcome: 'refused', call, ending: KEY_REFUSED };
    }
    const held = holdsFor(holds, payer, { alias, size: sizeOfText(bodyBytes), fallbacks });
    const unlimited = {
      id: `platform ${companyId}`,
      companyId,
      requestsPerMinute: NO_LIMIT,
      tokensPerMinute: NO_LIMIT,
      maxCallsInFlight: null,
    };
    const reserved = await limits.reserve(unlimited, call.id, 0, held);
    if (reserved.outcome === 'admitted')
      return { outcome: 'admitted', call, reservation: reserved.reservation };
    if (reserved.outcome === 'not-payable') {
      const isBudget = heldBudget(reserved.hold.name, budgets ?? []) !== null;
      return { outcome: 'refused', call, ending: isBudget ? OVER_BUDGET : NO_CREDITS };
    }
    if (reserved.outcome === 'held')
      throw new Error('calls that are still running hold the credits of the company');
    throw new Error('whether the company may pay cannot be read at the moment');
  }

  return {
    async begin({ companyId, alias: listed, endpoint, requestId, bodyBytes }) {
      const ofCompany = (one: Alias) => ownKeys?.aliasFor(companyId, one) ?? one;
      const alias = ofCompany(listed);
      const fallbacks = endpoint === 'embeddings' ? [] : fallbacksFor(alias, ofCompany);
      const startedAtMs = clock.now();
      const payer = { companyId, keyId: null, monthlyLimitMicro: null, startedAtMs, userId: null };
      const estimatedTokens = totalTokens(estimateUsage(bodyBytes, null, 1));
      const unbudgeted = { id: secrets.newId(), payer, alias, estimatedTokens };
      const admitted = await admit(unbudgeted, { bodyBytes, fallbacks });
      const { call } = admitted;
      let charged: OwnCharge | null = null;
      return {
        alias,
        fallbacks,
        mayAsk: admitted.outcome === 'admitted',
        async charge(transaction, used) {
          const ending = admitted.outcome === 'refused' ? admitted.ending : endingOf(used, startedAtMs);
          const facts = { requestId, endpoint, streamed: false, nowMs: clock.now(), prompts: 1, choices: 1 };
          const record = recordOf(call, facts, ending);
          if (admitted.outcome === 'refused') return await insertCalls(transaction, [record]);
          charged = ownCharges(await chargeCalls(transaction, [record]))(record);
        },
        async release() {
          if (admitted.outcome === 'refused') return;
          const { reservation } = admitted;
          await releaseCall(holds, { payer: call.payer, reservation }, 0, charged);
        },
      };
    },
  };
}

/** Does the work of a call, and releases what it holds if that fails. Otherwise the code that charges it releases it. */
export async function releasedOnFailure<Result>(
  call: Pick<PlatformCall, 'release'>,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    await call.release();
    throw error;
  }
}

type UnadmittedCall = Omit<PaidCall, 'reservation'>;

type Admitted =
  | { readonly outcome: 'admitted'; readonly call: UnadmittedCall; readonly reservation: CallReservation }
  | { readonly outcome: 'refused'; readonly call: UnadmittedCall; readonly ending: CallEnding };

/** Calls of the platform count only against the company's own budget. */
const WITHOUT_KEY = { keyId: null, project: null, endUser: undefined };

const SUSPENDED = refusedWith('COMPANY_SUSPENDED', 403);
const OWES = refusedWith('PLAN_LIMIT_EXCEEDED', 403);
const KEY_REFUSED = refusedWith('PROVIDER_KEY_REFUSED', 403);
const NO_CREDITS = refusedWith('INSUFFICIENT_CREDITS', 402);
const OVER_BUDGET = refusedWith('BUDGET_EXCEEDED', 403);

function refusedWith(reason: string, httpStatus: number): CallEnding {
  return { outcome: 'REFUSED', reason, httpStatus, targetId: null, tokens: null, firstByteMs: null };
}

import type { Transaction } from '../../ports/database.ts';
import { type BillingMode, findCompany } from '../accounts/company.ts';
import { listSuperAdmins } from '../accounts/members.ts';
import { leastMinorOf } from '../catalog/currency.ts';
import { findPlan, type Plan } from '../catalog/plan.ts';
import {
  type AgreedRate,
  LAST_INVOICE_DAY,
  MOST_DUE_DAYS,
  writeAgreedTerms,
} from '../credits/invoices/postpaid-terms.ts';
import { type AccountLevel, setCompanyBilling } from '../credits/ledger/credit-account.ts';
import { lockAccount } from '../credits/ledger/ledger.ts';
import { liveSubscriptions } from '../subscriptions/subscription.ts';

/**
 * POSTPAID plans are not bought by checkout: a company requests one, and an operator assigns it with the agreed terms.
 */
interface PlanAssignmentParams {
  readonly companyId: string;
  readonly planId: string;
  /** Null is unlimited. */
  readonly creditLimitMicro: bigint | null;
  readonly dueDays: number | null;
  readonly invoiceDay: number;
  readonly now: Date;
}

type AssignedPlan =
  /** The caller publishes the level after its commit. */
  | { readonly outcome: 'assigned'; readonly plan: Plan; readonly level: AccountLevel }
  | { readonly outcome: 'no-such-plan' | 'no-such-company' }
  | {
      readonly outcome: 'invalid';
      readonly field: 'creditLimit' | 'dueDays' | 'invoiceDay' | 'planId';
      readonly message: string;
    }
  | { readonly outcome: 'subscribed'; readonly message: string };

export async function assignPlan(
  transaction: Transaction,
  params: PlanAssignmentParams,
): Promise<AssignedPlan> {
  const { companyId, planId, dueDays, invoiceDay, creditLimitMicro, now } = params;
  const plan = await findPlan(transaction, planId);
  if (plan === null) return { outcome: 'no-such-plan' };
  const problem = problemOf(params, plan);
  if (problem !== null) return { outcome: 'invalid', ...problem };
  const set = await setBilling(transaction, companyId, 'POSTPAID', creditLimitMicro);
  if (set.outcome === 'no-such-company' || set.outcome === 'subscribed') return set;
  if (set.outcome === 'wrong-limit')
    return { outcome: 'invalid', field: 'creditLimit', message: set.problem };
  const rate = rateOf(plan);
  await writeAgreedTerms(transaction, { companyId, planId, dueDays, invoiceDay, rate, agreedAt: now });
  return { outcome: 'assigned', plan, level: set.level };
}

/**
 * Changes how a company pays (`setCompanyBilling`). It is refused while the company has a subscription: both would charge it
 * for the same time.
 */
export async function setBilling(
  transaction: Transaction,
  companyId: string,
  mode: BillingMode,
  creditLimitMicro: bigint | null,
): Promise<Awaited<ReturnType<typeof setCompanyBilling>> | { outcome: 'subscribed'; message: string }> {
  await lockAccount(transaction, companyId);
  const [live] = mode === 'POSTPAID' ? await liveSubscriptions(transaction, companyId) : [];
  if (live !== undefined) {
    const message =
      'The company has a subscription, which would be paid beside the invoices for its usage. Cancel the subscription and wait for its end, or end it at once at the payment provider; then try again.';
    return { outcome: 'subscribed', message };
  }
  return await setCompanyBilling(transaction, companyId, mode, creditLimitMicro);
}

function problemOf({ dueDays, invoiceDay }: PlanAssignmentParams, plan: Plan) {
  if (plan.billingMode !== 'POSTPAID') {
    const message = `Plan "${plan.name}" is PREPAID: companies subscribe to it by checkout.`;
    return { field: 'planId', message } as const;
  }
  if (!plan.active) return { field: 'planId', message: `Plan "${plan.name}" is retired.` } as const;
  if (dueDays !== null && (dueDays < 1 || dueDays > MOST_DUE_DAYS)) {
    return { field: 'dueDays', message: `An invoice is due after 1 to ${MOST_DUE_DAYS} days.` } as const;
  }
  if (invoiceDay < 1 || invoiceDay > LAST_INVOICE_DAY) {
    const message = `The invoice day is a day from 1 to ${LAST_INVOICE_DAY}, which every month has.`;
    return { field: 'invoiceDay', message } as const;
  }
  return null;
}

/**
 * The plan's price for its credits. Null, which selects the operator's price of a credit, if the plan has no price or
 * no credits.
 */
function rateOf({ priceMinor, creditsMicro, currency }: Plan): AgreedRate | null {
  if (priceMinor === 0n || creditsMicro === 0n) return null;
  return { priceMinor, creditsMicro, currency, leastMinor: leastMinorOf(currency) };
}

export interface PlanRequestMail {
  readonly kind: 'plan-request';
  readonly to: string;
  readonly dedupeKey: string;
  readonly data: {
    readonly companyName: string;
    readonly planName: string;
    readonly askedBy: string;
    readonly message?: string;
  };
}

/** Takes a mail within the transaction of the request. */
export interface PlanRequestOutbox {
  send(mail: PlanRequestMail, within: Transaction): Promise<{ readonly outcome: string }>;
}

type RequestedPlan =
  | { readonly outcome: 'requested'; readonly plan: Plan }
  | { readonly outcome: 'no-such-plan' | 'no-such-company' }
  | { readonly outcome: 'by-checkout'; readonly message: string };

/** A company requests a POSTPAID plan: the super admins are mailed, once per plan and day. */
export async function requestPlan(
  outbox: PlanRequestOutbox,
  transaction: Transaction,
  params: {
    readonly companyId: string;
    readonly planId: string;
    readonly email: string;
    readonly message: string | null;
    readonly now: Date;
  },
): Promise<RequestedPlan> {
  const { companyId, planId, email, message, now } = params;
  const plan = await findPlan(transaction, planId);
  if (plan === null || !plan.active) return { outcome: 'no-such-plan' };
  if (plan.billingMode !== 'POSTPAID') {
    return {
      outcome: 'by-checkout',
      message: `Plan "${plan.name}" is bought by createSubscriptionCheckout.`,
    };
  }
  const company = await findCompany(transaction, companyId);
  if (company === null) return { outcome: 'no-such-company' };
  const day = now.toISOString().slice(0, 10);
  for (const to of await listSuperAdmins(transaction)) {
    const data = { companyName: company.name, planName: plan.name, askedBy: email };
    await outbox.send(
      {
        kind: 'plan-request',
        to,
        dedupeKey: `plan-request:${companyId}:${planId}:${day}:${to}`,
        data: message === null ? data : { ...data, message },
      },
      transaction,
    );
  }
  return { outcome: 'requested', plan };
}

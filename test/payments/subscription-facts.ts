import type { ProviderEvent } from '../../src/ports/payment-provider.ts';
import type { MadeCompany } from './payments-under-test.ts';
import { madeEvent, RECORDED_AT, wireItems, wireLines } from './recorded-events.ts';

type Fields = Record<string, unknown>;

export interface MadeSubscription {
  readonly company: MadeCompany;
  readonly id: string;
  readonly priceId: string;
}

let count = 0;

export function newSubscription(company: MadeCompany, priceId: string): MadeSubscription {
  count += 1;
  return { company, priceId, id: `sub_${count}_${company.id.slice(-8)}` };
}

type Kind = 'created' | 'updated' | 'deleted' | 'trial_will_end' | 'paused' | 'resumed';

export function subscriptionEvent(
  kind: Kind,
  { id, company, priceId }: MadeSubscription,
  object: Fields = {},
  more: { readonly created?: number; readonly previous?: Fields | null } = {},
): ProviderEvent {
  return madeEvent({
    type: `customer.subscription.${kind}`,
    object: { id, customer: company.customerId, items: wireItems(priceId), ...object },
    ...more,
  });
}

type InvoiceKind =
  | 'paid'
  | 'finalized'
  | 'payment_failed'
  | 'finalization_failed'
  | 'payment_action_required'
  | 'upcoming';

/** An invoice of the subscription, for the month that begins so many months after the first. */
export function invoiceEvent(
  kind: InvoiceKind,
  { id, company, priceId }: MadeSubscription,
  object: Fields = {},
  { month = 0, created }: { readonly month?: number; readonly created?: number } = {},
): ProviderEvent {
  const start = RECORDED_AT + month * 31 * 86_400;
  return madeEvent({
    type: `invoice.${kind}`,
    created: created ?? start + 1,
    object: {
      ...(kind === 'upcoming' ? {} : { id: `in_${id}_${month}` }),
      customer: company.customerId,
      subscription: id,
      charge: `ch_${id}_${month}`,
      payment_intent: `pi_${id}_${month}`,
      billing_reason: month === 0 ? 'subscription_create' : 'subscription_cycle',
      lines: wireLines([{ priceId, amount: 2900, start }]),
      ...object,
    },
  });
}

export function subscriptionSession(
  { id, company }: MadeSubscription,
  object: Fields = {},
  created = RECORDED_AT + 1,
): ProviderEvent {
  return madeEvent({
    type: 'checkout.session.completed',
    created,
    object: {
      id: `cs_${id}`,
      mode: 'subscription',
      customer: company.customerId,
      subscription: id,
      invoice: `in_${id}_0`,
      payment_intent: null,
      amount_total: 2900,
      ...object,
    },
  });
}

export function wireSubscription({ id, company, priceId }: MadeSubscription, changes: Fields = {}): Fields {
  return {
    id,
    object: 'subscription',
    customer: company.customerId,
    status: 'active',
    items: wireItems(priceId),
    current_period_start: RECORDED_AT,
    current_period_end: RECORDED_AT + 31 * 86_400,
    ...changes,
  };
}

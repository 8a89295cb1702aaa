import { findPlan } from '../../catalog/plan.ts';
import { findByProviderId } from '../../subscriptions/subscription.ts';
import { companyOf } from '../company-of.ts';
import { type Effect, waitKeys } from '../effect.ts';
import { amountOf } from '../tell-admins.ts';
import { currencyIn, idIn, minorIn, momentIn, ourIdIn } from '../wire-fields.ts';

/** `invoice.upcoming`: an invoice that does not exist yet, and has no id. It is told of once, and never kept. */
export const invoiceUpcoming: Effect = async (event, context) => {
  const { transaction } = context;
  const { object } = event;
  const customerId = idIn(object.customer);
  const subscriptionId = idIn(object.subscription);
  const hints = { customerId, subscriptionId, companyId: ourIdIn(object, 'companyId') };
  const companyId = await companyOf(transaction, hints);
  if (companyId === null) {
    const waitsFor = waitKeys({ customer: customerId, subscription: subscriptionId });
    return { outcome: 'deferred', reason: `no company of ours is customer ${customerId}`, waitsFor };
  }
  const dueAt =
    momentIn(object.next_payment_attempt) ?? momentIn(object.due_date) ?? momentIn(object.period_end);
  const amount = minorIn(object.amount_due) ?? minorIn(object.total);
  const currency = currencyIn(object.currency);
  if (dueAt === null || amount === null || currency === null || amount <= 0n) {
    return { outcome: 'applied', did: 'there is nothing to tell of it', companyId };
  }
  const subscription = subscriptionId === null ? null : await findByProviderId(transaction, subscriptionId);
  const plan = subscription === null ? null : await findPlan(transaction, subscription.planId);
  await context.tellAdmins({
    kind: 'upcoming-invoice',
    companyId,
    fact: `upcoming:${subscriptionId ?? customerId}:${dueAt.toISOString()}`,
    data: { amount: amountOf(amount, currency), dueAt, ...(plan === null ? {} : { planName: plan.name }) },
  });
  return {
    outcome: 'applied',
    did: `the company is told of ${amount} ${currency} on ${dueAt.toISOString()}`,
    companyId,
  };
};

import type { Effect } from './effect.ts';
import { chargeRefunded } from './effects/charge-refunded.ts';
import { checkoutSessionCompleted } from './effects/checkout-session-completed.ts';
import { invoiceFinalizationFailed } from './effects/invoice-finalization-failed.ts';
import { invoiceFinalized } from './effects/invoice-finalized.ts';
import { invoicePaid } from './effects/invoice-paid.ts';
import { invoicePaymentActionRequired } from './effects/invoice-payment-action-required.ts';
import { invoicePaymentFailed } from './effects/invoice-payment-failed.ts';
import { invoiceUpcoming } from './effects/invoice-upcoming.ts';
import { subscriptionCreated } from './effects/subscription-created.ts';
import { subscriptionDeleted } from './effects/subscription-deleted.ts';
import { subscriptionPaused } from './effects/subscription-paused.ts';
import { subscriptionResumed } from './effects/subscription-resumed.ts';
import { subscriptionTrialWillEnd } from './effects/subscription-trial-will-end.ts';
import { subscriptionUpdated } from './effects/subscription-updated.ts';

/** The one version of the provider's wire that is interpreted (P-25). */
export const PROVIDER_API_VERSION = '2023-10-16';

/** Every kind of event that does something here: exactly these fourteen (P-23). */
export const EFFECTS: ReadonlyMap<string, Effect> = new Map([
  ['checkout.session.completed', checkoutSessionCompleted],
  ['invoice.paid', invoicePaid],
  ['invoice.payment_failed', invoicePaymentFailed],
  ['invoice.finalized', invoiceFinalized],
  ['invoice.finalization_failed', invoiceFinalizationFailed],
  ['invoice.payment_action_required', invoicePaymentActionRequired],
  ['invoice.upcoming', invoiceUpcoming],
  ['customer.subscription.created', subscriptionCreated],
  ['customer.subscription.updated', subscriptionUpdated],
  ['customer.subscription.deleted', subscriptionDeleted],
  ['customer.subscription.trial_will_end', subscriptionTrialWillEnd],
  ['customer.subscription.paused', subscriptionPaused],
  ['customer.subscription.resumed', subscriptionResumed],
  ['charge.refunded', chargeRefunded],
]);

export const HANDLED_EVENT_KINDS: readonly string[] = [...EFFECTS.keys()];

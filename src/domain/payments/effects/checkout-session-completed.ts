import type { Effect } from '../effect.ts';
import { idIn, textIn } from '../wire-fields.ts';
import { completePurchase } from './complete-purchase.ts';
import { completeSubscriptionCheckout } from './complete-subscription-checkout.ts';

/** `checkout.session.completed`: a page of the provider's was gone through, for a pack or for a subscription. */
export const checkoutSessionCompleted: Effect = async (event, context) => {
  const mode =
    textIn(event.object.mode) ?? (idIn(event.object.subscription) === null ? 'payment' : 'subscription');
  switch (mode) {
    case 'payment':
      return await completePurchase(event, context);
    case 'subscription':
      return await completeSubscriptionCheckout(event, context);
    default:
      return { outcome: 'applied', did: `nothing follows from a checkout for ${mode}`, companyId: null };
  }
};

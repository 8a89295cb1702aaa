import { createSubscriptionCheckout as open } from '../../../domain/payments/subscription-checkout.ts';
import { member } from '../access.ts';
import { idOf } from '../bounded-input.ts';
import { recordedChange } from '../recorded-change.ts';
import { conflict, notFound, providerFailed } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';

export const createSubscriptionCheckout: Declaration = (builder) =>
  builder.mutationField('createSubscriptionCheckout', (t) =>
    t.field({
      type: 'CheckoutSession',
      description: 'Opens the payment provider’s page for a plan. A company has one subscription at a time.',
      authScopes: { companyAdmin: true },
      args: { planId: t.arg.id({ required: true }) },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        const planId = idOf('plan', args.planId);
        const opened = await open(context.parts, { companyId, planId });
        switch (opened.outcome) {
          case 'no-such-plan':
            throw notFound('plan');
          case 'no-such-company':
            throw notFound('company');
          case 'not-for-sale':
          case 'subscribed-already':
          case 'replaced':
            throw conflict(opened.message);
          case 'provider-failed':
            throw providerFailed(opened.message);
          case 'opened': {
            const { providerSessionId } = opened.page;
            const object = { objectKind: 'plan', objectId: planId };
            await recordedChange(context, ({ record }) =>
              record({ action: 'subscription.checkout-opened', ...object, details: { providerSessionId } }),
            );
            return { ...opened.page, purchaseId: null };
          }
        }
      },
    }),
  );

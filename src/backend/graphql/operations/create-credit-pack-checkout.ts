import { createCreditPackCheckout as open } from '../../../domain/payments/pack-checkout.ts';
import { member } from '../access.ts';
import { idOf } from '../bounded-input.ts';
import { recordedChange } from '../recorded-change.ts';
import { notFound, providerFailed } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';

export const createCreditPackCheckout: Declaration = (builder) =>
  builder.mutationField('createCreditPackCheckout', (t) =>
    t.field({
      type: 'CheckoutSession',
      description: 'Opens the payment provider’s page for a pack; the credits come once it is paid.',
      authScopes: { companyAdmin: true },
      args: { creditPackId: t.arg.id({ required: true }) },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        const creditPackId = idOf('credit pack', args.creditPackId);
        const opened = await open(context.parts, { companyId, creditPackId });
        switch (opened.outcome) {
          case 'no-such-pack':
            throw notFound('credit pack');
          case 'no-such-company':
            throw notFound('company');
          case 'provider-failed':
            throw providerFailed(opened.message);
          case 'opened': {
            const { purchaseId, page } = opened;
            const details = { creditPackId, providerSessionId: page.providerSessionId };
            const object = { objectKind: 'purchase', objectId: purchaseId };
            await recordedChange(context, ({ record }) =>
              record({ action: 'purchase.begun', ...object, details }),
            );
            return { ...page, purchaseId };
          }
        }
      },
    }),
  );

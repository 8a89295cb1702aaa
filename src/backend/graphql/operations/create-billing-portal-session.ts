import { createBillingPortal } from '../../../domain/payments/billing-portal.ts';
import { member } from '../access.ts';
import { recordedChange } from '../recorded-change.ts';
import { notFound, providerFailed } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';

export const createBillingPortalSession: Declaration = (builder) =>
  builder.mutationField('createBillingPortalSession', (t) =>
    t.field({
      type: 'BillingPortalSession',
      description:
        'Opens the payment provider’s page on which the company changes its card, or its plan, or ends it.',
      authScopes: { companyAdmin: true },
      async resolve(_root, _args, context) {
        const { companyId } = await member(context);
        const opened = await createBillingPortal(context.parts, companyId);
        if (opened.outcome === 'no-such-company') throw notFound('company');
        if (opened.outcome === 'provider-failed') throw providerFailed(opened.message);
        const object = { objectKind: 'company', objectId: companyId };
        await recordedChange(context, ({ record }) => record({ action: 'billing-portal.opened', ...object }));
        return { url: opened.url };
      },
    }),
  );

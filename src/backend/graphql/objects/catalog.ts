import { creditsFrom } from '../credits.ts';
import { amountFrom } from '../money.ts';
import type { Declaration } from '../schema-builder.ts';

export const catalogObjects: Declaration = (builder) => {
  builder.enumType('BillingInterval', { values: ['MONTH', 'YEAR'] as const });
  builder.objectType('Plan', {
    description: 'What is paid for by the period.',
    fields: (t) => ({
      id: t.exposeID('id'),
      name: t.exposeString('name'),
      active: t.exposeBoolean('active'),
      billingMode: t.expose('billingMode', { type: 'BillingMode' }),
      price: t.float({ resolve: ({ priceMinor, currency }) => amountFrom(priceMinor, currency) }),
      currency: t.exposeString('currency'),
      credits: t.float({
        description: 'What each paid period brings.',
        resolve: ({ creditsMicro }) => creditsFrom(creditsMicro),
      }),
      interval: t.expose('interval', { type: 'BillingInterval' }),
      providerProductId: t.exposeString('providerProductId', { nullable: true }),
      providerPriceId: t.exposeString('providerPriceId', { nullable: true }),
      needsProviderPricing: t.exposeBoolean('needsProviderPricing', {
        description:
          'It could be sold, were it not for the price that the payment provider does not have yet.',
      }),
      updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
    }),
  });
  // P-11: these six and nothing else.
  builder.objectType('CreditPackOutput', {
    description: 'Credits that are bought once.',
    fields: (t) => ({
      id: t.exposeID('id'),
      name: t.exposeString('name'),
      credits: t.float({ resolve: ({ creditsMicro }) => creditsFrom(creditsMicro) }),
      price: t.float({ resolve: ({ priceMinor, currency }) => amountFrom(priceMinor, currency) }),
      currency: t.exposeString('currency', { description: 'A lowercase code.' }),
      sortOrder: t.exposeInt('sortOrder'),
    }),
  });
};

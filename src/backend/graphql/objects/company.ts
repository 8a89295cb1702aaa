import { creditsOrNull } from '../credits.ts';
import { defineConnection } from '../paging.ts';
import type { Declaration } from '../schema-builder.ts';

export const companyObject: Declaration = (builder) => {
  builder.enumType('BillingMode', {
    values: {
      PREPAID: { description: 'Calls are paid from credits bought before.' },
      POSTPAID: { description: 'Calls are invoiced monthly.' },
    },
  });
  builder.objectType('Company', {
    fields: (t) => ({
      id: t.exposeID('id'),
      name: t.exposeString('name'),
      billingMode: t.expose('billingMode', { type: 'BillingMode' }),
      creditLimit: t.float({
        nullable: true,
        description: 'How far below zero a POSTPAID company may go, in credits; null is no limit.',
        resolve: (company) => creditsOrNull(company.creditLimitMicro),
      }),
      providerCustomerId: t.exposeString('providerCustomerId', { nullable: true }),
      createdAt: t.expose('createdAt', { type: 'DateTime' }),
    }),
  });
  defineConnection(builder, 'Company');
};

import { defineConnection } from '../paging.ts';
import type { Declaration } from '../schema-builder.ts';

export const paymentEventObjects: Declaration = (builder) => {
  builder.enumType('PaymentEventStatus', {
    values: {
      RECEIVED: { description: 'Kept, and not applied yet.' },
      PROCESSED: { description: 'Its effect stands.' },
      DEFERRED: { description: 'Waits for what it needs, and is tried again by itself.' },
      FAILED: { description: 'Somebody has to look, and may replay it.' },
      IGNORED: { description: 'Of a kind that has no effect here.' },
    },
  });
  builder.objectType('PaymentEvent', {
    description: 'What the payment provider told, rightly signed, and what became of it.',
    fields: (t) => ({
      id: t.exposeID('id'),
      providerEventId: t.exposeString('providerEventId'),
      type: t.exposeString('type'),
      objectId: t.exposeString('objectId', { nullable: true }),
      status: t.expose('status', { type: 'PaymentEventStatus' }),
      effect: t.exposeString('effect', { nullable: true }),
      error: t.exposeString('error', { nullable: true }),
      companyId: t.exposeID('companyId', { nullable: true }),
      attempts: t.exposeInt('attempts'),
      happenedAt: t.expose('happenedAt', { type: 'DateTime' }),
      receivedAt: t.expose('receivedAt', { type: 'DateTime' }),
      processedAt: t.expose('processedAt', { type: 'DateTime', nullable: true }),
      nextAttemptAt: t.expose('nextAttemptAt', { type: 'DateTime', nullable: true }),
    }),
  });
  defineConnection(builder, 'PaymentEvent');
};

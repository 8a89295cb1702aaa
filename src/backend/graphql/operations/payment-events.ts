import { listPaymentEvents } from '../../../domain/payments/payment-event.ts';
import { idOf } from '../bounded-input.ts';
import { pageOf, pageWish } from '../paging.ts';
import type { Declaration } from '../schema-builder.ts';

export const paymentEvents: Declaration = (builder) =>
  builder.queryField('paymentEvents', (t) =>
    t.field({
      type: 'PaymentEventConnection',
      description: 'What the payment provider told, the newest first.',
      authScopes: { superAdmin: true },
      args: { first: t.arg.int(), after: t.arg.id(), status: t.arg({ type: 'PaymentEventStatus' }) },
      async resolve(_root, args, { parts }) {
        const { limit, after } = pageWish(args);
        const wish = {
          limit: limit + 1,
          after: after === null ? undefined : idOf('page', after),
          status: args.status ?? undefined,
        };
        return pageOf(await listPaymentEvents(parts.database, wish), limit, ({ id }) => id);
      },
    }),
  );

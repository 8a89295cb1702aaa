import { idOf } from '../bounded-input.ts';
import { recordedChange } from '../recorded-change.ts';
import { conflict, notFound } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';

export const replayPaymentEvent: Declaration = (builder) =>
  builder.mutationField('replayPaymentEvent', (t) =>
    t.field({
      type: 'PaymentEvent',
      description: 'Tries an event again that is not done with; its effect happens once, however often.',
      authScopes: { superAdmin: true },
      args: { id: t.arg.id({ required: true }) },
      async resolve(_root, args, context) {
        const id = idOf('payment event', args.id);
        // In transactions of its own: the provider may have to be asked in between.
        const replayed = await context.parts.paymentEvents.replay(id);
        switch (replayed.outcome) {
          case 'no-such-event':
            throw notFound('payment event');
          case 'done-before':
            throw conflict('This event is done with: there is nothing to replay.');
          case 'other-version':
            throw conflict('This event is of another API version of the provider: it is not interpreted.');
          case 'replayed': {
            const { event } = replayed;
            const details = { type: event.type, status: event.status };
            await recordedChange(context, ({ record }) =>
              record({
                action: 'payment-event.replayed',
                objectKind: 'payment-event',
                objectId: id,
                companyId: event.companyId,
                details,
              }),
            );
            return event;
          }
        }
      },
    }),
  );

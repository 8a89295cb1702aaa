import {
  listPaymentEvents,
  type PaymentEvent,
  type PaymentEventStatus,
} from '../../../domain/payments/event-inbox.ts';
import { replayPayments as replayProviderEvents } from '../../../domain/payments/missed-events.ts';
import { badInput, conflict, notFound, providerFailed } from '../errors.ts';
import { idOf } from '../input.ts';
import { defineConnection, type Page, pageArgs, pageOf } from '../paging.ts';
import { recordedChange } from '../recorded-change.ts';
import type { Declaration } from '../schema-builder.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    PaymentEvent: PaymentEvent;
    PaymentEventConnection: Page<PaymentEvent>;
  }
  interface SchemaScalars {
    PaymentEventStatus: PaymentEventStatus;
  }
}

const paymentEventObjects: Declaration = (builder) => {
  builder.enumType('PaymentEventStatus', {
    values: {
      RECEIVED: { description: 'Stored, not applied yet.' },
      PROCESSED: { description: 'It was applied.' },
      DEFERRED: { description: 'Waiting for something it depends on. Retried automatically.' },
      FAILED: { description: 'An operator has to look at it, and can replay it.' },
      IGNORED: { description: 'An event type that has no effect here, or one that an operator dropped.' },
    },
  });
  builder.objectType('PaymentEvent', {
    description: 'An event of the payment provider with a valid signature, and its result.',
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

const paymentEvents: Declaration = (builder) =>
  builder.queryField('paymentEvents', (t) =>
    t.field({
      type: 'PaymentEventConnection',
      description: 'Events of the payment provider, newest first.',
      authScopes: { superAdmin: true },
      args: { first: t.arg.int(), after: t.arg.id(), status: t.arg({ type: 'PaymentEventStatus' }) },
      async resolve(_root, args, { parts }) {
        const { limit, after } = pageArgs(args);
        const page = {
          limit: limit + 1,
          after: after === null ? undefined : idOf('page', after),
          status: args.status ?? undefined,
        };
        return pageOf(await listPaymentEvents(parts.database, page), limit, ({ id }) => id);
      },
    }),
  );

const replayPaymentEvent: Declaration = (builder) =>
  builder.mutationField('replayPaymentEvent', (t) =>
    t.field({
      type: 'PaymentEvent',
      description: 'Retries an event that has not been processed. Idempotent.',
      authScopes: { superAdmin: true },
      args: { id: t.arg.id({ required: true }) },
      async resolve(_root, args, context) {
        const id = idOf('payment event', args.id);
        // Uses transactions of its own, because it may call the payment provider in between.
        const replayed = await context.parts.paymentEvents.replay(id);
        switch (replayed.outcome) {
          case 'no-such-event':
            throw notFound('payment event');
          case 'done-before':
            throw conflict('This event has been processed. There is nothing to replay.');
          case 'other-version':
            throw conflict(
              'This event has a different API version of the provider. Replay the payments of its time range; its object is then read in the supported version.',
            );
          case 'other-origin':
            throw conflict(
              'This event is from test mode or another account of the provider and is not interpreted.',
            );
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

const replayPayments: Declaration = (builder) =>
  builder.mutationField('replayPayments', (t) =>
    t.int({
      description:
        'Reads all events of a time range from the payment provider again, both ends included, and applies those that ' +
        'are not applied yet; for example after the database was restored. Returns how many events were read. The ' +
        'provider stores events for 30 days.',
      authScopes: { superAdmin: true },
      args: {
        from: t.arg({ type: 'DateTime', required: true }),
        to: t.arg({ type: 'DateTime', required: true }),
      },
      async resolve(_root, { from, to }, context) {
        // In transactions of its own, one for each event.
        const replayed = await replayProviderEvents(context.parts, { from, to });
        if (replayed.outcome === 'invalid') throw badInput('from', replayed.message);
        if (replayed.outcome === 'provider-failed') throw providerFailed(replayed.message);
        const { events, applied } = replayed;
        const range = `${from.toISOString()}/${to.toISOString()}`;
        await recordedChange(context, ({ record }) =>
          record({
            action: 'payments.replayed',
            objectKind: 'payment-events',
            objectId: range,
            companyId: null,
            details: { from: from.toISOString(), to: to.toISOString(), events, applied },
          }),
        );
        return events;
      },
    }),
  );

export const paymentEventDeclarations: readonly Declaration[] = [
  paymentEventObjects,
  paymentEvents,
  replayPaymentEvent,
  replayPayments,
];

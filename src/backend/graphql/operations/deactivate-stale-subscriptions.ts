import { deactivateStaleSubscriptions as deactivate } from '../../../domain/subscriptions/deactivate-stale.ts';
import { boundedOrNull } from '../bounded-input.ts';
import { recordedChange } from '../recorded-change.ts';
import type { Declaration } from '../schema-builder.ts';

/** P-27. */
export const deactivateStaleSubscriptions: Declaration = (builder) =>
  builder.mutationField('deactivateStaleSubscriptions', (t) =>
    t.field({
      type: ['PlanSubscription'],
      description:
        'Ends subscriptions that are active here and of which the payment provider tells nothing any more.',
      authScopes: { superAdmin: true },
      args: {
        providerSubscriptionIds: t.arg.stringList({
          description: 'Exactly these; left out, the stale ones that are found.',
        }),
        dryRun: t.arg.boolean({
          required: true,
          defaultValue: true,
          description: 'Only says what would be done.',
        }),
      },
      async resolve(_root, { dryRun, ...args }, context) {
        const { database, clock } = context.parts;
        const field = 'providerSubscriptionIds';
        const providerSubscriptionIds = boundedOrNull('providerIds', field, args.providerSubscriptionIds);
        const wanted = { providerSubscriptionIds, dryRun, now: new Date(clock.now()) };
        if (dryRun) return [...(await deactivate(database, wanted))];
        return await recordedChange(context, async ({ transaction, record, nothingChanged }) => {
          nothingChanged();
          const ended = await deactivate(transaction, wanted);
          for (const { id, companyId, providerSubscriptionId } of ended) {
            const object = { objectKind: 'subscription', objectId: id, companyId };
            await record({
              action: 'subscription.deactivated',
              ...object,
              details: { providerSubscriptionId },
            });
          }
          return [...ended];
        });
      },
    }),
  );

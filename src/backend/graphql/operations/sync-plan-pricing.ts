import { listPlans } from '../../../domain/catalog/plan.ts';
import { syncAllPlansProviderPricing as sync } from '../../../domain/catalog/sync-plan-pricing.ts';
import { recordedChange } from '../recorded-change.ts';
import { providerFailed } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';

/** P-9. */
export const syncAllPlansProviderPricing: Declaration = (builder) =>
  builder.mutationField('syncAllPlansProviderPricing', (t) =>
    t.field({
      type: ['Plan'],
      description:
        'Gives each active plan that is sold and lacks one a product and a price at the payment provider. Safe to ' +
        'repeat, and to run twice at once.',
      authScopes: { superAdmin: true },
      async resolve(_root, _args, context) {
        const { database, paymentEvents } = context.parts;
        const before = await listPlans(database, { activeOnly: true });
        const lacking = new Set(before.flatMap((plan) => (plan.needsProviderPricing ? [plan.id] : [])));
        const onPriced = (priceId: string) => paymentEvents.wake([`price:${priceId}`]);
        const synced = await sync({ ...context.parts, onPriced });
        if (synced.outcome === 'provider-failed') throw providerFailed(synced.message);
        const priced = synced.plans.filter(({ id }) => lacking.has(id));
        await recordedChange(context, async ({ record, nothingChanged }) => {
          nothingChanged();
          for (const { id, name, providerPriceId } of priced) {
            const details = { name, providerPriceId };
            await record({
              action: 'plan.priced',
              objectKind: 'plan',
              objectId: id,
              companyId: null,
              details,
            });
          }
        });
        return [...synced.plans];
      },
    }),
  );

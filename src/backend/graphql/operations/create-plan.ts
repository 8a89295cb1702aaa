import { createPlan as create } from '../../../domain/catalog/create-plan.ts';
import { bounded } from '../bounded-input.ts';
import { microFrom } from '../credits.ts';
import { recordedChange } from '../recorded-change.ts';
import { badInput } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';

export const createPlan: Declaration = (builder) => {
  const input = builder.inputType('PlanInput', {
    fields: (t) => ({
      name: t.string({ required: true }),
      billingMode: t.field({ type: 'BillingMode', required: true }),
      active: t.boolean({ required: true, defaultValue: true }),
      price: t.float({ required: true }),
      currency: t.string({ required: true, description: 'A three-letter code.' }),
      credits: t.float({ required: true, description: 'What each paid period brings.' }),
      interval: t.field({ type: 'BillingInterval', required: true, defaultValue: 'MONTH' }),
    }),
  });
  builder.mutationField('createPlan', (t) =>
    t.field({
      type: 'Plan',
      description:
        'Adds a plan; syncAllPlansProviderPricing then gives it its price at the payment provider.',
      authScopes: { superAdmin: true },
      args: { input: t.arg({ type: input, required: true }) },
      async resolve(_root, { input: wanted }, context) {
        const { secrets, clock } = context.parts;
        const plan = {
          ...wanted,
          name: bounded('line', 'input.name', wanted.name),
          currency: bounded('line', 'input.currency', wanted.currency),
          creditsMicro: microFrom('input.credits', wanted.credits),
        };
        return await recordedChange(context, async ({ transaction, record }) => {
          const created = await create({ statements: transaction, secrets, clock }, plan);
          if (created.outcome === 'invalid') throw badInput(`input.${created.field}`, created.message);
          const { id, name, billingMode, currency } = created.plan;
          const details = { name, billingMode, price: wanted.price, currency, credits: wanted.credits };
          await record({
            action: 'plan.created',
            objectKind: 'plan',
            objectId: id,
            companyId: null,
            details,
          });
          return created.plan;
        });
      },
    }),
  );
};

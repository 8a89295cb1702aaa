import { createCreditPack as create } from '../../../domain/catalog/create-credit-pack.ts';
import { bounded } from '../bounded-input.ts';
import { microFrom } from '../credits.ts';
import { recordedChange } from '../recorded-change.ts';
import { badInput, providerFailed } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';

/** P-10, P-11. */
export const createCreditPack: Declaration = (builder) => {
  const input = builder.inputType('CreateCreditPackInput', {
    fields: (t) => ({
      name: t.string({ required: true }),
      credits: t.float({ required: true }),
      price: t.float({ required: true }),
      currency: t.string({ required: true, description: 'A three-letter code.' }),
      sortOrder: t.int({ required: true }),
    }),
  });
  builder.mutationField('createCreditPack', (t) =>
    t.field({
      type: 'CreditPackOutput',
      description: 'Adds a pack, with its product and its price at the payment provider.',
      authScopes: { superAdmin: true },
      args: { input: t.arg({ type: input, required: true }) },
      async resolve(_root, { input: wanted }, context) {
        // The provider is asked in between, which no transaction waits for: what is recorded is what came of it.
        const created = await create(context.parts, {
          ...wanted,
          name: bounded('line', 'input.name', wanted.name),
          currency: bounded('line', 'input.currency', wanted.currency),
          creditsMicro: microFrom('input.credits', wanted.credits),
        });
        if (created.outcome === 'invalid') throw badInput(`input.${created.field}`, created.message);
        if (created.outcome === 'provider-failed') throw providerFailed(created.message);
        const { id, name, currency } = created.pack;
        const details = { name, price: wanted.price, currency, credits: wanted.credits };
        await recordedChange(context, ({ record }) =>
          record({
            action: 'credit-pack.created',
            objectKind: 'credit-pack',
            objectId: id,
            companyId: null,
            details,
          }),
        );
        return created.pack;
      },
    }),
  );
};

import { nameOfAlias } from '../../../domain/models/aliases.ts';
import { setPrice } from '../../../domain/models/prices.ts';
import { bounded } from '../bounded-input.ts';
import { recordedChange } from '../recorded-change.ts';
import { badInput, notFound } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';

export const setAliasPrice: Declaration = (builder) => {
  const input = builder.inputType('AliasPriceInput', {
    description: 'In credits for a million tokens.',
    fields: (t) => ({
      prompt: t.float({ required: true }),
      cached: t.float({ required: true }),
      completion: t.float({ required: true }),
    }),
  });
  builder.mutationField('setAliasPrice', (t) =>
    t.field({
      type: 'AliasPrice',
      description:
        'What an alias costs, from now on or from a moment to come. Calls keep the price they began under.',
      authScopes: { superAdmin: true },
      args: {
        alias: t.arg.string({ required: true }),
        price: t.arg({ type: input, required: true }),
        from: t.arg({ type: 'DateTime', description: 'Left out: now.' }),
      },
      async resolve(_root, args, context) {
        const { secrets, aliasPrefix: prefix } = context.parts;
        const alias = bounded('line', 'alias', args.alias);
        if (nameOfAlias(prefix, alias) === null) throw notFound('model alias');
        const { prompt, cached, completion } = args.price;
        return await recordedChange(context, async ({ database, sharedState, record }) => {
          const wanted = { alias, price: { prompt, cached, completion }, from: args.from ?? null };
          const set = await setPrice({ database, sharedState, secrets, prefix }, wanted);
          if (set.outcome !== 'changed') {
            throw badInput(set.outcome === 'wrong-time' ? 'from' : 'price', set.problem);
          }
          const { inForceFromMs } = set.version;
          const details = { prompt, cached, completion, from: new Date(inForceFromMs).toISOString() };
          const object = { objectKind: 'model-alias', objectId: alias, companyId: null };
          await record({ action: 'alias.price-set', ...object, details });
          return set.version;
        });
      },
    }),
  );
};

import { findWeights, setWeights } from '../../../domain/matching/company-weights.ts';
import { PARTS, readWeights, type Weights } from '../../../domain/matching/weights.ts';
import { member } from '../access.ts';
import { bounded } from '../bounded-input.ts';
import { recordedChange } from '../recorded-change.ts';
import { badInput } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';

export const matchWeights: Declaration = (builder) =>
  builder.queryField('matchWeights', (t) =>
    t.field({
      type: ['MatchWeight'],
      description: 'How much each part of a score counts for the company.',
      authScopes: { member: true },
      async resolve(_root, _args, context) {
        const { companyId } = await member(context);
        return listed((await findWeights(context.parts.database, companyId)).weights);
      },
    }),
  );

export const setMatchWeights: Declaration = (builder) => {
  const input = builder.inputType('MatchWeightInput', {
    fields: (t) => ({ part: t.string({ required: true }), weight: t.float({ required: true }) }),
  });
  builder.mutationField('setMatchWeights', (t) =>
    t.field({
      type: ['MatchWeight'],
      description:
        'Sets what each part counts, 0 to 100; parts that are left out go back to their default. All of the company’s matches are scored anew, in the background.',
      authScopes: { companyAdmin: true },
      args: { weights: t.arg({ type: [input], required: true }) },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        if (args.weights.length > PARTS.length) throw badInput('weights', 'each part may be named once');
        const named = args.weights.map(
          ({ part, weight }) => [bounded('line', 'weights.part', part), weight] as const,
        );
        const read = readWeights(Object.fromEntries(named));
        if (read.outcome === 'refused') throw badInput('weights', `${read.part}: ${read.problem}`);
        return await recordedChange(context, async ({ transaction, record }) => {
          const changedAt = new Date(context.parts.clock.now());
          const { weights } = await setWeights(transaction, companyId, read.weights, changedAt);
          const object = { objectKind: 'company', objectId: companyId };
          await record({ action: 'match-weights.set', ...object, details: { ...weights } });
          return listed(weights);
        });
      },
    }),
  );
};

function listed(weights: Weights) {
  return PARTS.map((part) => ({ part, weight: weights[part] }));
}

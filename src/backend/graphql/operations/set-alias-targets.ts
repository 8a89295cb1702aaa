import { ALIAS_NAMES, type AliasName, aliasOf } from '../../../domain/models/aliases.ts';
import { setAliasTargets as setTargets } from '../../../domain/models/change-targets.ts';
import { MOST_TARGETS, TOO_MANY_TARGETS } from '../../../domain/models/wanted-target.ts';
import { bounded, boundedOrNull } from '../bounded-input.ts';
import { recordedChange } from '../recorded-change.ts';
import { badInput, notFound } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';

export const setAliasTargets: Declaration = (builder) => {
  const input = builder.inputType('AliasTargetInput', {
    fields: (t) => ({
      baseUrl: t.string({ required: true }),
      model: t.string({ required: true }),
      apiKey: t.string({ description: 'The provider’s key; kept encrypted and never shown again.' }),
      weight: t.float({ description: 'Its share of the calls; 1 unless told.' }),
    }),
  });
  builder.mutationField('setAliasTargets', (t) =>
    t.field({
      type: 'ModelAlias',
      description:
        'From now on the alias has exactly these targets; with none, the embedded models serve it.',
      authScopes: { superAdmin: true },
      args: {
        alias: t.arg.string({ required: true }),
        targets: t.arg({ type: [input], required: true }),
      },
      async resolve(_root, args, context) {
        const { secrets, cipher, aliasPrefix: prefix } = context.parts;
        const alias = bounded('line', 'alias', args.alias);
        if (args.targets.length > MOST_TARGETS) throw badInput('targets', TOO_MANY_TARGETS);
        const targets = args.targets.map((target, at) => ({
          baseUrl: bounded('technical', `targets.${at}.baseUrl`, target.baseUrl),
          model: bounded('technical', `targets.${at}.model`, target.model),
          apiKey: boundedOrNull('technical', `targets.${at}.apiKey`, target.apiKey),
          weight: target.weight ?? 1,
        }));
        return await recordedChange(context, async ({ database, sharedState, record }) => {
          const parts = { database, sharedState, secrets, cipher, prefix };
          const changed = await setTargets(parts, alias, targets);
          if (changed.outcome === 'unknown-alias') throw notFound('model alias');
          if (changed.outcome === 'wrong-target') throw badInput('targets', changed.problem);
          const shown = targets.map(({ baseUrl, model }) =>
            `${new URL(baseUrl).host} ${model}`.slice(0, 200),
          );
          const object = { objectKind: 'model-alias', objectId: alias, companyId: null };
          await record({ action: 'alias.targets-set', ...object, details: { targets: shown } });
          return declared(prefix, alias);
        });
      },
    }),
  );
};

function declared(prefix: string, alias: string): { name: AliasName; kind: string; alias: string } {
  const found = ALIAS_NAMES.find(({ name }) => aliasOf(prefix, name) === alias);
  if (found === undefined) throw notFound('model alias');
  return { ...found, alias };
}

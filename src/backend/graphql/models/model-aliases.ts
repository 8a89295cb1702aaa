import { creditsAsNumber } from '../../../domain/credits/ledger/credit-account.ts';
import { ALIAS_NAMES, type AliasName, aliasOf, nameOfAlias } from '../../../domain/models/aliases.ts';
import { type AliasPrice, readPrices, setPrice } from '../../../domain/models/prices.ts';
import type { StoredTarget } from '../../../domain/models/target.ts';
import { readCatalogue } from '../../../domain/models/targets.ts';
import { badInput, notFound } from '../errors.ts';
import { bounded } from '../input.ts';
import type { FieldSize } from '../query-cost.ts';
import { recordedChange } from '../recorded-change.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    ModelAlias: { readonly alias: string; readonly name: AliasName; readonly kind: string };
    AliasPrice: AliasPrice;
  }
}

const modelAliasObjects: Declaration = (builder) => {
  builder.objectType('ModelAlias', {
    fields: (t) => ({
      alias: t.exposeString('alias'),
      kind: t.exposeString('kind', { description: 'chat, extract or embed.' }),
      targets: t.loadableList({
        extensions: { maxRows: 10 } satisfies FieldSize,
        type: 'AliasTarget',
        nullable: true,
        description: 'For super admins: who answers for it; empty where the embedded models do.',
        authScopes: { superAdmin: true },
        load: loadTargets,
        resolve: ({ name }) => name,
      }),
      prices: t.loadableList({
        extensions: { maxRows: 10 } satisfies FieldSize,
        type: 'AliasPrice',
        description: 'The one in force, then those to come.',
        load: loadPrices,
        resolve: ({ name }) => name,
      }),
    }),
  });
  builder.objectType('AliasPrice', {
    description: 'In credits for a million tokens.',
    fields: (t) => ({
      id: t.exposeID('id'),
      prompt: t.float({ resolve: ({ promptMicro }) => creditsAsNumber(promptMicro) }),
      cached: t.float({
        description: 'Of tokens of the prompt that the provider had in its cache.',
        resolve: ({ cachedMicro }) => creditsAsNumber(cachedMicro),
      }),
      completion: t.float({ resolve: ({ completionMicro }) => creditsAsNumber(completionMicro) }),
      cacheWrite: t.float({
        nullable: true,
        description: 'Of tokens of the prompt that the provider writes to its cache. Null: as the prompt.',
        resolve: ({ cacheWriteMicro }) => (cacheWriteMicro == null ? null : creditsAsNumber(cacheWriteMicro)),
      }),
      inForceFrom: t.field({
        type: 'DateTime',
        resolve: ({ inForceFromMs }) => new Date(inForceFromMs),
      }),
    }),
  });
};

async function loadPrices(names: AliasName[], { parts }: RequestContext): Promise<AliasPrice[][]> {
  const prices = await readPrices(parts.database);
  return names.map((name) => prices.filter(({ alias }) => alias === name));
}

/** One statement for all aliases of an answer. */
async function loadTargets(names: AliasName[], { parts }: RequestContext): Promise<StoredTarget[][]> {
  const { targets } = await readCatalogue(parts.database);
  return names.map((name) => targets.filter(({ alias }) => alias === name));
}

const modelAliases: Declaration = (builder) =>
  builder.queryField('modelAliases', (t) =>
    t.field({
      type: ['ModelAlias'],
      description: 'The names by which models are called, and to which keys can be limited.',
      authScopes: { signedIn: true },
      resolve: (_root, _args, { parts }) =>
        ALIAS_NAMES.map(({ name, kind }) => ({ name, kind, alias: aliasOf(parts.aliasPrefix, name) })),
    }),
  );

const setAliasPrice: Declaration = (builder) => {
  const input = builder.inputType('AliasPriceInput', {
    description: 'In credits for a million tokens.',
    fields: (t) => ({
      prompt: t.float({ required: true }),
      cached: t.float({ required: true }),
      completion: t.float({ required: true }),
      cacheWrite: t.float({ description: 'Left out: the price of the prompt.' }),
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
        const { prompt, cached, completion, cacheWrite = null } = args.price;
        return await recordedChange(context, async ({ database, sharedState, record }) => {
          const wanted = {
            alias,
            price: { prompt, cached, completion, cacheWrite },
            from: args.from ?? null,
          };
          const set = await setPrice({ database, sharedState, secrets, prefix }, wanted);
          if (set.outcome !== 'changed') {
            throw badInput(set.outcome === 'wrong-time' ? 'from' : 'price', set.problem);
          }
          const { inForceFromMs } = set.version;
          const details = {
            prompt,
            cached,
            completion,
            cacheWrite,
            from: new Date(inForceFromMs).toISOString(),
          };
          const object = { objectKind: 'model-alias', objectId: alias, companyId: null };
          await record({ action: 'alias.price-set', ...object, details });
          return set.version;
        });
      },
    }),
  );
};

export const modelAliasDeclarations: readonly Declaration[] = [
  modelAliasObjects,
  modelAliases,
  setAliasPrice,
];

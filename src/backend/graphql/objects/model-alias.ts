import type { AliasName } from '../../../domain/models/aliases.ts';
import { type AliasPrice, readPrices } from '../../../domain/models/prices.ts';
import { readCatalogue, type StoredTarget } from '../../../domain/models/stored-targets.ts';
import { creditsFrom } from '../credits.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';

export const modelAliasObjects: Declaration = (builder) => {
  builder.objectType('ModelAlias', {
    fields: (t) => ({
      alias: t.exposeString('alias'),
      kind: t.exposeString('kind', { description: 'chat, extract or embed.' }),
      targets: t.loadableList({
        type: 'AliasTarget',
        nullable: true,
        description: 'For super admins: who answers for it; empty where the embedded models do.',
        authScopes: { superAdmin: true },
        load: loadTargets,
        resolve: ({ name }) => name,
      }),
      prices: t.loadableList({
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
      prompt: t.float({ resolve: ({ promptMicro }) => creditsFrom(promptMicro) }),
      cached: t.float({
        description: 'Of tokens of the prompt that the provider had in its cache.',
        resolve: ({ cachedMicro }) => creditsFrom(cachedMicro),
      }),
      completion: t.float({ resolve: ({ completionMicro }) => creditsFrom(completionMicro) }),
      inForceFrom: t.field({
        type: 'DateTime',
        resolve: ({ inForceFromMs }) => new Date(inForceFromMs),
      }),
    }),
  });
  builder.objectType('AliasTarget', {
    fields: (t) => ({
      id: t.exposeID('id'),
      baseUrl: t.exposeString('baseUrl'),
      model: t.exposeString('model'),
      weight: t.exposeFloat('weight'),
      hasKey: t.boolean({ resolve: ({ sealedKey }) => sealedKey !== null }),
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

import {
  isStale,
  type KnownModel,
  presetOf,
  knownModels as readKnownModels,
} from '../../../domain/models/known-models.ts';
import type { FieldSize } from '../query-cost.ts';
import type { Declaration } from '../schema-builder.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    KnownModel: KnownModel;
  }
}

const knownModels: Declaration = (builder) => {
  builder.objectType('KnownModel', {
    description:
      'Figures of a well-known model as published by its provider on a given day. Used for suggestions only.',
    fields: (t) => ({
      vendor: t.exposeString('vendor'),
      provider: t.string({ description: 'The preset of a target with this model.', resolve: presetOf }),
      model: t.exposeString('model'),
      kind: t.exposeString('kind', { description: 'chat or embed.' }),
      contextLength: t.exposeFloat('contextLength'),
      maxOutputTokens: t.exposeFloat('maxOutputTokens', { nullable: true }),
      currency: t.exposeString('currency'),
      prompt: t.exposeFloat('prompt', { description: 'For a million tokens, in the currency.' }),
      cached: t.exposeFloat('cached', { nullable: true }),
      completion: t.exposeFloat('completion'),
      cacheWrite: t.exposeFloat('cacheWrite', { nullable: true }),
      asOf: t.exposeString('asOf', { description: 'A day, as 2026-08-08.' }),
      source: t.exposeString('source', { description: 'The source of the figures.' }),
      pricePage: t.exposeString('pricePage', { description: 'Where the provider publishes its prices.' }),
      note: t.string({ nullable: true, resolve: ({ note }) => note ?? null }),
      isStale: t.boolean({
        description: 'Whether the figures are more than 180 days old.',
        resolve: (model, _args, { parts }) => isStale(model, parts.clock.now()),
      }),
    }),
  });
  builder.queryField('knownModels', (t) =>
    t.field({
      type: ['KnownModel'],
      extensions: { maxRows: 100 } satisfies FieldSize,
      description: 'The catalogue of well-known models.',
      authScopes: { superAdmin: true },
      resolve: () => [...readKnownModels()],
    }),
  );
};

export const knownModelDeclarations: readonly Declaration[] = [knownModels];

import { listCreditPacks } from '../../../domain/catalog/credit-pack.ts';
import type { Declaration } from '../schema-builder.ts';

export const creditPacks: Declaration = (builder) =>
  builder.queryField('creditPacks', (t) =>
    t.field({
      type: ['CreditPackOutput'],
      description: 'What is sold now, by sortOrder.',
      authScopes: { signedIn: true },
      resolve: async (_root, _args, { parts }) => [...(await listCreditPacks(parts.database))],
    }),
  );

import { readBalance } from '../../../domain/credits/company-balance.ts';
import { member } from '../access.ts';
import { notFound } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';

export const creditBalance: Declaration = (builder) =>
  builder.queryField('creditBalance', (t) =>
    t.field({
      type: 'CreditBalance',
      description: 'What the caller’s company holds.',
      authScopes: { member: true },
      async resolve(_root, _args, context) {
        const { companyId } = await member(context);
        const balance = await readBalance(context.parts.database, companyId);
        if (balance === null) throw notFound('company');
        return balance;
      },
    }),
  );

import { findCompany } from '../../../domain/accounts/company.ts';
import { member } from '../access.ts';
import { notFound } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';

export const company: Declaration = (builder) =>
  builder.queryField('company', (t) =>
    t.field({
      type: 'Company',
      description: 'The caller’s own company.',
      authScopes: { member: true },
      async resolve(_root, _args, context) {
        const { companyId } = await member(context);
        const found = await findCompany(context.parts.database, companyId);
        if (found === null) throw notFound('company');
        return found;
      },
    }),
  );

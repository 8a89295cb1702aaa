import { renameCompany } from '../../../domain/accounts/company.ts';
import { member } from '../access.ts';
import { bounded } from '../bounded-input.ts';
import { recordedChange } from '../recorded-change.ts';
import { notFound } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';

export const updateCompany: Declaration = (builder) =>
  builder.mutationField('updateCompany', (t) =>
    t.field({
      type: 'Company',
      authScopes: { companyAdmin: true },
      args: { name: t.arg.string({ required: true }) },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        const name = bounded('line', 'name', args.name);
        const now = new Date(context.parts.clock.now());
        return await recordedChange(context, async ({ transaction, record }) => {
          const changed = await renameCompany(transaction, { id: companyId, name, now });
          if (changed === null) throw notFound('company');
          const details = { name };
          await record({ action: 'company.renamed', objectKind: 'company', objectId: companyId, details });
          return changed;
        });
      },
    }),
  );

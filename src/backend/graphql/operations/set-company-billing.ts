import { findCompany } from '../../../domain/accounts/company.ts';
import { setCompanyBilling as setBilling } from '../../../domain/credits/company-billing.ts';
import { publishLevel } from '../../../domain/credits/publish-level.ts';
import { idOf } from '../bounded-input.ts';
import { microFrom } from '../credits.ts';
import { recordedChange } from '../recorded-change.ts';
import { badInput, notFound } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';

export const setCompanyBilling: Declaration = (builder) =>
  builder.mutationField('setCompanyBilling', (t) =>
    t.field({
      type: 'Company',
      description:
        'How a company pays from now on. A POSTPAID one may go as far below zero as its limit; without one, without end.',
      authScopes: { superAdmin: true },
      args: {
        companyId: t.arg.id({ required: true }),
        billingMode: t.arg({ type: 'BillingMode', required: true }),
        creditLimit: t.arg.float({ description: 'In credits; for POSTPAID alone.' }),
      },
      async resolve(_root, args, context) {
        const { sharedState, log } = context.parts;
        const companyId = idOf('company', args.companyId);
        const { billingMode } = args;
        const limit = args.creditLimit ?? null;
        const limitMicro = limit === null ? null : microFrom('creditLimit', limit);
        if (billingMode === 'PREPAID' && limitMicro !== null && limitMicro !== 0n) {
          throw badInput('creditLimit', 'a PREPAID company has none: leave it out');
        }
        const { level, company } = await recordedChange(context, async (change) => {
          const set = await setBilling(change.transaction, companyId, billingMode, limitMicro);
          if (set.outcome === 'no-such-company') throw notFound('company');
          if (set.outcome === 'wrong-limit') throw badInput('creditLimit', set.problem);
          if (set.outcome === 'unchanged') change.nothingChanged();
          else {
            const object = { objectKind: 'company', objectId: companyId, companyId };
            await change.record({
              action: 'company.billing-set',
              ...object,
              details: { billingMode, creditLimit: limit },
            });
          }
          const company = await findCompany(change.transaction, companyId);
          if (company === null) throw notFound('company');
          return { level: set.level, company };
        });
        await publishLevel(sharedState, level, log);
        return company;
      },
    }),
  );

import { type Company, findCompany } from '../../../domain/accounts/company.ts';
import { resumeCompany, type SuspensionChange, suspendCompany } from '../../../domain/accounts/suspension.ts';
import { announceCompany } from '../../../domain/credits/ledger/credit-account.ts';
import { notFound } from '../errors.ts';
import { bounded, idOf } from '../input.ts';
import { type Change, recordedChange } from '../recorded-change.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';

const suspend: Declaration = (builder) =>
  builder.mutationField('suspendCompany', (t) =>
    t.field({
      type: 'Company',
      description:
        'Refuses all model calls of a company with 403 COMPANY_SUSPENDED within a second and ends running ones. Its members can still sign in, read and pay. The company sees the reason, and its admins are notified by e-mail.',
      authScopes: { superAdmin: true },
      args: { id: t.arg.id({ required: true }), reason: t.arg.string({ required: true }) },
      async resolve(_root, args, context) {
        const companyId = idOf('company', args.id);
        const reason = bounded('line', 'reason', args.reason);
        const now = new Date(context.parts.clock.now());
        return await changeSuspension(context, companyId, {
          action: 'company.suspended',
          details: { reason },
          apply: (transaction) =>
            suspendCompany(transaction, context.parts.mailOutbox, { companyId, reason, now }),
        });
      },
    }),
  );

const resume: Declaration = (builder) =>
  builder.mutationField('resumeCompany', (t) =>
    t.field({
      type: 'Company',
      description: 'Ends a suspension. Calls of the company are accepted again within a second.',
      authScopes: { superAdmin: true },
      args: { id: t.arg.id({ required: true }) },
      async resolve(_root, args, context) {
        const companyId = idOf('company', args.id);
        const now = new Date(context.parts.clock.now());
        return await changeSuspension(context, companyId, {
          action: 'company.resumed',
          details: {},
          apply: (transaction) => resumeCompany(transaction, context.parts.mailOutbox, { companyId, now }),
        });
      },
    }),
  );

interface RequestedChange {
  readonly action: 'company.suspended' | 'company.resumed';
  readonly details: Readonly<Record<string, string>>;
  apply(transaction: Change['transaction']): Promise<SuspensionChange>;
}

async function changeSuspension(
  context: RequestContext,
  companyId: string,
  { action, details, apply }: RequestedChange,
): Promise<Company> {
  return await recordedChange(context, async ({ transaction, sharedState, record, nothingChanged }) => {
    const change = await apply(transaction);
    const company = await findCompany(transaction, companyId);
    if (change === 'no-such-company' || company === null) throw notFound('company');
    if (change === 'unchanged') nothingChanged();
    else await record({ action, objectKind: 'company', objectId: companyId, companyId, details });
    // Repeated, it reaches gateways that have missed the first message.
    await announceCompany(sharedState, companyId);
    return company;
  });
}

export const suspensionDeclarations: readonly Declaration[] = [suspend, resume];

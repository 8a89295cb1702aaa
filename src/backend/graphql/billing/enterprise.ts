import { findCompany } from '../../../domain/accounts/company.ts';
import { findPlans, type Plan } from '../../../domain/catalog/plan.ts';
import { type AgreedTerms, findAgreedTerms } from '../../../domain/credits/invoices/postpaid-terms.ts';
import { publishLevel } from '../../../domain/credits/ledger/credit-account.ts';
import { requestPlan as askForPlan, assignPlan as assign } from '../../../domain/payments/assign-plan.ts';
import { freshCode, member } from '../access.ts';
import { refuseUnverified } from '../accounts/email-verification.ts';
import { microFrom } from '../amounts.ts';
import { badInput, conflict, notFound } from '../errors.ts';
import { boundedOrNull, idOf } from '../input.ts';
import { recordedChange } from '../recorded-change.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    PostpaidTerms: AgreedTerms;
  }
}

const termsObject: Declaration = (builder) => {
  builder.objectType('PostpaidTerms', {
    description: 'The agreed terms of a company that pays by invoice.',
    fields: (t) => ({
      plan: t.loadable({ type: 'Plan', load: loadPlans, resolve: ({ planId }) => planId }),
      dueDays: t.exposeInt('dueDays', {
        nullable: true,
        description: 'Days until an invoice is due. Null: the operator’s setting.',
      }),
      invoiceDay: t.exposeInt('invoiceDay', {
        description: 'The day of the month (UTC) on which the previous month is invoiced.',
      }),
      agreedAt: t.expose('agreedAt', { type: 'DateTime' }),
    }),
  });
  builder.objectField('Company', 'postpaidTerms', (t) =>
    t.loadable({
      type: 'PostpaidTerms',
      nullable: true,
      description: 'Of a POSTPAID company that a plan was assigned to.',
      load: loadTerms,
      resolve: ({ id, billingMode }) => (billingMode === 'POSTPAID' ? id : null),
    }),
  );
};

/** One statement for all companies of a response. */
async function loadTerms(ids: string[], { parts }: RequestContext): Promise<(AgreedTerms | null)[]> {
  const found = await findAgreedTerms(parts.database, ids);
  return ids.map((id) => found.get(id) ?? null);
}

/** One statement for all terms of a response. */
async function loadPlans(ids: string[], { parts }: RequestContext): Promise<(Plan | Error)[]> {
  const found = new Map((await findPlans(parts.database, ids)).map((plan) => [plan.id, plan]));
  return ids.map((id) => found.get(id) ?? new Error(`plan ${id} has disappeared`));
}

const assignPlan: Declaration = (builder) =>
  builder.mutationField('assignPlan', (t) =>
    t.field({
      type: 'Company',
      description: 'Assigns a POSTPAID plan on the agreed terms. The company then pays by monthly invoice.',
      authScopes: { superAdmin: true },
      args: {
        companyId: t.arg.id({ required: true }),
        planId: t.arg.id({ required: true }),
        creditLimit: t.arg.float({
          description: 'How far below zero it may go, in credits. Omitted or null: no limit.',
        }),
        dueDays: t.arg.int({
          description: 'Days until an invoice is due, 1 to 365. Omitted: the operator’s setting.',
        }),
        invoiceDay: t.arg.int({
          description: 'The day of the month, 1 to 28, on which the previous month is invoiced. Default 1.',
        }),
      },
      async resolve(_root, args, context) {
        await freshCode(context);
        const { sharedState, log, clock } = context.parts;
        const companyId = idOf('company', args.companyId);
        const planId = idOf('plan', args.planId);
        const { creditLimit = null, dueDays = null } = args;
        const invoiceDay = args.invoiceDay ?? 1;
        const creditLimitMicro = creditLimit === null ? null : microFrom('creditLimit', creditLimit);
        const { level, company } = await recordedChange(context, async ({ transaction, record }) => {
          const now = new Date(clock.now());
          const params = { companyId, planId, creditLimitMicro, dueDays, invoiceDay, now };
          const assigned = await assign(transaction, params);
          switch (assigned.outcome) {
            case 'no-such-plan':
              throw notFound('plan');
            case 'no-such-company':
              throw notFound('company');
            case 'invalid':
              throw badInput(assigned.field, assigned.message);
            case 'subscribed':
              throw conflict(assigned.message);
            case 'assigned':
          }
          const object = { objectKind: 'company', objectId: companyId, companyId };
          const details = { planId, plan: assigned.plan.name, creditLimit, dueDays, invoiceDay };
          await record({ action: 'company.plan-assigned', ...object, details });
          const company = await findCompany(transaction, companyId);
          if (company === null) throw notFound('company');
          return { level: assigned.level, company };
        });
        await publishLevel(sharedState, level, log);
        return company;
      },
    }),
  );

const requestPlan: Declaration = (builder) =>
  builder.mutationField('requestPlan', (t) =>
    t.field({
      type: 'Boolean',
      description:
        'Asks the operator for a plan whose `purchase` is CONTACT_US: the super admins get a mail, once per plan and day.',
      authScopes: { companyAdmin: true },
      args: { planId: t.arg.id({ required: true }), message: t.arg.string() },
      async resolve(_root, args, context) {
        const viewer = await member(context);
        refuseUnverified(viewer);
        const { companyId, email } = viewer;
        const planId = idOf('plan', args.planId);
        const message = boundedOrNull('line', 'message', args.message);
        const { mailOutbox, clock } = context.parts;
        return await recordedChange(context, async ({ transaction, record }) => {
          const params = { companyId, planId, email, message, now: new Date(clock.now()) };
          const requested = await askForPlan(mailOutbox, transaction, params);
          if (requested.outcome === 'no-such-plan') throw notFound('plan');
          if (requested.outcome === 'no-such-company') throw notFound('company');
          if (requested.outcome === 'by-checkout') throw conflict(requested.message);
          await record({ action: 'plan.requested', objectKind: 'plan', objectId: planId });
          return true;
        });
      },
    }),
  );

export const enterpriseDeclarations: readonly Declaration[] = [termsObject, assignPlan, requestPlan];

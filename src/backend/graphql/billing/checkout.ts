import { type CreditPack, findCreditPacks } from '../../../domain/catalog/credit-pack.ts';
import { findPlan } from '../../../domain/catalog/plan.ts';
import { creditsAsNumber } from '../../../domain/credits/ledger/credit-account.ts';
import {
  createBillingPortal,
  type OpenedPage,
  createCreditPackCheckout as openPackCheckout,
} from '../../../domain/payments/checkout.ts';
import {
  type CreditPackPurchase,
  listPurchases,
  type PurchaseStatus,
} from '../../../domain/payments/purchase.ts';
import { createSubscriptionCheckout as openSubscriptionCheckout } from '../../../domain/payments/subscription-checkout.ts';
import { member } from '../access.ts';
import { refuseUnverified } from '../accounts/email-verification.ts';
import { amountFrom } from '../amounts.ts';
import { conflict, notFound, providerFailed, refusal } from '../errors.ts';
import { idOf } from '../input.ts';
import { defineConnection, type Page, pageArgs, pageOf } from '../paging.ts';
import { recordedChange } from '../recorded-change.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    CreditPackPurchase: CreditPackPurchase;
    CreditPackPurchaseConnection: Page<CreditPackPurchase>;
    CheckoutSession: OpenedPage & { readonly purchaseId: string | null };
    BillingPortalSession: { readonly url: string };
  }
  interface SchemaScalars {
    PurchaseStatus: PurchaseStatus;
  }
}

const purchaseObjects: Declaration = (builder) => {
  builder.enumType('PurchaseStatus', { values: ['PENDING', 'COMPLETED', 'CANCELED'] as const });
  builder.objectType('CreditPackPurchase', {
    fields: (t) => ({
      id: t.exposeID('id'),
      status: t.expose('status', { type: 'PurchaseStatus' }),
      creditPack: t.loadable({
        type: 'CreditPackOutput',
        load: loadCreditPacks,
        resolve: ({ creditPackId }) => creditPackId,
      }),
      credits: t.float({
        description: 'As agreed at the start, like the amount.',
        resolve: ({ creditsMicro }) => creditsAsNumber(creditsMicro),
      }),
      creditsExpireAfterDays: t.exposeInt('creditsExpireAfterDays', {
        nullable: true,
        description: 'Days after which the remaining credits expire. Null: never.',
      }),
      amount: t.float({ resolve: ({ amountMinor, currency }) => amountFrom(amountMinor, currency) }),
      currency: t.exposeString('currency'),
      createdAt: t.expose('createdAt', { type: 'DateTime' }),
      completedAt: t.expose('completedAt', { type: 'DateTime', nullable: true }),
    }),
  });
  defineConnection(builder, 'CreditPackPurchase');
  builder.objectType('CheckoutSession', {
    description: 'A page of the payment provider on which something is bought.',
    fields: (t) => ({
      url: t.exposeString('url'),
      purchaseId: t.exposeID('purchaseId', { nullable: true, description: 'Of a credit pack.' }),
      providerSessionId: t.exposeString('providerSessionId'),
    }),
  });
  builder.objectType('BillingPortalSession', {
    description: 'A page of the payment provider on which a company changes its card or its plan.',
    fields: (t) => ({ url: t.exposeString('url') }),
  });
};

/** One statement for all purchases of a response. */
async function loadCreditPacks(ids: string[], { parts }: RequestContext): Promise<(CreditPack | Error)[]> {
  const found = await findCreditPacks(parts.database, ids);
  const byId = new Map(found.map((pack) => [pack.id, pack]));
  return ids.map((id) => byId.get(id) ?? new Error(`credit pack ${id} has disappeared`));
}

const creditPackPurchases: Declaration = (builder) =>
  builder.queryField('creditPackPurchases', (t) =>
    t.field({
      type: 'CreditPackPurchaseConnection',
      description: 'The company’s completed and open purchases, newest first.',
      authScopes: { companyAdmin: true },
      args: { first: t.arg.int(), after: t.arg.id() },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        const { limit, after } = pageArgs(args);
        const page = { limit: limit + 1, ...(after === null ? {} : { after: idOf('page', after) }) };
        return pageOf(await listPurchases(context.parts.database, companyId, page), limit, ({ id }) => id);
      },
    }),
  );

const createCreditPackCheckout: Declaration = (builder) =>
  builder.mutationField('createCreditPackCheckout', (t) =>
    t.field({
      type: 'CheckoutSession',
      description:
        'Opens the payment provider’s checkout page for a pack. The credits are added once it is paid.',
      authScopes: { companyAdmin: true },
      args: { creditPackId: t.arg.id({ required: true }) },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        const creditPackId = idOf('credit pack', args.creditPackId);
        const opened = await openPackCheckout(context.parts, { companyId, creditPackId });
        switch (opened.outcome) {
          case 'no-such-pack':
            throw notFound('credit pack');
          case 'no-such-company':
            throw notFound('company');
          case 'provider-failed':
            throw providerFailed(opened.message);
          case 'opened': {
            const { purchaseId, page } = opened;
            const details = { creditPackId, providerSessionId: page.providerSessionId };
            const object = { objectKind: 'purchase', objectId: purchaseId };
            await recordedChange(context, ({ record }) =>
              record({ action: 'purchase.begun', ...object, details }),
            );
            return { ...page, purchaseId };
          }
        }
      },
    }),
  );

const createSubscriptionCheckout: Declaration = (builder) =>
  builder.mutationField('createSubscriptionCheckout', (t) =>
    t.field({
      type: 'CheckoutSession',
      description: 'Opens the payment provider’s page for a plan. A company has one subscription at a time.',
      authScopes: { companyAdmin: true },
      args: { planId: t.arg.id({ required: true }) },
      async resolve(_root, args, context) {
        const viewer = await member(context);
        const { companyId } = viewer;
        const planId = idOf('plan', args.planId);
        // Free plans and trials grant credits without payment, so they require a verified address.
        const plan = await findPlan(context.parts.database, planId);
        if (plan !== null && (plan.priceMinor === 0n || plan.trialDays !== null)) refuseUnverified(viewer);
        const opened = await openSubscriptionCheckout(context.parts, { companyId, planId });
        switch (opened.outcome) {
          case 'no-such-plan':
            throw notFound('plan');
          case 'no-such-company':
            throw notFound('company');
          case 'by-agreement':
            throw refusal('CONFLICT', opened.message, { reason: 'CONTACT_US' });
          case 'not-for-sale':
          case 'subscribed-already':
          case 'replaced':
            throw conflict(opened.message);
          case 'provider-failed':
            throw providerFailed(opened.message);
          case 'opened': {
            const { providerSessionId } = opened.page;
            const object = { objectKind: 'plan', objectId: planId };
            await recordedChange(context, ({ record }) =>
              record({ action: 'subscription.checkout-opened', ...object, details: { providerSessionId } }),
            );
            return { ...opened.page, purchaseId: null };
          }
        }
      },
    }),
  );

const createBillingPortalSession: Declaration = (builder) =>
  builder.mutationField('createBillingPortalSession', (t) =>
    t.field({
      type: 'BillingPortalSession',
      description:
        'Opens the payment provider’s page on which the company changes its card, or its plan, or ends it.',
      authScopes: { companyAdmin: true },
      async resolve(_root, _args, context) {
        const { companyId } = await member(context);
        const opened = await createBillingPortal(context.parts, companyId);
        if (opened.outcome === 'no-such-company') throw notFound('company');
        if (opened.outcome === 'provider-failed') throw providerFailed(opened.message);
        const object = { objectKind: 'company', objectId: companyId };
        await recordedChange(context, ({ record }) => record({ action: 'billing-portal.opened', ...object }));
        return { url: opened.url };
      },
    }),
  );

export const checkoutDeclarations: readonly Declaration[] = [
  purchaseObjects,
  creditPackPurchases,
  createCreditPackCheckout,
  createSubscriptionCheckout,
  createBillingPortalSession,
];

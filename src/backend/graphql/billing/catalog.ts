import type { BillingMode } from '../../../domain/accounts/company.ts';
import {
  type CreditPack,
  type CreditPackParams,
  listCreditPacks,
  createCreditPack as storeCreditPack,
} from '../../../domain/catalog/credit-pack.ts';
import {
  type BillingInterval,
  listPlans,
  type Plan,
  type PlanParams,
  createPlan as storePlan,
  syncAllPlansProviderPricing as syncProviderPrices,
} from '../../../domain/catalog/plan.ts';
import {
  MOST_PLANS_REBUILT,
  rebuildPlanPricing as rebuildPrices,
} from '../../../domain/catalog/rebuild-pricing.ts';
import { creditsAsNumber } from '../../../domain/credits/ledger/credit-account.ts';
import { signedIn } from '../access.ts';
import { amountFrom, microFrom } from '../amounts.ts';
import { badInput, notFound, providerFailed } from '../errors.ts';
import { bounded, idOf } from '../input.ts';
import { recordedChange } from '../recorded-change.ts';
import type { Declaration } from '../schema-builder.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    Plan: Plan;
    CreditPackOutput: CreditPack;
    CreditPackTerms: CreditPack;
  }
  interface SchemaScalars {
    BillingInterval: BillingInterval;
    PlanPurchase: 'CHECKOUT' | 'CONTACT_US';
  }
  interface SchemaInputs {
    PlanInput: PlanInput;
    CreateCreditPackInput: CreditPackInput;
  }
}

interface CreditPackInput {
  name: string;
  credits: number;
  price: number;
  currency: string;
  sortOrder: number;
  creditsExpireAfterDays?: number | null | undefined;
}

interface PlanInput extends Omit<CreditPackInput, 'sortOrder'> {
  billingMode: BillingMode;
  active: boolean;
  interval: BillingInterval;
  trialDays?: number | null | undefined;
  trialCredits?: number | null | undefined;
  sortOrder?: number | null | undefined;
}

const catalogObjects: Declaration = (builder) => {
  builder.enumType('BillingInterval', { values: ['MONTH', 'YEAR'] as const });
  builder.enumType('PlanPurchase', {
    values: {
      CHECKOUT: { description: 'By createSubscriptionCheckout.' },
      CONTACT_US: { description: 'The terms are agreed with the operator. Request it with requestPlan.' },
    },
  });
  builder.objectType('Plan', {
    description:
      'A plan paid per period. A POSTPAID plan is paid by usage at its price per credit, or at the operator’s price of a credit.',
    fields: (t) => ({
      id: t.exposeID('id'),
      name: t.exposeString('name'),
      active: t.exposeBoolean('active'),
      billingMode: t.expose('billingMode', { type: 'BillingMode' }),
      price: t.float({ resolve: ({ priceMinor, currency }) => amountFrom(priceMinor, currency) }),
      currency: t.exposeString('currency'),
      credits: t.float({
        description: 'The credits of each paid period.',
        resolve: ({ creditsMicro }) => creditsAsNumber(creditsMicro),
      }),
      interval: t.expose('interval', { type: 'BillingInterval' }),
      trialDays: t.exposeInt('trialDays', {
        nullable: true,
        description: 'Length of the free trial for companies that never subscribed. Null: no trial.',
      }),
      trialCredits: t.float({
        description: 'The credits of a trial, once per company.',
        resolve: ({ trialCreditsMicro }) => creditsAsNumber(trialCreditsMicro),
      }),
      creditsExpireAfterDays: t.exposeInt('creditsExpireAfterDays', {
        nullable: true,
        description: 'Days after which the credits of a paid period expire. Null: never.',
      }),
      sortOrder: t.exposeInt('sortOrder'),
      purchase: t.field({
        type: 'PlanPurchase',
        description: 'How a company obtains it.',
        resolve: ({ billingMode }) => (billingMode === 'POSTPAID' ? 'CONTACT_US' : 'CHECKOUT'),
      }),
      providerProductId: t.exposeString('providerProductId', { nullable: true }),
      providerPriceId: t.exposeString('providerPriceId', { nullable: true }),
      needsProviderPricing: t.exposeBoolean('needsProviderPricing', {
        description: 'It is ready for sale except that the payment provider does not have its price yet.',
      }),
      updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
    }),
  });
  // P-11: exactly these six fields.
  builder.objectType('CreditPackOutput', {
    description: 'A one-time purchase of credits.',
    fields: (t) => ({
      id: t.exposeID('id'),
      name: t.exposeString('name'),
      credits: t.float({ resolve: ({ creditsMicro }) => creditsAsNumber(creditsMicro) }),
      price: t.float({ resolve: ({ priceMinor, currency }) => amountFrom(priceMinor, currency) }),
      currency: t.exposeString('currency', { description: 'A lowercase code.' }),
      sortOrder: t.exposeInt('sortOrder'),
    }),
  });
  builder.objectType('CreditPackTerms', {
    description: 'Terms of a pack that are not part of CreditPackOutput, whose fields are fixed.',
    fields: (t) => ({
      creditPackId: t.exposeID('id'),
      creditsExpireAfterDays: t.exposeInt('creditsExpireAfterDays', {
        nullable: true,
        description: 'Days after which the remaining credits expire. Null: never.',
      }),
    }),
  });
};

const plans: Declaration = (builder) =>
  builder.queryField('plans', (t) =>
    t.field({
      type: ['Plan'],
      description: 'The plans on sale. For super admins, all plans.',
      authScopes: { signedIn: true },
      async resolve(_root, _args, context) {
        const { isSuperAdmin } = await signedIn(context);
        return [...(await listPlans(context.parts.database, { activeOnly: !isSuperAdmin }))];
      },
    }),
  );

const creditPacks: Declaration = (builder) =>
  builder.queryField('creditPacks', (t) =>
    t.field({
      type: ['CreditPackOutput'],
      description: 'What is on sale, by sortOrder.',
      authScopes: { signedIn: true },
      resolve: async (_root, _args, { parts }) => [...(await listCreditPacks(parts.database))],
    }),
  );

const creditPackTerms: Declaration = (builder) =>
  builder.queryField('creditPackTerms', (t) =>
    t.field({
      type: ['CreditPackTerms'],
      description: 'The terms of what creditPacks lists, in the same order.',
      authScopes: { signedIn: true },
      resolve: async (_root, _args, { parts }) => [...(await listCreditPacks(parts.database))],
    }),
  );

const catalogInputs: Declaration = (builder) => {
  builder.inputType('PlanInput', {
    fields: (t) => ({
      name: t.string({ required: true }),
      billingMode: t.field({ type: 'BillingMode', required: true }),
      active: t.boolean({ required: true, defaultValue: true }),
      price: t.float({ required: true }),
      currency: t.string({ required: true, description: 'A three-letter code.' }),
      credits: t.float({ required: true, description: 'The credits of each paid period.' }),
      interval: t.field({ type: 'BillingInterval', required: true, defaultValue: 'MONTH' }),
      trialDays: t.int({ description: '1 to 730; null is no trial.' }),
      trialCredits: t.float({
        description:
          'The credits of a trial, once per company. Requires trialDays. Unused credits expire with the trial.',
      }),
      creditsExpireAfterDays: t.int({
        description: '1 to 3650 days after a grant, what is left of it expires; null is never.',
      }),
      sortOrder: t.int({ description: 'Plans are listed in this order. Default 0.' }),
    }),
  });
  builder.inputType('CreateCreditPackInput', {
    fields: (t) => ({
      name: t.string({ required: true }),
      credits: t.float({ required: true }),
      price: t.float({ required: true }),
      currency: t.string({ required: true, description: 'A three-letter code.' }),
      sortOrder: t.int({ required: true }),
      creditsExpireAfterDays: t.int({
        description:
          '1 to 3650 days after they were credited, what is left of the credits expires; null is never.',
      }),
    }),
  });
};

/** An input as the catalog takes it, with texts and credits within their bounds. */
export function planFrom(input: PlanInput): PlanParams {
  const { trialCredits, sortOrder } = input;
  return {
    ...input,
    name: bounded('line', 'input.name', input.name),
    currency: bounded('line', 'input.currency', input.currency),
    creditsMicro: microFrom('input.credits', input.credits),
    trialDays: input.trialDays ?? null,
    trialCreditsMicro: trialCredits == null ? 0n : microFrom('input.trialCredits', trialCredits),
    creditsExpireAfterDays: input.creditsExpireAfterDays ?? null,
    sortOrder: sortOrder ?? 0,
  };
}

export function packFrom(input: CreditPackInput): CreditPackParams {
  return {
    ...input,
    name: bounded('line', 'input.name', input.name),
    currency: bounded('line', 'input.currency', input.currency),
    creditsMicro: microFrom('input.credits', input.credits),
    creditsExpireAfterDays: input.creditsExpireAfterDays ?? null,
  };
}

const createPlan: Declaration = (builder) =>
  builder.mutationField('createPlan', (t) =>
    t.field({
      type: 'Plan',
      description:
        'Adds a plan; syncAllPlansProviderPricing then gives it its price at the payment provider.',
      authScopes: { superAdmin: true },
      args: { input: t.arg({ type: 'PlanInput', required: true }) },
      async resolve(_root, { input: params }, context) {
        const { secrets, clock } = context.parts;
        const plan = planFrom(params);
        return await recordedChange(context, async ({ transaction, record }) => {
          const created = await storePlan({ statements: transaction, secrets, clock }, plan);
          if (created.outcome === 'invalid') throw badInput(`input.${created.field}`, created.message);
          const { id, name, billingMode, currency } = created.plan;
          const details = { name, billingMode, price: params.price, currency, credits: params.credits };
          await record({
            action: 'plan.created',
            objectKind: 'plan',
            objectId: id,
            companyId: null,
            details,
          });
          return created.plan;
        });
      },
    }),
  );

/** P-10, P-11. */
const createCreditPack: Declaration = (builder) =>
  builder.mutationField('createCreditPack', (t) =>
    t.field({
      type: 'CreditPackOutput',
      description: 'Adds a pack, with its product and its price at the payment provider.',
      authScopes: { superAdmin: true },
      args: { input: t.arg({ type: 'CreateCreditPackInput', required: true }) },
      async resolve(_root, { input: params }, context) {
        // The payment provider is called outside any transaction, so the entry records the result.
        const created = await storeCreditPack(context.parts, packFrom(params));
        if (created.outcome === 'invalid') throw badInput(`input.${created.field}`, created.message);
        if (created.outcome === 'provider-failed') throw providerFailed(created.message);
        const { id, name, currency } = created.pack;
        const details = { name, price: params.price, currency, credits: params.credits };
        await recordedChange(context, ({ record }) =>
          record({
            action: 'credit-pack.created',
            objectKind: 'credit-pack',
            objectId: id,
            companyId: null,
            details,
          }),
        );
        return created.pack;
      },
    }),
  );

/** P-9. */
const syncAllPlansProviderPricing: Declaration = (builder) =>
  builder.mutationField('syncAllPlansProviderPricing', (t) =>
    t.field({
      type: ['Plan'],
      description:
        'Gives each active plan that is sold and lacks one a product and a price at the payment provider. Safe to ' +
        'repeat, and to run twice at once.',
      authScopes: { superAdmin: true },
      async resolve(_root, _args, context) {
        const { database, paymentEvents } = context.parts;
        const before = await listPlans(database, { activeOnly: true });
        const lacking = new Set(before.flatMap((plan) => (plan.needsProviderPricing ? [plan.id] : [])));
        const onPriced = (priceId: string) => paymentEvents.wake([`price:${priceId}`]);
        const synced = await syncProviderPrices({ ...context.parts, onPriced });
        if (synced.outcome === 'provider-failed') throw providerFailed(synced.message);
        const priced = synced.plans.filter(({ id }) => lacking.has(id));
        await recordedChange(context, async ({ record, nothingChanged }) => {
          nothingChanged();
          for (const { id, name, providerPriceId } of priced) {
            const details = { name, providerPriceId };
            await record({
              action: 'plan.priced',
              objectKind: 'plan',
              objectId: id,
              companyId: null,
              details,
            });
          }
        });
        return [...synced.plans];
      },
    }),
  );

const rebuildPlanPricing: Declaration = (builder) =>
  builder.mutationField('rebuildPlanPricing', (t) =>
    t.field({
      type: ['Plan'],
      description:
        'Looks up the products and prices of these plans at the payment provider and creates anew those that it does ' +
        'not know, for example after changing from test mode to live mode. What it knows stays as it is. Safe to repeat.',
      authScopes: { superAdmin: true },
      args: { planIds: t.arg.idList({ required: true }) },
      async resolve(_root, { planIds }, context) {
        if (planIds.length === 0 || planIds.length > MOST_PLANS_REBUILT) {
          throw badInput('planIds', `Name 1 to ${MOST_PLANS_REBUILT} plans.`);
        }
        const ids = planIds.map((id) => idOf('plan', id));
        const onPriced = (priceId: string) => context.parts.paymentEvents.wake([`price:${priceId}`]);
        const rebuilt = await rebuildPrices({ ...context.parts, onPriced }, ids);
        if (rebuilt.outcome === 'no-such-plan') throw notFound('plan');
        if (rebuilt.outcome === 'not-sold') throw badInput('planIds', rebuilt.message);
        if (rebuilt.outcome === 'provider-failed') throw providerFailed(rebuilt.message);
        const changed = rebuilt.plans.filter(({ id }) => rebuilt.changed.has(id));
        await recordedChange(context, async ({ record, nothingChanged }) => {
          nothingChanged();
          for (const { id, name, providerPriceId } of changed) {
            const details = { name, providerPriceId };
            await record({
              action: 'plan.repriced',
              objectKind: 'plan',
              objectId: id,
              companyId: null,
              details,
            });
          }
        });
        return [...rebuilt.plans];
      },
    }),
  );

export const catalogDeclarations: readonly Declaration[] = [
  catalogObjects,
  catalogInputs,
  plans,
  creditPacks,
  creditPackTerms,
  createPlan,
  createCreditPack,
  syncAllPlansProviderPricing,
  rebuildPlanPricing,
];

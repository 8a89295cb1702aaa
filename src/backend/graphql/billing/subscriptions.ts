import { findPlan, findPlans, type Plan } from '../../../domain/catalog/plan.ts';
import { creditsAsNumber } from '../../../domain/credits/ledger/credit-account.ts';
import {
  changeSubscriptionPlan as changePlan,
  previewSubscriptionChange as previewChange,
} from '../../../domain/payments/change-plan.ts';
import {
  currentSubscription,
  deactivateStaleSubscriptions as deactivateStale,
  type Subscription,
  type SubscriptionStatus,
} from '../../../domain/subscriptions/subscription.ts';
import { member } from '../access.ts';
import { refuseUnverified } from '../accounts/email-verification.ts';
import { amountFrom } from '../amounts.ts';
import { conflict, notFound, providerFailed } from '../errors.ts';
import { boundedOrNull, idOf } from '../input.ts';
import { recordedChange } from '../recorded-change.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    PlanSubscription: Subscription;
    SubscriptionChangePreview: SubscriptionChangePreview;
  }
  interface SchemaScalars {
    SubscriptionStatus: SubscriptionStatus;
  }
}

interface SubscriptionChangePreview {
  readonly amountDueMinor: bigint;
  readonly currency: string;
  readonly creditsMicro: bigint;
}

const planSubscriptionObject: Declaration = (builder) => {
  builder.enumType('SubscriptionStatus', {
    values: [
      'INCOMPLETE',
      'TRIALING',
      'ACTIVE',
      'PAST_DUE',
      'UNPAID',
      'PAUSED',
      'CANCELED',
      'INCOMPLETE_EXPIRED',
    ] as const,
  });
  builder.objectType('PlanSubscription', {
    fields: (t) => ({
      id: t.exposeID('id'),
      companyId: t.exposeID('companyId'),
      plan: t.loadable({ type: 'Plan', load: loadPlans, resolve: ({ planId }) => planId }),
      status: t.expose('status', { type: 'SubscriptionStatus' }),
      isActive: t.exposeBoolean('isActive'),
      currentPeriodEnd: t.expose('currentPeriodEnd', { type: 'DateTime', nullable: true }),
      cancelAtPeriodEnd: t.exposeBoolean('cancelAtPeriodEnd'),
      trialEnd: t.expose('trialEnd', {
        type: 'DateTime',
        nullable: true,
        description: 'When its trial ends or has ended; null where it had none.',
      }),
      endDate: t.expose('endDate', {
        type: 'DateTime',
        nullable: true,
        description: 'When it ended, or will, if that is known.',
      }),
      providerSubscriptionId: t.exposeString('providerSubscriptionId', { nullable: true }),
      updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
    }),
  });
};

const changePreviewObject: Declaration = (builder) =>
  builder.objectType('SubscriptionChangePreview', {
    description: 'The current cost of a plan change.',
    fields: (t) => ({
      amountDue: t.float({
        description:
          'Charged immediately, taxes included, after the company’s credit balance at the provider is applied. 0 if nothing is charged.',
        resolve: ({ amountDueMinor, currency }) => amountFrom(amountDueMinor, currency),
      }),
      currency: t.exposeString('currency'),
      credits: t.float({
        description: 'The credits of that payment.',
        resolve: ({ creditsMicro }) => creditsAsNumber(creditsMicro),
      }),
    }),
  });

/** One statement for all subscriptions of a response. */
async function loadPlans(ids: string[], { parts }: RequestContext): Promise<(Plan | Error)[]> {
  const found = await findPlans(parts.database, ids);
  const byId = new Map(found.map((plan) => [plan.id, plan]));
  return ids.map((id) => byId.get(id) ?? new Error(`plan ${id} has disappeared`));
}

const subscription: Declaration = (builder) =>
  builder.queryField('subscription', (t) =>
    t.field({
      type: 'PlanSubscription',
      nullable: true,
      description: 'The company’s subscription, including one that has ended. Null if there never was one.',
      authScopes: { member: true },
      async resolve(_root, _args, context) {
        const { companyId } = await member(context);
        return await currentSubscription(context.parts.database, companyId);
      },
    }),
  );

const previewSubscriptionChange: Declaration = (builder) =>
  builder.queryField('previewSubscriptionChange', (t) =>
    t.field({
      type: 'SubscriptionChangePreview',
      description: 'Previews the cost of changing the company’s subscription to this plan. Changes nothing.',
      authScopes: { companyAdmin: true },
      args: { planId: t.arg.id({ required: true }) },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        const planId = idOf('plan', args.planId);
        const previewed = await previewChange(context.parts, { companyId, planId });
        return previewed.outcome === 'previewed' ? previewed : refuseChange(previewed);
      },
    }),
  );

const changeSubscriptionPlan: Declaration = (builder) =>
  builder.mutationField('changeSubscriptionPlan', (t) =>
    t.field({
      type: 'PlanSubscription',
      description:
        'Changes the company’s subscription to this plan at once. The rest of the period is charged or credited; a ' +
        'payment that fails changes nothing.',
      authScopes: { companyAdmin: true },
      args: { planId: t.arg.id({ required: true }) },
      async resolve(_root, args, context) {
        const viewer = await member(context);
        const { companyId } = viewer;
        const planId = idOf('plan', args.planId);
        // As in a checkout: a free plan grants credits without payment, so it requires a verified address.
        if ((await findPlan(context.parts.database, planId))?.priceMinor === 0n) refuseUnverified(viewer);
        const changed = await changePlan(context.parts, { companyId, planId });
        if (changed.outcome !== 'changed') return refuseChange(changed);
        const { id, providerSubscriptionId } = changed.subscription;
        await recordedChange(context, ({ record }) =>
          record({
            action: 'subscription.plan-changed',
            objectKind: 'subscription',
            objectId: id,
            details: { planId, providerSubscriptionId },
          }),
        );
        return changed.subscription;
      },
    }),
  );

type RefusedChange = Exclude<Awaited<ReturnType<typeof previewChange>>, { readonly outcome: 'previewed' }>;

function refuseChange(refused: RefusedChange): never {
  switch (refused.outcome) {
    case 'no-such-plan':
      throw notFound('plan');
    case 'not-possible':
      throw conflict(refused.message);
    case 'provider-failed':
      throw providerFailed(refused.message);
  }
}

/** P-27. */
const deactivateStaleSubscriptions: Declaration = (builder) =>
  builder.mutationField('deactivateStaleSubscriptions', (t) =>
    t.field({
      type: ['PlanSubscription'],
      description: 'Ends subscriptions that are active here and that the payment provider no longer reports.',
      authScopes: { superAdmin: true },
      args: {
        providerSubscriptionIds: t.arg.stringList({
          description: 'Only these. Omitted: all stale ones that are found.',
        }),
        dryRun: t.arg.boolean({
          required: true,
          defaultValue: true,
          description: 'Prints what would be done and changes nothing.',
        }),
      },
      async resolve(_root, { dryRun, ...args }, context) {
        const { database, clock } = context.parts;
        const field = 'providerSubscriptionIds';
        const providerSubscriptionIds = boundedOrNull('providerIds', field, args.providerSubscriptionIds);
        const params = { providerSubscriptionIds, dryRun, now: new Date(clock.now()) };
        if (dryRun) return [...(await deactivateStale(database, params))];
        return await recordedChange(context, async ({ transaction, record, nothingChanged }) => {
          nothingChanged();
          const ended = await deactivateStale(transaction, params);
          for (const { id, companyId, providerSubscriptionId } of ended) {
            const object = { objectKind: 'subscription', objectId: id, companyId };
            await record({
              action: 'subscription.deactivated',
              ...object,
              details: { providerSubscriptionId },
            });
          }
          return [...ended];
        });
      },
    }),
  );

export const subscriptionDeclarations: readonly Declaration[] = [
  planSubscriptionObject,
  changePreviewObject,
  subscription,
  previewSubscriptionChange,
  changeSubscriptionPlan,
  deactivateStaleSubscriptions,
];

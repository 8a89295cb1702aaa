import { findPlans, type Plan } from '../../../domain/catalog/plan.ts';
import {
  currentSubscription,
  deactivateStaleSubscriptions as deactivateStale,
  type Subscription,
  type SubscriptionStatus,
} from '../../../domain/subscriptions/subscription.ts';
import { member } from '../access.ts';
import { boundedOrNull } from '../input.ts';
import { recordedChange } from '../recorded-change.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    PlanSubscription: Subscription;
  }
  interface SchemaScalars {
    SubscriptionStatus: SubscriptionStatus;
  }
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

/** One statement for all subscriptions of an answer. */
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
      description: 'The company’s, one that has ended too; null where there never was one.',
      authScopes: { member: true },
      async resolve(_root, _args, context) {
        const { companyId } = await member(context);
        return await currentSubscription(context.parts.database, companyId);
      },
    }),
  );

/** P-27. */
const deactivateStaleSubscriptions: Declaration = (builder) =>
  builder.mutationField('deactivateStaleSubscriptions', (t) =>
    t.field({
      type: ['PlanSubscription'],
      description:
        'Ends subscriptions that are active here and of which the payment provider tells nothing any more.',
      authScopes: { superAdmin: true },
      args: {
        providerSubscriptionIds: t.arg.stringList({
          description: 'Exactly these; left out, the stale ones that are found.',
        }),
        dryRun: t.arg.boolean({
          required: true,
          defaultValue: true,
          description: 'Only says what would be done.',
        }),
      },
      async resolve(_root, { dryRun, ...args }, context) {
        const { database, clock } = context.parts;
        const field = 'providerSubscriptionIds';
        const providerSubscriptionIds = boundedOrNull('providerIds', field, args.providerSubscriptionIds);
        const wanted = { providerSubscriptionIds, dryRun, now: new Date(clock.now()) };
        if (dryRun) return [...(await deactivateStale(database, wanted))];
        return await recordedChange(context, async ({ transaction, record, nothingChanged }) => {
          nothingChanged();
          const ended = await deactivateStale(transaction, wanted);
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
  subscription,
  deactivateStaleSubscriptions,
];

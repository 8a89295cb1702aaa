import { findPlans, type Plan } from '../../../domain/catalog/plan.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';

export const planSubscriptionObject: Declaration = (builder) => {
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

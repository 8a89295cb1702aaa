import { currentSubscription } from '../../../domain/subscriptions/subscription.ts';
import { member } from '../access.ts';
import type { Declaration } from '../schema-builder.ts';

export const subscription: Declaration = (builder) =>
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

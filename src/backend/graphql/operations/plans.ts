import { listPlans } from '../../../domain/catalog/plan.ts';
import { signedIn } from '../access.ts';
import type { Declaration } from '../schema-builder.ts';

export const plans: Declaration = (builder) =>
  builder.queryField('plans', (t) =>
    t.field({
      type: ['Plan'],
      description: 'The plans that are sold; for a super admin, the others too.',
      authScopes: { signedIn: true },
      async resolve(_root, _args, context) {
        const { isSuperAdmin } = await signedIn(context);
        return [...(await listPlans(context.parts.database, { activeOnly: !isSuperAdmin }))];
      },
    }),
  );

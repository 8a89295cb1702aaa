import { listAlerts } from '../../../domain/credits/list-alerts.ts';
import { member } from '../access.ts';
import type { Declaration } from '../schema-builder.ts';

export const creditAlerts: Declaration = (builder) =>
  builder.queryField('creditAlerts', (t) =>
    t.field({
      type: ['CreditAlert'],
      description:
        'The company’s last hundred alerts, the newest first. Each was mailed to those whom alertSettings names.',
      authScopes: { companyAdmin: true },
      async resolve(_root, _args, context) {
        const { companyId } = await member(context);
        return [...(await listAlerts(context.parts.database, companyId))];
      },
    }),
  );

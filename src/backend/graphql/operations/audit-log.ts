import { listAuditEntries } from '../../../domain/audit/audit-log.ts';
import { signedIn } from '../access.ts';
import { idOf } from '../bounded-input.ts';
import { numberCursor, pageOf, pageWish } from '../paging.ts';
import { notFound } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';

export const auditLog: Declaration = (builder) =>
  builder.queryField('auditLog', (t) =>
    t.field({
      type: 'AuditEntryConnection',
      description: 'Who changed what, the newest first: the company’s own; for a super admin, those of all.',
      authScopes: { companyAdmin: true, superAdmin: true },
      args: {
        first: t.arg.int(),
        after: t.arg.id(),
        companyId: t.arg.id({ description: 'For super admins: of this company only.' }),
      },
      async resolve(_root, args, context) {
        const viewer = await signedIn(context);
        const wanted = args.companyId == null ? null : idOf('company', args.companyId);
        const companyId = viewer.isSuperAdmin ? wanted : viewer.companyId;
        if (!viewer.isSuperAdmin && wanted !== null && wanted !== viewer.companyId) throw notFound('company');
        const { limit, after } = pageWish(args);
        const wish = { limit: limit + 1, after: numberCursor(after) };
        const entries = await listAuditEntries(context.parts.database, companyId, wish);
        return pageOf(entries, limit, ({ id }) => String(id));
      },
    }),
  );

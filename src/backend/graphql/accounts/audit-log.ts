import { type AuditEntry, listAuditEntries } from '../../../domain/audit/audit-log.ts';
import { signedIn } from '../access.ts';
import { notFound } from '../errors.ts';
import { idOf } from '../input.ts';
import { defineConnection, numberCursor, type Page, pageArgs, pageOf } from '../paging.ts';
import type { Declaration } from '../schema-builder.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    AuditEntry: AuditEntry;
    AuditEntryConnection: Page<AuditEntry>;
  }
}

const auditEntryObjects: Declaration = (builder) => {
  builder.objectType('AuditEntry', {
    description: 'A change by a person.',
    fields: (t) => ({
      id: t.id({ resolve: ({ id }) => String(id) }),
      happenedAt: t.expose('happenedAt', { type: 'DateTime' }),
      companyId: t.exposeID('companyId', { nullable: true }),
      actorId: t.exposeID('actorId', { nullable: true }),
      actorEmail: t.exposeString('actorEmail', { nullable: true }),
      action: t.exposeString('action', { description: 'As key.minted.' }),
      objectKind: t.exposeString('objectKind'),
      objectId: t.exposeID('objectId'),
      details: t.expose('details', { type: 'JSON' }),
      clientAddress: t.exposeString('clientAddress'),
      requestId: t.exposeString('requestId'),
    }),
  });
  defineConnection(builder, 'AuditEntry');
};

const auditLog: Declaration = (builder) =>
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
        const { limit, after } = pageArgs(args);
        const page = { limit: limit + 1, after: numberCursor(after) };
        const entries = await listAuditEntries(context.parts.database, companyId, page);
        return pageOf(entries, limit, ({ id }) => String(id));
      },
    }),
  );

export const auditLogDeclarations: readonly Declaration[] = [auditEntryObjects, auditLog];

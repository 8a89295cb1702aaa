import { defineConnection } from '../paging.ts';
import type { Declaration } from '../schema-builder.ts';

export const auditEntryObjects: Declaration = (builder) => {
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

import { type AuditEntry, type AuditLogPage, listAuditEntries } from '../../../domain/audit/audit-log.ts';
import { signedIn } from '../access.ts';
import { badInput, notFound } from '../errors.ts';
import { idOf, searchArg } from '../input.ts';
import { numberCursor, pageArgs } from '../paging.ts';
import type { Declaration } from '../schema-builder.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    AuditEntry: AuditEntry;
    AuditEntryConnection: AuditLogPage;
  }
}

const auditEntryObjects: Declaration = (builder) => {
  builder.objectType('AuditEntry', {
    description: 'A change made by a user.',
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
  builder.objectType('AuditEntryConnection', {
    fields: (t) => ({
      nodes: t.field({ type: ['AuditEntry'], resolve: ({ entries }) => [...entries] }),
      pageInfo: t.field({
        type: 'PageInfo',
        resolve: ({ entries, next }) => ({
          ...{ nodes: entries, hasNextPage: next !== null, endCursor: next === null ? null : String(next) },
        }),
      }),
      searchedUntil: t.expose('searchedUntil', {
        type: 'DateTime',
        nullable: true,
        description:
          'Set where so few entries match that the page is not full: those since then were looked at, and `endCursor` goes ' +
          'on with earlier ones.',
      }),
    }),
  });
};

const auditLog: Declaration = (builder) =>
  builder.queryField('auditLog', (t) =>
    t.field({
      type: 'AuditEntryConnection',
      description: 'The audit log, newest first: that of the company; for super admins, of all companies.',
      authScopes: { companyAdmin: true, superAdmin: true },
      args: {
        first: t.arg.int(),
        after: t.arg.id(),
        companyId: t.arg.id({ description: 'For super admins: only this company.' }),
        search: t.arg.string({
          description:
            'Words that must all be in the person, the action, the address, the ids or the details.',
        }),
        from: t.arg({ type: 'DateTime', description: 'Not before.' }),
        to: t.arg({ type: 'DateTime', description: 'Before.' }),
      },
      async resolve(_root, args, context) {
        const viewer = await signedIn(context);
        const requestedId = args.companyId == null ? null : idOf('company', args.companyId);
        const companyId = viewer.isSuperAdmin ? requestedId : viewer.companyId;
        if (!viewer.isSuperAdmin && requestedId !== null && requestedId !== viewer.companyId)
          throw notFound('company');
        const { limit, after } = pageArgs(args);
        const { from = null, to = null } = args;
        if (from !== null && to !== null && from >= to) throw badInput('to', 'it must lie after from');
        const filter = { companyId, words: searchArg(args.search), from, to };
        return await listAuditEntries(context.parts.database, filter, { limit, after: numberCursor(after) });
      },
    }),
  );

export const auditLogDeclarations: readonly Declaration[] = [auditEntryObjects, auditLog];

import { type HookDelivery, listHookDeliveries } from '../../../domain/call-hooks/hook-deliveries.ts';
import { defineConnection, idCursor, type Page, pageArgs, pageOf } from '../paging.ts';
import type { Declaration } from '../schema-builder.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    CallHookDelivery: HookDelivery;
    CallHookDeliveryConnection: Page<HookDelivery>;
  }
  interface SchemaScalars {
    CallHookDeliveryState: HookDelivery['state'];
  }
}

const hookDeliveryObjects: Declaration = (builder) => {
  builder.enumType('CallHookDeliveryState', { values: ['WAITING', 'DELIVERED', 'FAILED'] as const });
  builder.objectType('CallHookDelivery', {
    description: 'Records of calls in one request to the hook after calls.',
    fields: (t) => ({
      id: t.exposeID('id'),
      calls: t.exposeInt('calls', { description: 'Number of records.' }),
      state: t.expose('state', { type: 'CallHookDeliveryState' }),
      attempts: t.exposeInt('attempts'),
      httpStatus: t.exposeInt('httpStatus', { nullable: true, description: 'Of the last attempt.' }),
      error: t.exposeString('error', { nullable: true, description: 'Why the last attempt failed.' }),
      durationMs: t.exposeInt('durationMs', { nullable: true }),
      createdAt: t.expose('createdAt', { type: 'DateTime' }),
      settledAt: t.expose('settledAt', { type: 'DateTime', nullable: true }),
    }),
  });
  defineConnection(builder, 'CallHookDelivery');
};

const callHookDeliveries: Declaration = (builder) =>
  builder.queryField('callHookDeliveries', (t) =>
    t.field({
      type: 'CallHookDeliveryConnection',
      description: 'The delivery log of the hook after calls, newest first.',
      authScopes: { superAdmin: true },
      args: { first: t.arg.int(), after: t.arg.id() },
      async resolve(_root, args, context) {
        const { limit, after } = pageArgs(args);
        const page = { limit: limit + 1, after: idCursor(after) };
        const rows = await listHookDeliveries(context.parts.database, page);
        return pageOf(rows, limit, ({ id }) => id);
      },
    }),
  );

export const callHookDeclarations: readonly Declaration[] = [hookDeliveryObjects, callHookDeliveries];

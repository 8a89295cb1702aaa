import { defineConnection } from '../paging.ts';
import type { Declaration } from '../schema-builder.ts';

export const memberObjects: Declaration = (builder) => {
  builder.objectType('Member', {
    description: 'One of a company’s people.',
    fields: (t) => ({
      id: t.exposeID('id'),
      email: t.exposeString('email'),
      role: t.expose('role', { type: 'Role' }),
      createdAt: t.expose('createdAt', { type: 'DateTime' }),
    }),
  });
  builder.objectType('Invitation', {
    fields: (t) => ({
      id: t.exposeID('id'),
      email: t.exposeString('email'),
      role: t.expose('role', { type: 'Role' }),
      createdAt: t.expose('createdAt', { type: 'DateTime' }),
      expiresAt: t.expose('expiresAt', { type: 'DateTime' }),
    }),
  });
  defineConnection(builder, 'Member');
  defineConnection(builder, 'Invitation');
};

import type { Declaration } from '../schema-builder.ts';

export const sessionObjects: Declaration = (builder) => {
  builder.objectType('Session', {
    description: 'What a client holds: both tokens are secrets.',
    fields: (t) => ({
      accessToken: t.exposeString('accessToken'),
      refreshToken: t.exposeString('refreshToken', { description: 'Good for one refreshSession.' }),
      expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'The access token’s end.' }),
    }),
  });
  builder.objectType('LiveSession', {
    description: 'A place where somebody is logged in.',
    fields: (t) => ({
      id: t.exposeID('id'),
      clientAddress: t.exposeString('clientAddress'),
      userAgent: t.exposeString('userAgent'),
      createdAt: t.expose('createdAt', { type: 'DateTime' }),
      refreshedAt: t.expose('refreshedAt', { type: 'DateTime' }),
      expiresAt: t.expose('expiresAt', { type: 'DateTime' }),
    }),
  });
};

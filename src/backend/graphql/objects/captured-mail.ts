import { defineConnection } from '../paging.ts';
import type { Declaration } from '../schema-builder.ts';

export const capturedMailObjects: Declaration = (builder) => {
  builder.objectType('CapturedMail', {
    description: 'A mail that was kept instead of sent. It may hold a link that opens an account.',
    fields: (t) => ({
      id: t.exposeID('id'),
      to: t.exposeString('to'),
      subject: t.exposeString('subject'),
      capturedAt: t.expose('capturedAt', { type: 'DateTime' }),
      text: t.string({
        nullable: true,
        description: 'Null once it has made room for newer ones.',
        async resolve({ id }, _args, { parts }) {
          return (await parts.capturedMail?.read(id))?.text ?? null;
        },
      }),
    }),
  });
  defineConnection(builder, 'CapturedMail');
};

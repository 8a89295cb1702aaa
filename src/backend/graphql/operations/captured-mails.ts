import type { CapturedHead } from '../../../ports/mail.ts';
import { defineConnection, type Page, pageArgs, pageOf } from '../paging.ts';
import type { FieldSize } from '../query-cost.ts';
import type { Declaration } from '../schema-builder.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    CapturedMail: CapturedHead;
    CapturedMailConnection: Page<CapturedHead>;
  }
}

const capturedMailObjects: Declaration = (builder) => {
  builder.objectType('CapturedMail', {
    description: 'A mail that was captured instead of sent. It may contain a link that opens an account.',
    fields: (t) => ({
      id: t.exposeID('id'),
      to: t.exposeString('to'),
      subject: t.exposeString('subject'),
      capturedAt: t.expose('capturedAt', { type: 'DateTime' }),
      text: t.string({
        extensions: { maxCharacters: 20_000 } satisfies FieldSize,
        nullable: true,
        description: 'Null once it was removed in favor of newer ones.',
        async resolve({ id }, _args, { parts }) {
          return (await parts.capturedMail?.read(id))?.text ?? null;
        },
      }),
    }),
  });
  defineConnection(builder, 'CapturedMail');
};

const capturedMails: Declaration = (builder) =>
  builder.queryField('capturedMails', (t) =>
    t.field({
      type: 'CapturedMailConnection',
      nullable: true,
      description:
        'Mail that was captured because there is no mail server, the newest first; null where mail is sent.',
      authScopes: { superAdmin: true },
      args: { first: t.arg.int(), after: t.arg.id() },
      async resolve(_root, args, { parts }) {
        const { limit, after } = pageArgs(args);
        if (parts.capturedMail === undefined) return null;
        // The folder lists at most 100 at a time, so a page of 100 cannot tell whether another one follows.
        const heads = await parts.capturedMail.list(limit + 1, after ?? undefined);
        return pageOf(heads, limit, ({ id }) => id);
      },
    }),
  );

export const capturedMailDeclarations: readonly Declaration[] = [capturedMailObjects, capturedMails];

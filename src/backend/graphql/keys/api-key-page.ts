import type { ApiKey } from '../../../domain/keys/api-key.ts';
import { listKeys } from '../../../domain/keys/key-lifecycle.ts';
import { member } from '../access.ts';
import { badInput } from '../errors.ts';
import { idOf, searchArg } from '../input.ts';
import { defineConnection, idCursor, LONGEST_PAGE, type Page, pageArgs, pageOf } from '../paging.ts';
import type { Declaration } from '../schema-builder.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    ApiKeyConnection: Page<ApiKey>;
  }
}

const apiKeyPage: Declaration = (builder) => {
  defineConnection(builder, 'ApiKey');
  builder.queryField('apiKeyPage', (t) =>
    t.field({
      type: 'ApiKeyConnection',
      description: 'The company’s keys, newest first, with pagination.',
      authScopes: { companyAdmin: true },
      args: {
        first: t.arg.int(),
        after: t.arg.id(),
        search: t.arg.string({
          description: 'Words that must all be in the name, or in the beginning and the end that are shown.',
        }),
        status: t.arg({ type: 'ApiKeyStatus' }),
        limited: t.arg.boolean({ description: 'True: those with a monthly spending limit.' }),
        ids: t.arg.idList({ description: 'Only these, at most 100.' }),
      },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        const { database, clock } = context.parts;
        const { limit, after } = pageArgs(args);
        if (args.ids != null && args.ids.length > LONGEST_PAGE) {
          throw badInput('ids', `at most ${LONGEST_PAGE} are allowed`);
        }
        const rows = await listKeys(database, companyId, {
          limit: limit + 1,
          after: idCursor(after) ?? undefined,
          words: searchArg(args.search),
          status: args.status == null ? undefined : { is: args.status, now: new Date(clock.now()) },
          ids: args.ids?.map((id) => idOf('API key', id)),
          isLimited: args.limited === true,
        });
        return pageOf(rows, limit, ({ id }) => id);
      },
    }),
  );
};

export const apiKeyPageDeclarations = [apiKeyPage];

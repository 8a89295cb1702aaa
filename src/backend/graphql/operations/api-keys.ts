import { listKeys } from '../../../domain/keys/list-keys.ts';
import { member } from '../access.ts';
import type { Declaration } from '../schema-builder.ts';

export const apiKeys: Declaration = (builder) =>
  builder.queryField('apiKeys', (t) =>
    t.field({
      type: ['ApiKey'],
      description: 'The company’s keys of every status, the newest first, at most 1,000.',
      authScopes: { companyAdmin: true },
      async resolve(_root, _args, context) {
        const { companyId } = await member(context);
        return [...(await listKeys(context.parts.database, companyId))];
      },
    }),
  );

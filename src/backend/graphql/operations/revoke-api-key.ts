import { revokeKey } from '../../../domain/keys/revoke-key.ts';
import { member } from '../access.ts';
import { idOf } from '../bounded-input.ts';
import { recordedChange } from '../recorded-change.ts';
import { notFound } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';

export const revokeApiKey: Declaration = (builder) =>
  builder.mutationField('revokeApiKey', (t) =>
    t.field({
      type: 'ApiKey',
      description: 'Calls with it answer 401 from now on, within a second everywhere. Again is no error.',
      authScopes: { companyAdmin: true },
      args: { id: t.arg.id({ required: true }) },
      async resolve(_root, args, context) {
        const { clock } = context.parts;
        const { companyId } = await member(context);
        const keyId = idOf('API key', args.id);
        return await recordedChange(context, async ({ database, sharedState, record }) => {
          const revoked = await revokeKey({ database, sharedState, clock }, { companyId, keyId });
          if (revoked.outcome === 'no-such-key') throw notFound('API key');
          const details = { name: revoked.key.name };
          await record({ action: 'key.revoked', objectKind: 'api-key', objectId: keyId, details });
          return revoked.key;
        });
      },
    }),
  );

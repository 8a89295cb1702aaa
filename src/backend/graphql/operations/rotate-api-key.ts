import { rotateKey } from '../../../domain/keys/rotate-key.ts';
import { member } from '../access.ts';
import { idOf } from '../bounded-input.ts';
import { recordedChange } from '../recorded-change.ts';
import { conflict, notFound } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';

/** G-22; G-19: the raw key stands in this answer and nowhere else. */
export const rotateApiKey: Declaration = (builder) =>
  builder.mutationField('rotateApiKey', (t) =>
    t.field({
      type: 'MintedApiKey',
      description: 'A sibling with the same settings; the old key stays live until it is revoked.',
      authScopes: { companyAdmin: true },
      args: { id: t.arg.id({ required: true }) },
      async resolve(_root, args, context) {
        const { clock, secrets } = context.parts;
        const { companyId, id: createdBy } = await member(context);
        const keyId = idOf('API key', args.id);
        return await recordedChange(context, async ({ transaction, record }) => {
          const old = { companyId, keyId, createdBy };
          const rotated = await rotateKey({ database: transaction, secrets, clock }, old);
          if (rotated.outcome === 'no-such-key') throw notFound('API key');
          if (rotated.outcome === 'not-live') {
            throw conflict(`This key is ${rotated.status.toLowerCase()}: mint a new one instead.`);
          }
          const { id, name } = rotated.key;
          const details = { name, rotatedFromId: keyId };
          await record({ action: 'key.rotated', objectKind: 'api-key', objectId: id, details });
          return { rawKey: rotated.rawKey, apiKey: rotated.key };
        });
      },
    }),
  );

import { mintKey } from '../../../domain/keys/mint-key.ts';
import { ALIAS_NAMES, aliasOf } from '../../../domain/models/aliases.ts';
import { member } from '../access.ts';
import { bounded, boundedOrNull } from '../bounded-input.ts';
import { microFrom } from '../credits.ts';
import { keyInputField } from '../key-input-field.ts';
import { recordedChange } from '../recorded-change.ts';
import { badInput, notFound } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';

/** G-19: the raw key stands in this answer and nowhere else. */
export const createApiKey: Declaration = (builder) => {
  const input = builder.inputType('CreateApiKeyInput', {
    fields: (t) => ({
      name: t.string({ required: true }),
      scopes: t.stringList({ description: 'Left out: inference:chat, inference:parse, usage:read.' }),
      models: t.stringList({ description: 'The aliases it may call; left out, all of them.' }),
      requestsPerMinute: t.int(),
      tokensPerMinute: t.int(),
      expiresAt: t.field({ type: 'DateTime' }),
      monthlySpendingLimit: t.float({ description: 'In credits.' }),
      maxCallsInFlight: t.int(),
    }),
  });
  builder.mutationField('createApiKey', (t) =>
    t.field({
      type: 'MintedApiKey',
      authScopes: { companyAdmin: true },
      args: { input: t.arg({ type: input, required: true }) },
      async resolve(_root, { input: wanted }, context) {
        const { clock, secrets, aliasPrefix } = context.parts;
        const { companyId, id: createdBy } = await member(context);
        const spending = wanted.monthlySpendingLimit ?? null;
        const key = {
          ...wanted,
          name: bounded('line', 'input.name', wanted.name),
          scopes: boundedOrNull('words', 'input.scopes', wanted.scopes),
          models: boundedOrNull('words', 'input.models', wanted.models),
          monthlySpendingLimitMicro:
            spending === null ? null : microFrom('input.monthlySpendingLimit', spending),
          knownModels: ALIAS_NAMES.map(({ name }) => aliasOf(aliasPrefix, name)),
          companyId,
          createdBy,
        };
        return await recordedChange(context, async ({ transaction, record }) => {
          const minted = await mintKey({ database: transaction, secrets, clock }, key);
          if (minted.outcome === 'invalid') throw badInput(keyInputField(minted.field), minted.message);
          if (minted.outcome === 'no-such-company') throw notFound('company');
          const { id, name, scopes } = minted.key;
          const details = { name, scopes };
          await record({ action: 'key.minted', objectKind: 'api-key', objectId: id, details });
          return { rawKey: minted.rawKey, apiKey: minted.key };
        });
      },
    }),
  );
};

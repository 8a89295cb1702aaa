import { changeKeyLimits } from '../../../domain/keys/change-key-limits.ts';
import { member } from '../access.ts';
import { idOf } from '../bounded-input.ts';
import { creditsOrNull, microFrom } from '../credits.ts';
import { keyInputField } from '../key-input-field.ts';
import { recordedChange } from '../recorded-change.ts';
import { badInput, conflict, notFound } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';

export const updateApiKeyLimits: Declaration = (builder) => {
  const input = builder.inputType('ApiKeyLimitsInput', {
    description: 'What is left out stays. Null takes away the two that a key need not have.',
    fields: (t) => ({
      requestsPerMinute: t.int(),
      tokensPerMinute: t.int(),
      monthlySpendingLimit: t.float({ description: 'In credits.' }),
      maxCallsInFlight: t.int(),
    }),
  });
  builder.mutationField('updateApiKeyLimits', (t) =>
    t.field({
      type: 'ApiKey',
      description: 'In force within a second everywhere.',
      authScopes: { companyAdmin: true },
      args: { id: t.arg.id({ required: true }), input: t.arg({ type: input, required: true }) },
      async resolve(_root, { id, input: wanted }, context) {
        const { clock } = context.parts;
        const { companyId } = await member(context);
        const keyId = idOf('API key', id);
        const spending = wanted.monthlySpendingLimit;
        const changes = {
          companyId,
          keyId,
          requestsPerMinute: wanted.requestsPerMinute ?? undefined,
          tokensPerMinute: wanted.tokensPerMinute ?? undefined,
          maxCallsInFlight: wanted.maxCallsInFlight,
          monthlySpendingLimitMicro:
            typeof spending === 'number' ? microFrom('input.monthlySpendingLimit', spending) : spending,
        };
        return await recordedChange(context, async ({ transaction, record }) => {
          const changed = await changeKeyLimits(transaction, clock, changes);
          if (changed.outcome === 'no-such-key') throw notFound('API key');
          if (changed.outcome === 'not-live') throw conflict('This key is revoked or expired.');
          if (changed.outcome === 'invalid') throw badInput(keyInputField(changed.field), changed.message);
          const { name, requestsPerMinute, tokensPerMinute, maxCallsInFlight } = changed.key;
          const monthlySpendingLimit = creditsOrNull(changed.key.monthlySpendingLimitMicro);
          const limits = { requestsPerMinute, tokensPerMinute, maxCallsInFlight, monthlySpendingLimit };
          const object = { objectKind: 'api-key', objectId: keyId };
          await record({ action: 'key.limits-changed', ...object, details: { name, ...limits } });
          return changed.key;
        });
      },
    }),
  );
};

import { clearCachedAnswers } from '../../../domain/answer-cache/answer-cache.ts';
import { member } from '../access.ts';
import { recordedChange } from '../recorded-change.ts';
import type { Declaration } from '../schema-builder.ts';

const clearCache: Declaration = (builder) =>
  builder.mutationField('clearCache', (t) =>
    t.int({
      description: 'Removes all cached responses of the company. Returns the number removed.',
      authScopes: { companyAdmin: true },
      async resolve(_root, _args, context) {
        const { companyId } = await member(context);
        return await recordedChange(context, async ({ transaction, record }) => {
          const removed = await clearCachedAnswers(transaction, companyId);
          const details = { removed };
          await record({ action: 'cache.cleared', objectKind: 'company', objectId: companyId, details });
          return removed;
        });
      },
    }),
  );

export const answerCacheDeclarations: readonly Declaration[] = [clearCache];

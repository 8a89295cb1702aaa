import { findCompany } from '../../../domain/accounts/company.ts';
import { findTransactionOf } from '../../../domain/credits/find-transaction.ts';
import { postTransaction } from '../../../domain/credits/post-transaction.ts';
import { publishLevel } from '../../../domain/credits/publish-level.ts';
import { bounded, idOf } from '../bounded-input.ts';
import { creditsFrom, microFrom } from '../credits.ts';
import { recordedChange } from '../recorded-change.ts';
import { badInput, conflict, notFound } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';

const SOURCE_KIND = 'adjustment';
const LONGEST_REASON = 500;

/** Who does not know whether it worked sends it again with the same key: it is done once. */
export const adjustCredits: Declaration = (builder) =>
  builder.mutationField('adjustCredits', (t) =>
    t.field({
      type: 'CreditTransaction',
      description: 'Gives a company credits, or takes them; once for an idempotency key.',
      authScopes: { superAdmin: true },
      args: {
        companyId: t.arg.id({ required: true }),
        credits: t.arg.float({ required: true, description: 'Below zero they are taken.' }),
        reason: t.arg.string({ required: true }),
        idempotencyKey: t.arg.string({ required: true }),
      },
      async resolve(_root, args, context) {
        const { sharedState, log } = context.parts;
        const accountId = idOf('company', args.companyId);
        const amountMicro = microFrom('credits', args.credits);
        const reason = bounded('paragraph', 'reason', args.reason);
        if (reason.length > LONGEST_REASON) throw badInput('reason', `at most ${LONGEST_REASON} characters`);
        const sourceId = bounded('line', 'idempotencyKey', args.idempotencyKey);
        const source = { sourceKind: SOURCE_KIND, sourceId };
        const posting = {
          accountId,
          type: 'ADJUSTMENT',
          amountMicro,
          contra: 'adjustments',
          ...source,
          reason,
        } as const;
        const { level, transaction } = await recordedChange(context, async (change) => {
          if ((await findCompany(change.transaction, accountId)) === null) throw notFound('company');
          const posted = await postTransaction(change.transaction, posting);
          switch (posted.outcome) {
            case 'no-account':
              throw notFound('company');
            case 'wrong-amount':
              throw badInput('credits', posted.problem);
            case 'already-posted': {
              const { accountId: before, amountMicro: amount } = posted.posted;
              if (before !== accountId || amount !== amountMicro) {
                throw conflict('This idempotency key was used for another adjustment: use a new one.');
              }
              change.nothingChanged();
              break;
            }
            case 'posted': {
              const details = { credits: creditsFrom(amountMicro), reason };
              const object = { objectKind: 'company', objectId: accountId, companyId: accountId };
              await change.record({ action: 'credits.adjusted', ...object, details });
            }
          }
          const transaction = await findTransactionOf(change.transaction, source);
          if (transaction === null) throw new Error('a posted transaction is not there');
          return { level: posted.level, transaction };
        });
        await publishLevel(sharedState, level, log);
        return transaction;
      },
    }),
  );

import {
  isFirstAdmin,
  mailVerification,
  markVerified,
  takeVerification,
} from '../../../domain/accounts/email-verification.ts';
import type { User } from '../../../domain/accounts/user.ts';
import { type AccountLevel, publishLevel } from '../../../domain/credits/ledger/credit-account.ts';
import { postTransaction } from '../../../domain/credits/ledger/ledger.ts';
import { countAttempt, signedIn } from '../access.ts';
import { refusal } from '../errors.ts';
import { bounded } from '../input.ts';
import { type Change, recordedChange } from '../recorded-change.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';

const verifyEmail: Declaration = (builder) =>
  builder.mutationField('verifyEmail', (t) =>
    t.boolean({
      description:
        'Verifies the caller’s e-mail address with the token of the sign-up e-mail. The token can be used once.',
      authScopes: { anyone: true },
      args: { token: t.arg.string({ required: true }) },
      async resolve(_root, args, context) {
        const token = bounded('secret', 'token', args.token);
        await countAttempt(context, 'token');
        const { level } = await recordedChange(context, async (change) => {
          const user = await takeVerification(context.parts, change.transaction, token);
          if (user === null) {
            throw refusal('NOT_FOUND', 'This link was used or has expired. Log in and request a new one.');
          }
          change.nothingChanged();
          return await recordVerified(context, change, user);
        });
        await publishGrant(context, level);
        return true;
      },
    }),
  );

const resendVerification: Declaration = (builder) =>
  builder.mutationField('resendVerification', (t) =>
    t.boolean({
      description: 'Sends a new verification link to the caller’s address unless it is already verified.',
      authScopes: { signedIn: true },
      async resolve(_root, _args, context) {
        const viewer = await signedIn(context);
        await countAttempt(context, 'verification', viewer.id);
        await recordedChange(context, async ({ transaction, record, nothingChanged }) => {
          if (viewer.emailVerified) return nothingChanged();
          await mailVerification(context.parts, transaction, viewer);
          await record({ action: 'email.verification-requested', objectKind: 'user', objectId: viewer.id });
        });
        return true;
      },
    }),
  );

interface Verified {
  /** The level of the company's account after the grant; null if nothing was granted. */
  readonly level: AccountLevel | null;
}

/**
 * Marks an address as verified, in the transaction that proved it. The first admin of a company also brings the trial
 * credits; they are granted once, because the ledger posts each source once.
 */
export async function recordVerified(
  context: RequestContext,
  { transaction, record }: Change,
  user: User,
): Promise<Verified> {
  const { clock, trialCredits } = context.parts;
  if (!(await markVerified(transaction, user.id, new Date(clock.now())))) return { level: null };
  const { companyId } = user;
  await record({ action: 'email.verified', objectKind: 'user', objectId: user.id, companyId, actor: user });
  if (trialCredits === 0 || companyId === null || !(await isFirstAdmin(transaction, user)))
    return { level: null };
  const posted = await postTransaction(transaction, {
    accountId: companyId,
    type: 'SUBSCRIPTION_GRANT',
    amountMicro: BigInt(trialCredits) * 1_000_000n,
    contra: 'grants',
    sourceKind: 'trial',
    sourceId: companyId,
    reason: 'trial credits',
  });
  if (posted.outcome !== 'posted') return { level: null };
  const object = { objectKind: 'company', objectId: companyId, companyId };
  await record({
    action: 'credits.trial-granted',
    ...object,
    actor: user,
    details: { credits: trialCredits },
  });
  return { level: posted.level };
}

/** After the commit, so that gateways may spend it. */
export async function publishGrant(context: RequestContext, level: AccountLevel | null): Promise<void> {
  if (level !== null) await publishLevel(context.parts.sharedState, level, context.log);
}

/** Users whose address is not verified send no mail to others. */
export function refuseUnverified({ emailVerified }: { readonly emailVerified: boolean }): void {
  if (emailVerified) return;
  const message =
    'Verify your e-mail address first: open the link that was mailed to you, or call resendVerification.';
  throw refusal('FORBIDDEN', message, { reason: 'EMAIL_NOT_VERIFIED' });
}

export const emailVerificationDeclarations: readonly Declaration[] = [verifyEmail, resendVerification];

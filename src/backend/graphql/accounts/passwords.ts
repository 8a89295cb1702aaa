import { passwordProblem } from '../../../domain/accounts/password-strength.ts';
import {
  requestPasswordReset as mailPasswordReset,
  setPassword,
  resetPassword as setPasswordByToken,
} from '../../../domain/accounts/passwords.ts';
import { removeTotp } from '../../../domain/accounts/two-factor.ts';
import { authenticate, findUserByEmail, type User } from '../../../domain/accounts/user.ts';
import { countAttempt, signedIn } from '../access.ts';
import { badInput, rateLimited, refusal } from '../errors.ts';
import { bounded } from '../input.ts';
import { recordedChange } from '../recorded-change.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';
import { publishGrant, recordVerified } from './email-verification.ts';
import { startRecordedSession } from './sessions.ts';
import { readCode, secondFactor } from './two-factor.ts';

const WRONG_PASSWORD = 'this is not the password';

const changePassword: Declaration = (builder) =>
  builder.mutationField('changePassword', (t) =>
    t.field({
      type: 'Session',
      description: 'Ends all sessions of the caller and returns a new one.',
      authScopes: { signedIn: true },
      args: {
        currentPassword: t.arg.string({ required: true }),
        newPassword: t.arg.string({ required: true }),
      },
      async resolve(_root, args, context) {
        const { database, secrets, clock } = context.parts;
        const viewer = await signedIn(context);
        const current = bounded('secret', 'currentPassword', args.currentPassword);
        const password = newPassword('newPassword', args.newPassword, viewer.email);
        // Counted as a log-in: a stolen access token must not be a way to guess the password.
        await countAttempt(context, 'log-in', viewer.id);
        const user = await authenticate(database, secrets, viewer.email, current);
        if (user === null) throw badInput('currentPassword', WRONG_PASSWORD);
        const hash = await secrets.hashPassword(password);
        return await recordedChange(context, async (change) => {
          const isCurrent = await user.lockPassword(change.transaction);
          if (!isCurrent) throw badInput('currentPassword', WRONG_PASSWORD);
          await setPassword(change.transaction, viewer.id, hash, new Date(clock.now()));
          await change.record({ action: 'password.changed', objectKind: 'user', objectId: viewer.id });
          return await startRecordedSession(context, change, viewer);
        });
      },
    }),
  );

const requestPasswordReset: Declaration = (builder) =>
  builder.mutationField('requestPasswordReset', (t) =>
    t.boolean({
      description: 'Mails a reset link if an account has this address. Always returns true.',
      authScopes: { anyone: true },
      args: { email: t.arg.string({ required: true }) },
      async resolve(_root, args, context) {
        const email = bounded('email', 'email', args.email);
        const counted = await context.parts.attempts.count('reset', context.clientAddress, email);
        if (counted.outcome === 'refused') {
          // Says nothing when the mailbox has had enough mails: another answer would reveal who has an account.
          if (counted.by === 'account') return true;
          throw rateLimited(counted.retryAfterMs);
        }
        const user = await findUserByEmail(context.parts.database, email);
        // Not awaited: the response time must not reveal who has an account. If the process stops first, the user
        // requests another mail.
        if (user !== null) void mailReset(context, user);
        return true;
      },
    }),
  );

const resetPassword: Declaration = (builder) =>
  builder.mutationField('resetPassword', (t) =>
    t.field({
      type: 'Session',
      description: 'Sets a new password with the token of a mail, once. All other sessions end.',
      authScopes: { anyone: true },
      args: {
        token: t.arg.string({ required: true }),
        password: t.arg.string({ required: true }),
        totp: t.arg.string({
          description:
            'A two-factor code or a recovery code, if the user has set up two-factor authentication.',
        }),
      },
      async resolve(_root, args, context) {
        const token = bounded('secret', 'token', args.token);
        const totp = readCode(args.totp);
        await countAttempt(context, 'token');
        const passwordHash = await hashNewPassword(context, 'password', args.password);
        const { level, session } = await recordedChange(context, async (change) => {
          const user = await setPasswordByToken(context.parts, change.transaction, { token, passwordHash });
          if (user === null) {
            throw refusal('NOT_FOUND', 'This link was used or has expired. Request a new one.');
          }
          newPassword('password', args.password, user.email);
          // Two-factor authentication was set up by a person who only typed this address. Its owner could never enter a
          // code.
          const isRemoved = !user.emailVerified && (await removeTotp(change.transaction, user.id));
          const factor = await secondFactor(context, change.transaction, user.id, totp);
          await factor.spend(change.transaction);
          const object = { objectKind: 'user', objectId: user.id, companyId: user.companyId };
          const details = isRemoved ? { totp: 'removed' } : {};
          await change.record({ action: 'password.reset', ...object, actor: user, details });
          // The link was sent by mail, so the address is verified.
          const verified = await recordVerified(context, change, user);
          return { ...verified, session: await startRecordedSession(context, change, user) };
        });
        await publishGrant(context, level);
        return session;
      },
    }),
  );

async function mailReset(context: RequestContext, user: User): Promise<void> {
  try {
    await recordedChange(context, async ({ transaction, record }) => {
      await mailPasswordReset(context.parts, transaction, user);
      const object = { objectKind: 'user', objectId: user.id, companyId: user.companyId };
      await record({ action: 'password.reset-requested', ...object });
    });
  } catch (error) {
    context.log.error('a password reset could not be mailed', { userId: user.id, error });
  }
}

/** Reads a new password; BAD_USER_INPUT if it is easy to guess. The address is null while it is not known. */
export function newPassword(field: string, value: unknown, email: string | null): string {
  const password = bounded('secret', field, value);
  const complaint = passwordProblem(password, email);
  if (complaint !== null) throw badInput(field, complaint);
  return password;
}

/** Hashes before any transaction begins: it takes tens of milliseconds. */
export async function hashNewPassword(
  context: RequestContext,
  field: string,
  value: unknown,
): Promise<string> {
  return await context.parts.secrets.hashPassword(newPassword(field, value, null));
}

export const passwordDeclarations: readonly Declaration[] = [
  changePassword,
  requestPasswordReset,
  resetPassword,
];

import { isRecentLogin, resetSessions } from '../../../domain/accounts/sessions.ts';
import {
  beginTotp as beginSecret,
  confirmTotp as confirmSecret,
  generateRecoveryCodes,
  hasTotp,
  rememberStepUp,
  removeTotp,
  spendCode,
} from '../../../domain/accounts/two-factor.ts';
import {
  type AuthenticatedUser,
  authenticate,
  findUser,
  findUserByEmail,
  type SignedInUser,
  type User,
} from '../../../domain/accounts/user.ts';
import type { Statements, Transaction } from '../../../ports/database.ts';
import { countAttempt, freshCode, signedIn, stepUpGrant } from '../access.ts';
import { badInput, conflict, notFound, refusal } from '../errors.ts';
import { bounded, boundedOrNull, idOf } from '../input.ts';
import { recordedChange } from '../recorded-change.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    BegunTotp: { readonly secret: string; readonly otpauthUrl: string };
    RecoveryCodes: { readonly recoveryCodes: readonly string[] };
  }
}

const NOT_SET_UP = 'Two-factor authentication is not set up: call beginTotp and confirmTotp first.';
const WRONG_PASSWORD = 'this is not the password';
const WRONG_CODE = 'this code is wrong, too old or already used';

const twoFactorObjects: Declaration = (builder) => {
  builder.objectType('BegunTotp', {
    description: 'Values for an authenticator app. Both are secret.',
    fields: (t) => ({
      secret: t.exposeString('secret', { description: 'In base32, for manual entry in the app.' }),
      otpauthUrl: t.exposeString('otpauthUrl', { description: 'The same as a URI for a QR code.' }),
    }),
  });
  builder.objectType('RecoveryCodes', {
    description: 'Each can be used once instead of a code. They are shown once and stored as hashes.',
    fields: (t) => ({
      recoveryCodes: t.stringList({ resolve: ({ recoveryCodes }) => [...recoveryCodes] }),
    }),
  });
};

const beginTotp: Declaration = (builder) =>
  builder.mutationField('beginTotp', (t) =>
    t.field({
      type: 'BegunTotp',
      description:
        'Generates a new secret for the caller’s authenticator app. It takes effect after confirmTotp.',
      authScopes: { signedIn: true },
      async resolve(_root, _args, context) {
        const viewer = await signedIn(context);
        return await recordedChange(context, async ({ transaction, record }) => {
          const begun = await beginSecret(context.parts, transaction, viewer);
          if (begun === null) {
            throw conflict('Two-factor authentication is set up already: call disableTotp first.');
          }
          await record({ action: 'totp.begun', objectKind: 'user', objectId: viewer.id });
          return begun;
        });
      },
    }),
  );

const confirmTotp: Declaration = (builder) =>
  builder.mutationField('confirmTotp', (t) =>
    t.field({
      type: 'RecoveryCodes',
      description:
        'Enables two-factor authentication with a first code of the app. Returns the recovery codes, once.',
      authScopes: { signedIn: true },
      args: {
        code: t.arg.string({ required: true }),
        password: t.arg.string({
          description: 'Required where the caller logged in more than 15 minutes ago.',
        }),
      },
      async resolve(_root, args, context) {
        const viewer = await signedIn(context);
        const { id } = viewer;
        const code = bounded('line', 'code', args.code);
        const owner = await recentOwner(context, viewer, args.password);
        await countAttempt(context, 'totp', id);
        const recoveryCodes = await recordedChange(context, async ({ transaction, record }) => {
          if (owner !== null && !(await owner.lockPassword(transaction)))
            throw badInput('password', WRONG_PASSWORD);
          const confirmed = await confirmSecret(context.parts, transaction, id, code);
          if (confirmed.outcome === 'wrong-code') throw badInput('code', WRONG_CODE);
          if (confirmed.outcome === 'nothing-to-confirm') {
            throw conflict('There is nothing to confirm: call beginTotp first.');
          }
          await record({ action: 'totp.enabled', objectKind: 'user', objectId: id });
          return confirmed.recoveryCodes;
        });
        await context.parts.attempts.forgive('totp', id);
        if (owner !== null) await context.parts.attempts.forgive('log-in', id);
        return { recoveryCodes };
      },
    }),
  );

/**
 * The user of the given password; null where a recent log-in is enough. Who has a stolen session, but not the password,
 * cannot lock its owner out with a device of their own. Tokens without a session are signed by the operator and pass.
 */
async function recentOwner(
  context: RequestContext,
  { id, email }: SignedInUser,
  given: string | null | undefined,
): Promise<AuthenticatedUser | null> {
  const { database, secrets, clock } = context.parts;
  const sessionId = context.sessionId();
  if (given == null || given === '') {
    if (sessionId === null || (await isRecentLogin(database, sessionId, new Date(clock.now())))) return null;
    throw badInput('password', 'you logged in a while ago: repeat this with your password, or log in again');
  }
  const password = bounded('secret', 'password', given);
  // Counted as a log-in: a stolen access token must not be a way to guess the password.
  await countAttempt(context, 'log-in', id);
  const user = await authenticate(database, secrets, email, password);
  if (user === null) throw badInput('password', WRONG_PASSWORD);
  return user;
}

const createRecoveryCodes: Declaration = (builder) =>
  builder.mutationField('createRecoveryCodes', (t) =>
    t.field({
      type: 'RecoveryCodes',
      description: 'Generates a new set of recovery codes. The previous set becomes invalid.',
      authScopes: { signedIn: true },
      args: { totp: t.arg.string({ required: true }) },
      async resolve(_root, args, context) {
        const { id } = await signedIn(context);
        const code = bounded('line', 'totp', args.totp);
        const recoveryCodes = await withCode(context, { id, code }, async ({ transaction, record }) => {
          const codes = await generateRecoveryCodes(context.parts, transaction, id);
          await record({ action: 'totp.recovery-codes-drawn', objectKind: 'user', objectId: id });
          return codes;
        });
        return { recoveryCodes };
      },
    }),
  );

const disableTotp: Declaration = (builder) =>
  builder.mutationField('disableTotp', (t) =>
    t.boolean({
      description: 'Disables two-factor authentication. Requires the password and a code or recovery code.',
      authScopes: { signedIn: true },
      args: { password: t.arg.string({ required: true }), totp: t.arg.string({ required: true }) },
      async resolve(_root, args, context) {
        const { database, secrets, attempts } = context.parts;
        const { id, email } = await signedIn(context);
        const password = bounded('secret', 'password', args.password);
        const code = bounded('line', 'totp', args.totp);
        // Counted as a log-in: a stolen access token must not be a way to guess the password.
        await countAttempt(context, 'log-in', id);
        if ((await authenticate(database, secrets, email, password)) === null) {
          throw badInput('password', WRONG_PASSWORD);
        }
        await withCode(context, { id, code }, async ({ transaction, record }) => {
          await removeTotp(transaction, id);
          await record({ action: 'totp.disabled', objectKind: 'user', objectId: id });
        });
        await attempts.forgive('log-in', id);
        return true;
      },
    }),
  );

const stepUp: Declaration = (builder) =>
  builder.mutationField('stepUp', (t) =>
    t.boolean({
      description:
        'Verifies a two-factor code or a recovery code. Operations that return STEP_UP_REQUIRED are then allowed for ten minutes in this session.',
      authScopes: { signedIn: true },
      args: { totp: t.arg.string({ required: true }) },
      async resolve(_root, args, context) {
        const viewer = await signedIn(context);
        const { id } = viewer;
        const code = bounded('line', 'totp', args.totp);
        await withCode(context, { id, code }, async ({ transaction, record }) => {
          await rememberStepUp(context.parts, transaction, stepUpGrant(context, viewer));
          await record({ action: 'session.stepped-up', objectKind: 'user', objectId: id });
        });
        return true;
      },
    }),
  );

const resetTotp: Declaration = (builder) =>
  builder.mutationField('resetTotp', (t) =>
    t.boolean({
      description:
        'Disables two-factor authentication of a user who has lost the device and the recovery codes, and ends their sessions.',
      authScopes: { superAdmin: true },
      args: {
        userId: t.arg.id(),
        email: t.arg.string({ description: 'Instead of userId.' }),
      },
      async resolve(_root, args, context) {
        await freshCode(context);
        const now = new Date(context.parts.clock.now());
        await recordedChange(context, async ({ transaction, record }) => {
          const user = await namedUser(transaction, args);
          if (user === null) throw notFound('user');
          const userId = user.id;
          // First the user's row, as a log-in does.
          await resetSessions(transaction, userId, now);
          if (!(await removeTotp(transaction, userId))) {
            throw conflict('This person has not set up two-factor authentication.');
          }
          const object = { objectKind: 'user', objectId: userId, companyId: user.companyId };
          await record({ action: 'totp.reset', ...object, details: { email: user.email } });
        });
        return true;
      },
    }),
  );

async function namedUser(
  statements: Statements,
  {
    userId,
    email,
  }: { readonly userId?: string | null | undefined; readonly email?: string | null | undefined },
): Promise<User | null> {
  if (userId != null) return await findUser(statements, idOf('user', userId));
  return await findUserByEmail(statements, bounded('email', 'email', email));
}

type Change = Parameters<Parameters<typeof recordedChange>[1]>[0];

/** Runs `work` in the transaction that uses up the caller's code, or refuses. Attempts are counted per user. */
async function withCode<T>(
  context: RequestContext,
  { id, code }: { readonly id: string; readonly code: string },
  work: (change: Change) => Promise<T>,
): Promise<T> {
  const { parts } = context;
  if (!(await hasTotp(parts.database, id))) throw conflict(NOT_SET_UP);
  await countAttempt(context, 'totp', id);
  const result = await recordedChange(context, async (change) => {
    if ((await spendCode(parts, change.transaction, id, code)) === null) throw badInput('totp', WRONG_CODE);
    return await work(change);
  });
  await parts.attempts.forgive('totp', id);
  return result;
}

/** The optional code of a sign-in. An empty form field counts as none. */
export function readCode(value: string | null | undefined): string | null {
  return value === '' ? null : boundedOrNull('line', 'totp', value);
}

/**
 * The second factor of a sign-in, in two steps. Before the transaction: whether a code is required and given
 * (TOTP_REQUIRED otherwise); attempts are counted per user. Within the transaction: the code is used up.
 */
export async function secondFactor(
  context: RequestContext,
  statements: Statements,
  userId: string,
  code: string | null,
): Promise<{ spend(transaction: Transaction): Promise<void> }> {
  if (!(await hasTotp(statements, userId))) return { async spend() {} };
  if (code === null) {
    throw refusal('TOTP_REQUIRED', 'Repeat this with a two-factor code, or a recovery code, as totp.');
  }
  await countAttempt(context, 'totp', userId);
  return {
    async spend(transaction) {
      if ((await spendCode(context.parts, transaction, userId, code)) !== null) return;
      context.log.info('a two-factor code was refused', { userId, clientAddress: context.clientAddress });
      throw refusal('UNAUTHENTICATED', `totp: ${WRONG_CODE}`, { field: 'totp' });
    },
  };
}

export const twoFactorDeclarations: readonly Declaration[] = [
  twoFactorObjects,
  beginTotp,
  confirmTotp,
  createRecoveryCodes,
  disableTotp,
  stepUp,
  resetTotp,
];

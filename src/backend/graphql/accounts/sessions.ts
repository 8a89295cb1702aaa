import type { GraphQLError } from 'graphql';
import {
  endSession as endOwnSession,
  endSessionByToken,
  type LiveSession,
  listSessions,
  refreshSession as refreshTokens,
  resetSessions,
  type SessionTokens,
  startSession,
} from '../../../domain/accounts/sessions.ts';
import { countRecoveryCodes } from '../../../domain/accounts/two-factor.ts';
import {
  authenticate,
  findUserByEmail,
  type Role,
  type SignedInUser,
} from '../../../domain/accounts/user.ts';
import { countAttempt, signedIn } from '../access.ts';
import { notFound, refusal } from '../errors.ts';
import { bounded, idOf } from '../input.ts';
import type { FieldSize } from '../query-cost.ts';
import { type Change, recordedChange } from '../recorded-change.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';
import { readCode, secondFactor } from './two-factor.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    WhoAmI: SignedInUser;
    Session: SessionTokens;
    LiveSession: LiveSession;
  }
  interface SchemaScalars {
    Role: Role;
  }
}

const whoAmIObject: Declaration = (builder) => {
  builder.enumType('Role', {
    values: {
      MEMBER: { description: 'Uses the company’s resources.' },
      COMPANY_ADMIN: { description: 'Also manages members, keys and billing.' },
    },
  });
  builder.objectType('WhoAmI', {
    description: 'The user of the access token.',
    fields: (t) => ({
      id: t.exposeID('id'),
      email: t.exposeString('email'),
      isSuperAdmin: t.exposeBoolean('isSuperAdmin'),
      role: t.expose('role', { type: 'Role' }),
      companyId: t.exposeID('companyId', { nullable: true }),
      emailVerified: t.exposeBoolean('emailVerified'),
      totpEnabled: t.exposeBoolean('hasTotp', {
        description: 'Whether two-factor authentication is set up.',
      }),
      mustSetUpTotp: t.exposeBoolean('mustSetUpTotp', {
        description:
          'A super admin without super admin permissions until two-factor authentication is set up.',
      }),
      recoveryCodesLeft: t.int({
        resolve: async ({ id }, _args, { parts }) => await countRecoveryCodes(parts.database, id),
      }),
    }),
  });
};

const sessionObjects: Declaration = (builder) => {
  builder.objectType('Session', {
    description: 'The tokens of a client. Both are secret.',
    fields: (t) => ({
      accessToken: t.exposeString('accessToken'),
      refreshToken: t.exposeString('refreshToken', { description: 'Valid for one refreshSession.' }),
      expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'When the access token expires.' }),
    }),
  });
  builder.objectType('LiveSession', {
    description: 'A signed-in browser or client of a user.',
    fields: (t) => ({
      id: t.exposeID('id'),
      clientAddress: t.exposeString('clientAddress'),
      userAgent: t.exposeString('userAgent'),
      createdAt: t.expose('createdAt', { type: 'DateTime' }),
      refreshedAt: t.expose('refreshedAt', { type: 'DateTime' }),
      expiresAt: t.expose('expiresAt', { type: 'DateTime' }),
      isCurrent: t.boolean({
        description: 'Whether it is the session of this request.',
        resolve: ({ id }, _args, context) => id === context.sessionId(),
      }),
    }),
  });
};

const whoAmI: Declaration = (builder) =>
  builder.queryField('whoAmI', (t) =>
    t.field({
      type: 'WhoAmI',
      authScopes: { signedIn: true },
      resolve: (_root, _args, context) => signedIn(context),
    }),
  );

const sessions: Declaration = (builder) =>
  builder.queryField('sessions', (t) =>
    t.field({
      extensions: { maxRows: 100 } satisfies FieldSize,
      type: ['LiveSession'],
      description: 'The caller’s sessions, newest first.',
      authScopes: { signedIn: true },
      async resolve(_root, _args, context) {
        const { id } = await signedIn(context);
        const { database, clock } = context.parts;
        return [...(await listSessions(database, id, new Date(clock.now())))];
      },
    }),
  );

/** P-8. An unknown address and a wrong password get the same response, after the same time. */
const login: Declaration = (builder) =>
  builder.mutationField('login', (t) =>
    t.field({
      type: 'Session',
      authScopes: { anyone: true },
      description: 'Returns TOTP_REQUIRED if the user has two-factor authentication and no code is given.',
      args: {
        email: t.arg.string({ required: true }),
        password: t.arg.string({ required: true }),
        totp: t.arg.string({ description: 'A two-factor code, or a recovery code.' }),
      },
      async resolve(_root, args, context) {
        const { database, secrets, attempts } = context.parts;
        const email = bounded('email', 'email', args.email);
        const password = bounded('secret', 'password', args.password);
        const totp = readCode(args.totp);
        // Counted by account, so that other spellings of the address do not bypass the limit.
        const account = (await findUserByEmail(database, email))?.id ?? email;
        await countAttempt(context, 'log-in', account);
        const user = await authenticate(database, secrets, email, password);
        if (user === null) throw wrongPassword(context);
        const factor = await secondFactor(context, database, user.id, totp);
        const session = await recordedChange(context, async (change) => {
          if (!(await user.lockPassword(change.transaction))) throw wrongPassword(context);
          await factor.spend(change.transaction);
          return await startRecordedSession(context, change, user);
        });
        for (const kind of ['log-in', 'totp'] as const) await attempts.forgive(kind, user.id);
        return session;
      },
    }),
  );

function wrongPassword({ log, clientAddress }: RequestContext): GraphQLError {
  log.info('a log-in was refused', { clientAddress });
  return refusal('UNAUTHENTICATED', 'The e-mail address or the password is wrong.');
}

const refreshSession: Declaration = (builder) =>
  builder.mutationField('refreshSession', (t) =>
    t.field({
      type: 'Session',
      description:
        'Exchanges a refresh token for new tokens. A refresh token can be used once; reusing it ends the session.',
      authScopes: { anyone: true },
      args: { refreshToken: t.arg.string({ required: true }) },
      async resolve(_root, args, context) {
        const token = bounded('secret', 'refreshToken', args.refreshToken);
        const refreshed = await context.parts.database.transaction(
          async (transaction) => await refreshTokens(context.parts, transaction, token),
        );
        if (refreshed.outcome === 'refreshed') return refreshed.tokens;
        if (refreshed.outcome === 'reused') {
          const { clientAddress } = context;
          context.log.warn('a spent refresh token came back: its session is ended', {
            userId: refreshed.userId,
            clientAddress,
          });
        }
        throw refusal('UNAUTHENTICATED', 'This session has ended. Log in again.');
      },
    }),
  );

const logout: Declaration = (builder) =>
  builder.mutationField('logout', (t) =>
    t.boolean({
      description:
        'Ends the session of the refresh token and its access tokens immediately. Repeating it is not an error.',
      authScopes: { anyone: true },
      args: { refreshToken: t.arg.string({ required: true }) },
      async resolve(_root, args, context) {
        const { secrets, clock } = context.parts;
        const token = bounded('secret', 'refreshToken', args.refreshToken);
        const now = new Date(clock.now());
        await recordedChange(context, async ({ transaction, record, nothingChanged }: Change) => {
          const ended = await endSessionByToken(transaction, secrets, token, now);
          if (ended === null) return nothingChanged();
          const actor = { id: ended.userId, email: ended.email };
          const object = { objectKind: 'session', objectId: ended.id, companyId: ended.companyId };
          await record({ action: 'session.ended', ...object, actor });
        });
        return true;
      },
    }),
  );

const endSession: Declaration = (builder) =>
  builder.mutationField('endSession', (t) =>
    t.boolean({
      description: 'Ends one of the caller’s sessions.',
      authScopes: { signedIn: true },
      args: { id: t.arg.id({ required: true }) },
      async resolve(_root, args, context) {
        const { id: userId } = await signedIn(context);
        const sessionId = idOf('session', args.id);
        const now = new Date(context.parts.clock.now());
        await recordedChange(context, async ({ transaction, record }) => {
          if (!(await endOwnSession(transaction, { userId, sessionId, now }))) throw notFound('session');
          await record({ action: 'session.ended', objectKind: 'session', objectId: sessionId });
        });
        return true;
      },
    }),
  );

const endAllSessions: Declaration = (builder) =>
  builder.mutationField('endAllSessions', (t) =>
    t.int({
      description:
        'Ends all sessions and access tokens of the caller, including the current one. Returns the number of sessions.',
      authScopes: { signedIn: true },
      async resolve(_root, _args, context) {
        const { id } = await signedIn(context);
        const now = new Date(context.parts.clock.now());
        return await recordedChange(context, async ({ transaction, record }) => {
          const ended = await resetSessions(transaction, id, now);
          const details = { ended };
          await record({ action: 'sessions.reset', objectKind: 'user', objectId: id, details });
          return ended;
        });
      },
    }),
  );

interface SessionOwner {
  readonly id: string;
  readonly email: string;
  readonly companyId: string | null;
}

/** Starts a session within a change and records it in the audit log. */
export async function startRecordedSession(
  context: RequestContext,
  { transaction, record }: Change,
  owner: SessionOwner,
): Promise<SessionTokens> {
  const { sessionId, ...tokens } = await startSession(context.parts, transaction, owner, context);
  const object = { objectKind: 'session', objectId: sessionId };
  await record({ action: 'session.started', ...object, companyId: owner.companyId, actor: owner });
  return tokens;
}

export const sessionDeclarations: readonly Declaration[] = [
  whoAmIObject,
  sessionObjects,
  whoAmI,
  sessions,
  login,
  refreshSession,
  logout,
  endSession,
  endAllSessions,
];

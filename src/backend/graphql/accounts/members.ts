import {
  acceptInvitation as acceptByToken,
  type ChangedMember,
  inviteMember as createInvitation,
  withdrawInvitation as endInvitation,
  type Invitation,
  listInvitations,
  listMembers,
  removeMember as removeFromCompany,
  changeRole as setMemberRole,
} from '../../../domain/accounts/members.ts';
import type { User } from '../../../domain/accounts/user.ts';
import { publishMoved } from '../../../domain/credits/ledger/user-account.ts';
import { discardMailsOfLeaver } from '../../../domain/mail/outbox.ts';
import { countAttempt, freshCode, member } from '../access.ts';
import { settleRemovedMember } from '../billing/user-credits.ts';
import { badInput, conflict, forbidden, notFound, refusal, signUpRefused } from '../errors.ts';
import { bounded, idOf, searchArg } from '../input.ts';
import { defineConnection, type Page, pageArgs, pageOf } from '../paging.ts';
import { recordedChange } from '../recorded-change.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';
import { refuseServiceToken } from '../service-scopes.ts';
import { holdMembersToCeiling } from './ceilings.ts';
import { refuseUnverified } from './email-verification.ts';
import { hashNewPassword, newPassword } from './passwords.ts';
import { startRecordedSession } from './sessions.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    Member: User;
    MemberConnection: Page<User>;
    Invitation: Invitation;
    InvitationConnection: Page<Invitation>;
  }
}

/**
 * An admin can do everything else, so a token that could add or remove admins would have every right. For the same
 * reason a user with two-factor authentication needs a recent code to add an admin: the new admin may not have
 * two-factor authentication.
 */
const ONLY_MEMBERS = 'Service tokens can only invite and remove members. An admin has to do this.';

function refuseNewAccounts({ parts }: RequestContext): void {
  if (parts.signUpMode !== 'closed') return;
  throw signUpRefused('Accounts cannot be created here. Ask the operator.');
}

const memberObjects: Declaration = (builder) => {
  builder.objectType('Member', {
    description: 'A member of a company.',
    fields: (t) => ({
      id: t.exposeID('id'),
      email: t.exposeString('email'),
      role: t.expose('role', { type: 'Role' }),
      createdAt: t.expose('createdAt', { type: 'DateTime' }),
    }),
  });
  builder.objectType('Invitation', {
    fields: (t) => ({
      id: t.exposeID('id'),
      email: t.exposeString('email'),
      role: t.expose('role', { type: 'Role' }),
      createdAt: t.expose('createdAt', { type: 'DateTime' }),
      expiresAt: t.expose('expiresAt', { type: 'DateTime' }),
    }),
  });
  defineConnection(builder, 'Member');
  defineConnection(builder, 'Invitation');
};

const members: Declaration = (builder) =>
  builder.queryField('members', (t) =>
    t.field({
      type: 'MemberConnection',
      description: 'The members of the caller’s company, in the order in which they joined.',
      authScopes: { member: true },
      args: {
        first: t.arg.int(),
        after: t.arg.id(),
        search: t.arg.string({ description: 'Words that must all be in the address.' }),
      },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        const { limit, after } = pageArgs(args);
        const page = {
          ...{ limit: limit + 1, after: after === null ? null : idOf('page', after) },
          words: searchArg(args.search),
        };
        const rows = await listMembers(context.parts.database, companyId, page);
        return pageOf(rows, limit, ({ id }) => id);
      },
    }),
  );

const invitations: Declaration = (builder) =>
  builder.queryField('invitations', (t) =>
    t.field({
      type: 'InvitationConnection',
      description: 'Invitations that can still be accepted, the newest first.',
      authScopes: { companyAdmin: true },
      args: { first: t.arg.int(), after: t.arg.id() },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        const { database, clock } = context.parts;
        const { limit, after } = pageArgs(args);
        const now = new Date(clock.now());
        const page = { limit: limit + 1, after: after === null ? null : idOf('page', after), now };
        return pageOf(await listInvitations(database, companyId, page), limit, ({ id }) => id);
      },
    }),
  );

const changeRole: Declaration = (builder) =>
  builder.mutationField('changeRole', (t) =>
    t.field({
      type: 'Member',
      description:
        'The last admin of a company cannot be demoted. The open invitations of an admin who becomes a member are withdrawn. Promoting to admin requires a recent two-factor code if two-factor authentication is set up.',
      authScopes: { companyAdmin: true },
      args: { userId: t.arg.id({ required: true }), role: t.arg({ type: 'Role', required: true }) },
      async resolve(_root, { userId: wantedId, role }, context) {
        const { companyId, id: by } = await member(context);
        const userId = idOf('member', wantedId);
        if (role === 'COMPANY_ADMIN') await freshCode(context);
        const now = new Date(context.parts.clock.now());
        return await recordedChange(context, async ({ transaction, record }) => {
          const params = { companyId, userId, now, role, by };
          const changed = memberChanged(await setMemberRole(transaction, params));
          const details = { email: changed.member.email, role, ...withdrawnWith(changed) };
          await record({ action: 'member.role-changed', objectKind: 'user', objectId: userId, details });
          return changed.member;
        });
      },
    }),
  );

const removeMember: Declaration = (builder) =>
  builder.mutationField('removeMember', (t) =>
    t.boolean({
      description:
        'The user loses access immediately, and their open invitations are withdrawn. The last admin of a company cannot be removed.',
      authScopes: { companyAdmin: true },
      args: { userId: t.arg.id({ required: true }) },
      async resolve(_root, args, context) {
        const { companyId, id: by } = await member(context);
        const userId = idOf('member', args.userId);
        const now = new Date(context.parts.clock.now());
        const moved = await recordedChange(context, async (change) => {
          const { transaction, record } = change;
          const leaver = { companyId, userId };
          const { moved, removed } = await settleRemovedMember(change, context.parts, leaver, async () =>
            memberChanged(await removeFromCompany(transaction, { ...leaver, now, by })),
          );
          const { email, role, isSuperAdmin } = removed.member;
          await discardMailsOfLeaver(transaction, { companyId, email, isClosed: !isSuperAdmin }, now);
          if (role !== 'MEMBER') await refuseServiceToken(context, ONLY_MEMBERS);
          const details = { email, ...withdrawnWith(removed) };
          await record({ action: 'member.removed', objectKind: 'user', objectId: userId, details });
          return moved;
        });
        if (moved !== null) await publishMoved(context.parts.sharedState, moved, context.log);
        return true;
      },
    }),
  );

const leaveCompany: Declaration = (builder) =>
  builder.mutationField('leaveCompany', (t) =>
    t.boolean({
      description:
        'Removes the caller from the company and closes the account. The last admin of a company cannot leave.',
      authScopes: { member: true },
      async resolve(_root, _args, context) {
        const { companyId, id: userId } = await member(context);
        const now = new Date(context.parts.clock.now());
        const moved = await recordedChange(context, async (change) => {
          const leaver = { companyId, userId };
          const { moved, removed } = await settleRemovedMember(change, context.parts, leaver, async () =>
            memberChanged(await removeFromCompany(change.transaction, { ...leaver, now })),
          );
          const { email, isSuperAdmin } = removed.member;
          await discardMailsOfLeaver(change.transaction, { companyId, email, isClosed: !isSuperAdmin }, now);
          const object = { objectKind: 'user', objectId: userId };
          await change.record({ action: 'member.left', ...object, details: withdrawnWith(removed) });
          return moved;
        });
        if (moved !== null) await publishMoved(context.parts.sharedState, moved, context.log);
        return true;
      },
    }),
  );

const inviteMember: Declaration = (builder) =>
  builder.mutationField('inviteMember', (t) =>
    t.field({
      type: 'Invitation',
      description:
        'Sends an invitation by e-mail, valid for a week while the caller is an admin. It replaces an earlier invitation of the same address. The caller’s own address must be verified. Inviting an admin requires a recent two-factor code if two-factor authentication is set up.',
      authScopes: { companyAdmin: true },
      args: {
        email: t.arg.string({ required: true }),
        role: t.arg({ type: 'Role', required: true, defaultValue: 'MEMBER' }),
      },
      async resolve(_root, args, context) {
        const inviter = await member(context);
        refuseUnverified(inviter);
        refuseNewAccounts(context);
        const email = bounded('email', 'email', args.email);
        if (args.role !== 'MEMBER') {
          await refuseServiceToken(context, ONLY_MEMBERS);
          await freshCode(context);
        }
        await countAttempt(context, 'invitation', inviter.companyId);
        return await recordedChange(context, async ({ transaction, record }) => {
          const invited = await createInvitation(context.parts, transaction, {
            inviter,
            email,
            role: args.role,
          });
          if (invited.outcome === 'bad-email') throw badInput('email', 'this is no e-mail address');
          if (invited.outcome === 'already-member')
            throw conflict('This user is already a member of your company.');
          if (invited.outcome === 'not-admin') throw forbidden();
          await holdMembersToCeiling(context, transaction, inviter.companyId);
          const { invitation } = invited;
          const details = { email: invitation.email, role: invitation.role };
          const object = { objectKind: 'invitation', objectId: invitation.id };
          await record({ action: 'member.invited', ...object, details });
          return invitation;
        });
      },
    }),
  );

const withdrawInvitation: Declaration = (builder) =>
  builder.mutationField('withdrawInvitation', (t) =>
    t.field({
      type: 'Invitation',
      authScopes: { companyAdmin: true },
      args: { id: t.arg.id({ required: true }) },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        const invitationId = idOf('invitation', args.id);
        const now = new Date(context.parts.clock.now());
        return await recordedChange(context, async ({ transaction, record }) => {
          const withdrawn = await endInvitation(transaction, { companyId, invitationId, now });
          if (withdrawn === null) throw notFound('invitation');
          const object = { objectKind: 'invitation', objectId: invitationId };
          await record({ action: 'invitation.withdrawn', ...object, details: { email: withdrawn.email } });
          return withdrawn;
        });
      },
    }),
  );

const acceptInvitation: Declaration = (builder) =>
  builder.mutationField('acceptInvitation', (t) =>
    t.field({
      type: 'Session',
      description:
        'Creates an account in the inviting company with the token of the invitation. The token can be used once.',
      authScopes: { anyone: true },
      args: { token: t.arg.string({ required: true }), password: t.arg.string({ required: true }) },
      async resolve(_root, args, context) {
        refuseNewAccounts(context);
        const token = bounded('secret', 'token', args.token);
        await countAttempt(context, 'token');
        const passwordHash = await hashNewPassword(context, 'password', args.password);
        return await recordedChange(context, async (change) => {
          const accepted = await acceptByToken(context.parts, change.transaction, { token, passwordHash });
          if (accepted.outcome === 'no-such-invitation') {
            throw refusal(
              'NOT_FOUND',
              'This invitation was used, withdrawn or has expired. Ask for a new one.',
            );
          }
          if (accepted.outcome === 'email-taken') {
            throw conflict(
              'This address has an account already: leave that company first, or use another address.',
            );
          }
          const { id, companyId, email, role } = accepted.invitation;
          newPassword('password', args.password, email);
          await holdMembersToCeiling(context, change.transaction, companyId);
          const actor = { id: accepted.userId, email };
          const object = { objectKind: 'invitation', objectId: id, companyId };
          await change.record({ action: 'invitation.accepted', ...object, actor, details: { role } });
          return await startRecordedSession(context, change, { ...actor, companyId });
        });
      },
    }),
  );

type Changed = Extract<ChangedMember, { outcome: 'changed' }>;

/** The changed member, or throws the refusal. */
function memberChanged(changed: ChangedMember): Changed {
  switch (changed.outcome) {
    case 'changed':
      return changed;
    case 'no-such-member':
      throw notFound('member');
    case 'last-admin':
      throw conflict('This is the company’s last admin. Make another member an admin first.');
    case 'not-admin':
      throw forbidden();
  }
}

/** For the audit log: invitations withdrawn together with their inviter, if any. */
function withdrawnWith({ withdrawnInvitations }: Changed) {
  return withdrawnInvitations === 0 ? {} : { withdrawnInvitations };
}

export const memberDeclarations: readonly Declaration[] = [
  memberObjects,
  members,
  invitations,
  changeRole,
  removeMember,
  leaveCompany,
  inviteMember,
  withdrawInvitation,
  acceptInvitation,
];

import { findCurrentMembers, findMembers } from '../../../domain/accounts/members.ts';
import type { User } from '../../../domain/accounts/user.ts';
import { dropAnswersOfKeys } from '../../../domain/answer-cache/answer-cache.ts';
import { creditsAsNumber } from '../../../domain/credits/ledger/credit-account.ts';
import { findTransactionOf, listTransactions } from '../../../domain/credits/ledger/ledger.ts';
import {
  type MovedCredits,
  publishMoved,
  readUserBalances,
  returnUserCredits,
  transferToUser,
  USER_SIDE,
  type UserBalance,
} from '../../../domain/credits/ledger/user-account.ts';
import { revokeKeysPaidBy } from '../../../domain/keys/key-lifecycle.ts';
import type { Statements } from '../../../ports/database.ts';
import { freshCode, member } from '../access.ts';
import { microFrom } from '../amounts.ts';
import { badInput, conflict, notFound } from '../errors.ts';
import { bounded, idOf } from '../input.ts';
import { numberCursor, pageArgs, pageOf } from '../paging.ts';
import { type Change, recordedChange } from '../recorded-change.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';

const LONGEST_REASON = 500;
const LONGEST_KEY = 100;

/** A current member of the caller's company. */
export async function currentMember(
  statements: Statements,
  companyId: string,
  userId: string | number,
): Promise<User> {
  const id = idOf('member', userId);
  const [found] = await findCurrentMembers(statements, companyId, { ids: [id] });
  if (found === undefined) throw notFound('member');
  return found;
}

const memberBalance: Declaration = (builder) =>
  builder.objectField('Member', 'creditBalance', (t) =>
    t.loadable({
      type: 'CreditBalance',
      nullable: true,
      description:
        'The person’s own credit balance, on which keys with `payer: USER` draw. Null without one, and for anyone but the ' +
        'person and company admins.',
      async load(ids: string[], context: RequestContext): Promise<(UserBalance | null)[]> {
        const viewer = await member(context);
        const service = await context.serviceToken();
        const maySeeAll =
          viewer.role === 'COMPANY_ADMIN' && service?.scopes.includes('billing:read') !== false;
        const seen = maySeeAll ? ids : ids.filter((id) => id === viewer.id && service === null);
        const found = await readUserBalances(context.parts.database, viewer.companyId, seen);
        const byId = new Map(found.map((balance) => [balance.userId, balance]));
        return ids.map((id) => byId.get(id) ?? null);
      },
      resolve: ({ id }) => id,
    }),
  );

const myCredits: Declaration = (builder) =>
  builder.queryFields((t) => ({
    myCreditBalance: t.field({
      type: 'CreditBalance',
      nullable: true,
      description: 'The caller’s own credit balance. Null if no credits were ever moved to it.',
      authScopes: { member: true },
      async resolve(_root, _args, context) {
        const { companyId, id } = await member(context);
        const [balance] = await readUserBalances(context.parts.database, companyId, [id]);
        return balance ?? null;
      },
    }),
    userCreditTransactions: t.field({
      type: 'CreditTransactionConnection',
      description:
        'Every change of the caller’s own credit balance, newest first. Company admins can read those of a member.',
      authScopes: { member: true },
      args: { userId: t.arg.id(), first: t.arg.int(), after: t.arg.id() },
      async resolve(_root, args, context) {
        const viewer = await member(context);
        const userId = args.userId == null ? viewer.id : idOf('member', args.userId);
        const { database } = context.parts;
        if (userId !== viewer.id) {
          // Also for former members: the account stays with the company.
          const [found] = await findMembers(database, viewer.companyId, [userId]);
          if (found === undefined || viewer.role !== 'COMPANY_ADMIN') throw notFound('member');
        }
        const [account] = await readUserBalances(database, viewer.companyId, [userId]);
        const { limit, after } = pageArgs(args);
        if (account === undefined) return pageOf([], limit, () => '');
        const page = { first: limit + 1, after: numberCursor(after) };
        const rows = await listTransactions(database, userId, page);
        return pageOf(rows, limit, ({ version }) => String(version));
      },
    }),
  }));

/** If the client does not know whether it succeeded, it repeats the request with the same key. It is done once. */
const grantUserCredits: Declaration = (builder) =>
  builder.mutationField('grantUserCredits', (t) =>
    t.field({
      type: 'CreditTransaction',
      description:
        'Moves credits of the company to the balance of a member, or back where they are below zero; once for an ' +
        'idempotency key. Returns the transaction of the member’s balance.',
      authScopes: { companyAdmin: true },
      args: {
        userId: t.arg.id({ required: true }),
        credits: t.arg.float({
          required: true,
          description: 'A negative amount returns credits to the company.',
        }),
        reason: t.arg.string({ required: true }),
        idempotencyKey: t.arg.string({ required: true }),
      },
      async resolve(_root, args, context) {
        await freshCode(context);
        const { companyId } = await member(context);
        const { id: userId, email } = await currentMember(context.parts.database, companyId, args.userId);
        const amountMicro = microFrom('credits', args.credits);
        if (amountMicro === 0n) throw badInput('credits', 'an amount of zero changes nothing');
        const reason = bounded('paragraph', 'reason', args.reason);
        if (reason.length > LONGEST_REASON) throw badInput('reason', `at most ${LONGEST_REASON} characters`);
        const idempotencyKey = bounded('line', 'idempotencyKey', args.idempotencyKey);
        if (idempotencyKey.length > LONGEST_KEY)
          throw badInput('idempotencyKey', `at most ${LONGEST_KEY} characters`);
        const { sharedState, heldCredits, log } = context.parts;
        const held = await heldCredits(companyId, amountMicro > 0n ? null : userId);
        const params = { companyId, userId, amountMicro, idempotencyKey, reason, heldMicro: held ?? 0n };
        const { moved, transaction } = await recordedChange(context, async (change) => {
          const moved = await transferToUser(change.transaction, params);
          switch (moved.outcome) {
            case 'other-transfer':
              throw conflict('This idempotency key was used for another transfer: use a new one.');
            case 'other-company':
              throw conflict('The credit account of this person belongs to another company.');
            case 'wrong-amount':
              throw badInput('credits', moved.problem);
            case 'not-enough': {
              const whose = amountMicro > 0n ? 'the company' : 'the member';
              const available = creditsAsNumber(moved.availableMicro);
              throw badInput(
                'credits',
                `${whose} has ${available} credits to move: none that expire or are held by running calls`,
              );
            }
            case 'already-moved':
              change.nothingChanged();
              break;
            case 'moved': {
              const details = { email, credits: creditsAsNumber(amountMicro), reason };
              await change.record({ action: 'credits.moved', objectKind: 'user', objectId: userId, details });
            }
          }
          const source = { sourceKind: USER_SIDE, sourceId: `${companyId}:${idempotencyKey}` };
          const transaction = await findTransactionOf(change.transaction, source);
          if (transaction === null) throw new Error('a posted transaction is not there');
          return { moved, transaction };
        });
        await publishMoved(sharedState, moved, log);
        return transaction;
      },
    }),
  );

/**
 * Settles the account of a member whom `remove` removes: their balance returns to the company, and the keys that they
 * pay for are revoked. Accounts are locked before companies, so the balance returns first. The keys are revoked under
 * the lock of the removal, which a new key of the same payer also takes: none is created in between. Call
 * `publishMoved` after the commit.
 */
export async function settleRemovedMember<Removed>(
  { database, sharedState, transaction }: Change,
  { clock }: Pick<RequestContext['parts'], 'clock'>,
  leaver: { readonly companyId: string; readonly userId: string },
  remove: () => Promise<Removed>,
): Promise<{ readonly moved: MovedCredits | null; readonly removed: Removed }> {
  const moved = await returnUserCredits(transaction, leaver);
  const removed = await remove();
  const keyIds = await revokeKeysPaidBy({ database, sharedState, clock }, leaver);
  await dropAnswersOfKeys(database, leaver.companyId, keyIds);
  return { moved, removed };
}

export const userCreditDeclarations: readonly Declaration[] = [memberBalance, myCredits, grantUserCredits];

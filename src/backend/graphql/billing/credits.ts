import { findCompany } from '../../../domain/accounts/company.ts';
import {
  type CompanyBalance,
  creditsAsNumber,
  publishLevel,
  readBalance,
} from '../../../domain/credits/ledger/credit-account.ts';
import { type CreditLot, listLots } from '../../../domain/credits/ledger/credit-lots.ts';
import {
  type CreditTransaction,
  findTransactionOf,
  listTransactions,
  postTransaction,
  type TransactionType,
} from '../../../domain/credits/ledger/ledger.ts';
import { lastVersionBefore, statementLines } from '../../../domain/credits/ledger/statement.ts';
import { readUserBalances } from '../../../domain/credits/ledger/user-account.ts';
import { setBilling } from '../../../domain/payments/assign-plan.ts';
import { freshCode, member, signedIn } from '../access.ts';
import { microFrom } from '../amounts.ts';
import { badInput, conflict, notFound } from '../errors.ts';
import { bounded, idOf, searchArg } from '../input.ts';
import { defineConnection, numberCursor, type Page, pageArgs, pageOf } from '../paging.ts';
import type { FieldSize } from '../query-cost.ts';
import { recordedChange } from '../recorded-change.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';
import { companyOfCalls } from './calls.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    CreditBalance: CompanyBalance;
    CreditTransaction: CreditTransaction;
    CreditTransactionConnection: Page<CreditTransaction>;
    CreditLot: CreditLot;
  }
  interface SchemaScalars {
    CreditTransactionType: TransactionType;
  }
}

/** About two million characters: a size that browsers save as a file without trouble. */
const MOST_LINES = 20_000;

const SOURCE_KIND = 'adjustment';
const LONGEST_REASON = 500;

const creditObjects: Declaration = (builder) => {
  builder.objectType('CreditBalance', {
    fields: (t) => ({
      credits: t.float({
        description: 'The ledger balance. Negative: a debt.',
        resolve: ({ balanceMicro }) => creditsAsNumber(balanceMicro),
      }),
      held: t.float({
        description: 'Held by calls in flight.',
        resolve: async ({ companyId, userId }, _args, { parts }) =>
          creditsAsNumber((await parts.heldCredits(companyId, userId ?? null)) ?? 0n),
      }),
      updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
    }),
  });
  builder.enumType('CreditTransactionType', {
    values: [
      'PACK_PURCHASE',
      'REFUND',
      'USAGE',
      'SUBSCRIPTION_GRANT',
      'INVOICE_PAYMENT',
      'ADJUSTMENT',
      'EXPIRY',
    ] as const,
  });
  builder.objectType('CreditTransaction', {
    fields: (t) => ({
      id: t.id({ resolve: ({ accountId, version }) => `${accountId}.${version}` }),
      type: t.expose('type', { type: 'CreditTransactionType' }),
      credits: t.float({
        description: 'The change of the account. Negative: a deduction.',
        resolve: ({ amountMicro }) => creditsAsNumber(amountMicro),
      }),
      balanceAfter: t.float({ resolve: ({ balanceAfterMicro }) => creditsAsNumber(balanceAfterMicro) }),
      source: t.string({
        description: 'The source of the posting. A source is posted once.',
        resolve: ({ sourceKind, sourceId }) => `${sourceKind}:${sourceId}`,
      }),
      reason: t.exposeString('reason', { nullable: true }),
      createdAt: t.expose('createdAt', { type: 'DateTime' }),
      expiresAt: t.expose('expiresAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When the remaining credits expire. Null: never.',
      }),
    }),
  });
  defineConnection(builder, 'CreditTransaction');
  builder.objectType('CreditLot', {
    description: 'Credits that expire. What expires first is spent first.',
    fields: (t) => ({
      id: t.id({ resolve: ({ accountId, version }) => `${accountId}.${version}` }),
      label: t.exposeString('label', {
        nullable: true,
        description: 'What they came with, as `Credit pack Starter`.',
      }),
      credits: t.float({
        description: 'The number of credits granted.',
        resolve: ({ amountMicro }) => creditsAsNumber(amountMicro),
      }),
      left: t.float({ resolve: ({ leftMicro }) => creditsAsNumber(leftMicro) }),
      grantedAt: t.expose('grantedAt', { type: 'DateTime' }),
      expiresAt: t.expose('expiresAt', { type: 'DateTime' }),
    }),
  });
};

const creditBalance: Declaration = (builder) =>
  builder.queryField('creditBalance', (t) =>
    t.field({
      type: 'CreditBalance',
      description: 'The balance of the caller’s company.',
      authScopes: { member: true },
      async resolve(_root, _args, context) {
        const { companyId } = await member(context);
        const balance = await readBalance(context.parts.database, companyId);
        if (balance === null) throw notFound('company');
        return balance;
      },
    }),
  );

const OF_ANY_COMPANY = 'For super admins, who can read any company. Left out, the caller’s own.';

async function companyToRead(
  context: RequestContext,
  given: string | number | null | undefined,
): Promise<string> {
  if (given == null) {
    const { companyId } = await signedIn(context);
    if (companyId === null) throw badInput('companyId', 'name the company: you belong to none');
    return companyId;
  }
  const companyId = await companyOfCalls(context, idOf('company', given));
  if (companyId === null || (await findCompany(context.parts.database, companyId)) === null) {
    throw notFound('company');
  }
  return companyId;
}

const creditTransactions: Declaration = (builder) =>
  builder.queryField('creditTransactions', (t) =>
    t.field({
      type: 'CreditTransactionConnection',
      description: 'Every change of the company’s balance, newest first.',
      authScopes: { companyAdmin: true, superAdmin: true },
      args: {
        companyId: t.arg.id({ description: OF_ANY_COMPANY }),
        first: t.arg.int(),
        after: t.arg.id(),
        types: t.arg({ type: ['CreditTransactionType'], description: 'Only these types.' }),
        search: t.arg.string({
          description: 'Words that must all be in the reason. Usage has none and is left out.',
        }),
        from: t.arg({ type: 'DateTime', description: 'Not before.' }),
        to: t.arg({ type: 'DateTime', description: 'Before.' }),
      },
      async resolve(_root, args, context) {
        const companyId = await companyToRead(context, args.companyId);
        const { database } = context.parts;
        const { limit, after } = pageArgs(args);
        const { types, from, to } = args;
        if (from != null && to != null && from >= to) throw badInput('to', 'it must lie after from');
        const rows = await listTransactions(database, companyId, {
          ...{ first: limit + 1, after: numberCursor(after), words: searchArg(args.search) },
          types: types == null || types.length === 0 ? null : types,
          afterVersion: from == null ? null : await lastVersionBefore(database, companyId, from),
          upToVersion: to == null ? null : await lastVersionBefore(database, companyId, to),
        });
        return pageOf(rows, limit, ({ version }) => String(version));
      },
    }),
  );

const creditLots: Declaration = (builder) =>
  builder.queryField('creditLots', (t) =>
    t.field({
      type: ['CreditLot'],
      description:
        'The parts of the company’s balance that will expire, soonest first. The rest never expires.',
      authScopes: { member: true },
      args: { first: t.arg.int() },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        const { limit: first } = pageArgs(args);
        return [...(await listLots(context.parts.database, companyId, { first }))];
      },
    }),
  );

const creditStatement: Declaration = (builder) =>
  builder.queryField('creditStatement', (t) =>
    t.string({
      extensions: { maxCharacters: 4_000_000 } satisfies FieldSize,
      description:
        'The company’s credit transactions as CSV, or those of a member’s own balance, with the opening and the closing ' +
        'balance: from `from`, before `to`.',
      authScopes: { companyAdmin: true, superAdmin: true },
      args: {
        companyId: t.arg.id({ description: OF_ANY_COMPANY }),
        userId: t.arg.id({ description: 'A member with a balance of their own; left out, the company.' }),
        from: t.arg({ type: 'DateTime', required: true }),
        to: t.arg({ type: 'DateTime', required: true }),
      },
      async resolve(_root, { from, to, userId, companyId: given }, context) {
        const companyId = await companyToRead(context, given);
        const accountId = userId == null ? companyId : await userAccountOf(context, companyId, userId);
        if (from >= to) throw badInput('to', 'it must lie after from');
        const lines: string[] = [];
        for await (const line of statementLines(context.parts.database, { accountId, from, to })) {
          if (lines.length === MOST_LINES) {
            throw badInput('from', `the period has more than ${MOST_LINES} lines: ask for a shorter one`);
          }
          lines.push(line);
        }
        return `${lines.join('\r\n')}\r\n`;
      },
    }),
  );

/** Also for former members: the account stays with the company. */
async function userAccountOf(
  context: RequestContext,
  companyId: string,
  userId: string | number,
): Promise<string> {
  const id = idOf('member', userId);
  const [account] = await readUserBalances(context.parts.database, companyId, [id]);
  if (account === undefined) throw notFound('member');
  return id;
}

/** If the client does not know whether it succeeded, it repeats the request with the same key. It is done once. */
const adjustCredits: Declaration = (builder) =>
  builder.mutationField('adjustCredits', (t) =>
    t.field({
      type: 'CreditTransaction',
      description: 'Adds credits to a company or removes them, once per idempotency key.',
      authScopes: { superAdmin: true },
      args: {
        companyId: t.arg.id({ required: true }),
        credits: t.arg.float({ required: true, description: 'A negative amount removes credits.' }),
        reason: t.arg.string({ required: true }),
        idempotencyKey: t.arg.string({ required: true }),
      },
      async resolve(_root, args, context) {
        await freshCode(context);
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
              const details = { credits: creditsAsNumber(amountMicro), reason };
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

const setCompanyBilling: Declaration = (builder) =>
  builder.mutationField('setCompanyBilling', (t) =>
    t.field({
      type: 'Company',
      description:
        'Changes how a company pays. A POSTPAID company may go below zero up to its limit; without a limit, indefinitely.',
      authScopes: { superAdmin: true },
      args: {
        companyId: t.arg.id({ required: true }),
        billingMode: t.arg({ type: 'BillingMode', required: true }),
        creditLimit: t.arg.float({ description: 'In credits. Only for POSTPAID.' }),
      },
      async resolve(_root, args, context) {
        await freshCode(context);
        const { sharedState, log } = context.parts;
        const companyId = idOf('company', args.companyId);
        const { billingMode } = args;
        const limit = args.creditLimit ?? null;
        const limitMicro = limit === null ? null : microFrom('creditLimit', limit);
        if (billingMode === 'PREPAID' && limitMicro !== null && limitMicro !== 0n) {
          throw badInput('creditLimit', 'a PREPAID company has none: leave it out');
        }
        const { level, company } = await recordedChange(context, async (change) => {
          const set = await setBilling(change.transaction, companyId, billingMode, limitMicro);
          if (set.outcome === 'no-such-company') throw notFound('company');
          if (set.outcome === 'wrong-limit') throw badInput('creditLimit', set.problem);
          if (set.outcome === 'subscribed') throw conflict(set.message);
          if (set.outcome === 'unchanged') change.nothingChanged();
          else {
            const object = { objectKind: 'company', objectId: companyId, companyId };
            await change.record({
              action: 'company.billing-set',
              ...object,
              details: { billingMode, creditLimit: limit },
            });
          }
          const company = await findCompany(change.transaction, companyId);
          if (company === null) throw notFound('company');
          return { level: set.level, company };
        });
        await publishLevel(sharedState, level, log);
        return company;
      },
    }),
  );

export const creditDeclarations: readonly Declaration[] = [
  creditObjects,
  creditBalance,
  creditTransactions,
  creditLots,
  creditStatement,
  adjustCredits,
  setCompanyBilling,
];

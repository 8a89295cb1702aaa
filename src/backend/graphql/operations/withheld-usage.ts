import { findCompany } from '../../../domain/accounts/company.ts';
import {
  dropWithheldUsage as dropUsage,
  LONGEST_NOTE,
  listWithheldUsage,
  postWithheldUsage as postUsage,
  type ResolvedUsage,
  type WithheldUsage,
} from '../../../domain/calls/settlement/withheld-usage.ts';
import { creditsAsNumber, publishLevel } from '../../../domain/credits/ledger/credit-account.ts';
import type { Transaction } from '../../../ports/database.ts';
import { freshCode } from '../access.ts';
import { badInput, conflict, notFound } from '../errors.ts';
import { bounded, idOf } from '../input.ts';
import { defineConnection, idCursor, type Page, pageArgs, pageOf } from '../paging.ts';
import { recordedChange } from '../recorded-change.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    WithheldUsage: WithheldUsage;
    WithheldUsageConnection: Page<WithheldUsage>;
  }
  interface SchemaScalars {
    WithheldUsageStatus: WithheldUsageStatus;
  }
}

type WithheldUsageStatus = 'OPEN' | 'POSTED' | 'DROPPED';

const withheldUsageObjects: Declaration = (builder) => {
  builder.enumType('WithheldUsageStatus', {
    values: {
      OPEN: { description: 'Not charged; an operator has to decide.' },
      POSTED: { description: 'Charged to the company.' },
      DROPPED: { description: 'Never charged.' },
    },
  });
  builder.objectType('WithheldUsage', {
    description:
      'Usage that a provider reported beyond what the call’s alias can read and write. The call was charged up to the bounds.',
    fields: (t) => ({
      id: t.id({ description: 'The id of the call.', resolve: ({ callId }) => callId }),
      companyId: t.exposeID('companyId'),
      companyName: t.string({
        nullable: true,
        resolve: async ({ companyId }, _args, { parts }) =>
          (await findCompany(parts.database, companyId))?.name ?? null,
      }),
      apiKeyId: t.id({ nullable: true, resolve: ({ keyId }) => keyId }),
      requestId: t.exposeString('requestId'),
      model: t.string({ resolve: ({ alias }) => alias }),
      promptTokens: t.float({
        description: 'As the provider reported them.',
        resolve: ({ promptTokens }) => Number(promptTokens),
      }),
      completionTokens: t.float({
        description: 'As the provider reported them.',
        resolve: ({ completionTokens }) => Number(completionTokens),
      }),
      promptBound: t.float({
        description: 'The most prompt tokens that the call is charged for.',
        resolve: ({ promptBound }) => Number(promptBound),
      }),
      completionBound: t.float({
        description: 'The most completion tokens that the call is charged for.',
        resolve: ({ completionBound }) => Number(completionBound),
      }),
      chargedCredits: t.float({ resolve: ({ chargedMicro }) => creditsAsNumber(chargedMicro) }),
      withheldCredits: t.float({ resolve: ({ excessMicro }) => creditsAsNumber(excessMicro) }),
      status: t.field({ type: 'WithheldUsageStatus', resolve: ({ resolution }) => resolution ?? 'OPEN' }),
      reason: t.string({
        nullable: true,
        description: 'Why it was posted or dropped.',
        resolve: ({ note }) => note,
      }),
      withheldAt: t.expose('withheldAt', { type: 'DateTime' }),
      resolvedAt: t.expose('resolvedAt', { type: 'DateTime', nullable: true }),
    }),
  });
  defineConnection(builder, 'WithheldUsage');
};

const withheldUsage: Declaration = (builder) =>
  builder.queryField('withheldUsage', (t) =>
    t.field({
      type: 'WithheldUsageConnection',
      description:
        'Usage beyond what the alias allows for a call, newest first: what is waiting for an operator, or all of it.',
      authScopes: { superAdmin: true },
      args: {
        first: t.arg.int(),
        after: t.arg.id(),
        includeResolved: t.arg.boolean({ defaultValue: false }),
      },
      async resolve(_root, args, { parts }) {
        const { limit, after } = pageArgs(args);
        const page = { limit: limit + 1, after: idCursor(after), onlyOpen: args.includeResolved !== true };
        return pageOf(await listWithheldUsage(parts.database, page), limit, ({ callId }) => callId);
      },
    }),
  );

type Resolve = (
  transaction: Transaction,
  params: { readonly callId: string; readonly note: string; readonly now: Date },
) => Promise<ResolvedUsage>;

async function resolved(
  context: RequestContext,
  args: { readonly id: string | number; readonly reason: string },
  action: string,
  work: Resolve,
): Promise<WithheldUsage> {
  await freshCode(context);
  const callId = idOf('withheld usage', args.id);
  const note = bounded('paragraph', 'reason', args.reason);
  if (note.length > LONGEST_NOTE) throw badInput('reason', `at most ${LONGEST_NOTE} characters`);
  const now = new Date(context.parts.clock.now());
  const { usage, level } = await recordedChange(context, async ({ transaction, record, nothingChanged }) => {
    const done = await work(transaction, { callId, note, now });
    switch (done.outcome) {
      case 'not-found':
        throw notFound('withheld usage');
      case 'resolved-otherwise':
        throw conflict(`This usage was ${done.usage.resolution?.toLowerCase()} before: nothing changed.`);
      case 'wrong-amount':
        throw conflict(`It cannot be posted: ${done.problem}. Drop it.`);
      case 'resolved': {
        if (!done.isNew) nothingChanged();
        else {
          await record({
            action,
            objectKind: 'call',
            objectId: callId,
            companyId: done.usage.companyId,
            details: { excessMicro: String(done.usage.excessMicro), reason: note },
          });
        }
        return done;
      }
    }
  });
  if (level !== null) await publishLevel(context.parts.sharedState, level, context.log);
  return usage;
}

const postWithheldUsage: Declaration = (builder) =>
  builder.mutationField('postWithheldUsage', (t) =>
    t.field({
      type: 'WithheldUsage',
      description: 'Charges withheld usage to its company. Idempotent.',
      authScopes: { superAdmin: true },
      args: { id: t.arg.id({ required: true }), reason: t.arg.string({ required: true }) },
      resolve: (_root, args, context) => resolved(context, args, 'withheld-usage.posted', postUsage),
    }),
  );

const dropWithheldUsage: Declaration = (builder) =>
  builder.mutationField('dropWithheldUsage', (t) =>
    t.field({
      type: 'WithheldUsage',
      description: 'Drops withheld usage: it is never charged.',
      authScopes: { superAdmin: true },
      args: { id: t.arg.id({ required: true }), reason: t.arg.string({ required: true }) },
      resolve: (_root, args, context) => resolved(context, args, 'withheld-usage.dropped', dropUsage),
    }),
  );

export const withheldUsageDeclarations: readonly Declaration[] = [
  withheldUsageObjects,
  withheldUsage,
  postWithheldUsage,
  dropWithheldUsage,
];

import {
  type BudgetWithSpending,
  type Budget as DomainBudget,
  deleteBudget as deleteOne,
  listBudgetsWithSpending,
  setBudget as setOne,
} from '../../../domain/credits/budgets/budgets.ts';
import type { BudgetScope } from '../../../domain/credits/budgets/call-budgets.ts';
import {
  announceCompany,
  creditsAsNumber,
  creditsOfMicro,
} from '../../../domain/credits/ledger/credit-account.ts';
import { member } from '../access.ts';
import { microFrom } from '../amounts.ts';
import { badInput, conflict, notFound } from '../errors.ts';
import { boundedOrNull, idOf } from '../input.ts';
import type { FieldSize } from '../query-cost.ts';
import { recordedChange } from '../recorded-change.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    Budget: BudgetWithSpending;
  }
  interface SchemaScalars {
    BudgetScope: BudgetScope;
  }
}

const budgetObjects: Declaration = (builder) => {
  builder.enumType('BudgetScope', {
    values: {
      COMPANY: {
        description: 'All calls of the company, including those that the platform makes on its behalf.',
      },
      PROJECT: { description: 'Calls of keys that have this project.' },
      KEY: {
        description: 'Calls of one key and of those that it is rotated to; `subject` is the id of the first.',
      },
      END_USER: {
        description:
          'Calls that name this end user in `user`, by whatever key; `*` is every end user without a budget of their own.',
      },
    },
  });
  builder.objectType('Budget', {
    description: 'What may be spent in a calendar month, UTC. A call counts in the month in which it began.',
    fields: (t) => ({
      id: t.exposeID('id'),
      scope: t.expose('scope', { type: 'BudgetScope' }),
      subject: t.string({
        nullable: true,
        description: 'The project, the id of the key, the end user or `*`; null for COMPANY.',
        resolve: ({ subject }) => (subject === '' ? null : subject),
      }),
      keyName: t.exposeString('keyName', { nullable: true, description: 'Of KEY.' }),
      monthlyCredits: t.float({ resolve: ({ monthlyMicro }) => creditsAsNumber(monthlyMicro) }),
      hard: t.exposeBoolean('isHard', {
        description:
          'True: calls are refused with 403 BUDGET_EXCEEDED once it is used up. False: alerts only.',
      }),
      spent: t.float({
        description: 'In this month, in credits. Of `*`: by the end user who has spent most.',
        resolve: ({ spentMicro }) => creditsAsNumber(spentMicro),
      }),
      topEndUser: t.exposeString('topEndUser', { nullable: true, description: 'Of `*`: who that is.' }),
      usedUpBy: t.exposeInt('usedUpBy', {
        nullable: true,
        description: 'Of `*`: how many end users have used it up in this month.',
      }),
      resetsAt: t.field({
        type: 'DateTime',
        resolve: (_budget, _args, { parts }) => monthAfter(parts.clock.now()),
      }),
      version: t.exposeInt('version', { description: 'Incremented with each change.' }),
      changedAt: t.expose('changedAt', { type: 'DateTime' }),
    }),
  });
};

function monthAfter(nowMs: number): Date {
  const now = new Date(nowMs);
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1));
}

const budgets: Declaration = (builder) =>
  builder.queryField('budgets', (t) =>
    t.field({
      extensions: { maxRows: 500 } satisfies FieldSize,
      type: ['Budget'],
      description: 'The company’s budgets and what was spent in this month, at most 500.',
      authScopes: { companyAdmin: true },
      async resolve(_root, _args, context) {
        const { companyId } = await member(context);
        const { database, clock } = context.parts;
        return [...(await listBudgetsWithSpending(database, companyId, new Date(clock.now())))];
      },
    }),
  );

const setBudget: Declaration = (builder) => {
  const input = builder.inputType('BudgetInput', {
    fields: (t) => ({
      scope: t.field({ type: 'BudgetScope', required: true }),
      subject: t.string({ description: 'See BudgetScope; left out for COMPANY.' }),
      monthlyCredits: t.float({ required: true, description: 'From 0.' }),
      hard: t.boolean({ description: 'Whether calls are refused once it is used up; true by default.' }),
      version: t.int({
        description:
          'The version of the budget that was read. If it has changed since, nothing is set. Omitted: replaces the current budget unconditionally.',
      }),
    }),
  });
  builder.mutationField('setBudget', (t) =>
    t.field({
      type: 'Budget',
      description:
        'Creates a budget, or changes the one of the same scope and subject. In force within a second everywhere; what was spent in this month before counts.',
      authScopes: { companyAdmin: true },
      args: { input: t.arg({ type: input, required: true }) },
      async resolve(_root, { input: params }, context) {
        const { companyId } = await member(context);
        const { secrets, clock } = context.parts;
        const now = new Date(clock.now());
        const budget = {
          companyId,
          scope: params.scope,
          subject: boundedOrNull('line', 'input.subject', params.subject),
          monthlyMicro: microFrom('input.monthlyCredits', params.monthlyCredits),
          isHard: params.hard ?? true,
          version: params.version ?? null,
        };
        const id = await recordedChange(context, async ({ transaction, sharedState, record }) => {
          const set = await setOne(transaction, budget, { newId: secrets.newId(), now });
          if (set.outcome === 'invalid') throw badInput(`input.${set.field}`, set.problem);
          if (set.outcome === 'outdated') {
            throw conflict('This budget was changed or deleted meanwhile. Reload it, then change it.');
          }
          await record({
            action: set.isNew ? 'budget.created' : 'budget.changed',
            ...recordOf(set.budget),
          });
          await announceCompany(sharedState, companyId);
          return set.budget.id;
        });
        return await budgetWithSpending(context, companyId, id);
      },
    }),
  );
};

async function budgetWithSpending(
  context: RequestContext,
  companyId: string,
  id: string,
): Promise<BudgetWithSpending> {
  const { database, clock } = context.parts;
  const all = await listBudgetsWithSpending(database, companyId, new Date(clock.now()));
  const budget = all.find((one) => one.id === id);
  if (budget === undefined) throw notFound('budget');
  return budget;
}

const deleteBudget: Declaration = (builder) =>
  builder.mutationField('deleteBudget', (t) =>
    t.field({
      type: 'Budget',
      description:
        'Deletes a budget. It stops refusing calls within a second on every process. What was spent remains counted.',
      authScopes: { companyAdmin: true },
      args: { id: t.arg.id({ required: true }) },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        const before = await budgetWithSpending(context, companyId, idOf('budget', args.id));
        return await recordedChange(context, async ({ transaction, sharedState, record }) => {
          const deleted = await deleteOne(transaction, companyId, before.id);
          if (deleted === null) throw notFound('budget');
          await record({ action: 'budget.deleted', ...recordOf(deleted) });
          await announceCompany(sharedState, companyId);
          return { ...before, ...deleted };
        });
      },
    }),
  );

function recordOf({ id, scope, subject, monthlyMicro, isHard }: DomainBudget) {
  const details = { scope, subject, monthlyCredits: creditsOfMicro(monthlyMicro), hard: isHard };
  return { objectKind: 'budget', objectId: id, details };
}

export const budgetDeclarations: readonly Declaration[] = [budgetObjects, budgets, setBudget, deleteBudget];

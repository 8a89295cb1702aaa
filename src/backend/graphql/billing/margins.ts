import {
  MARGIN_GROUPS,
  type Margin,
  type MarginGroup,
  type MarginReport,
  type MarginRow,
  MOST_MARGIN_ROWS,
  marginPercent,
  marginReport,
} from '../../../domain/calls/usage/margins.ts';
import { spanOf } from '../../../domain/calls/usage/usage-range.ts';
import { creditsAsNumber, creditsOfMicro } from '../../../domain/credits/ledger/credit-account.ts';
import { type AliasName, aliasOf } from '../../../domain/models/aliases.ts';
import { readPrices } from '../../../domain/models/prices.ts';
import { belowCostText, pricesBelowCost } from '../../../domain/models/prices-below-cost.ts';
import { readCatalogue } from '../../../domain/models/targets.ts';
import { usagePeriod } from '../input.ts';
import type { FieldSize } from '../query-cost.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    MarginTotals: Margin;
    MarginRow: MarginRow;
    MarginReport: MarginReport;
  }
  interface SchemaScalars {
    MarginGroup: MarginGroup;
  }
}

const objects: Declaration = (builder) => {
  builder.enumType('MarginGroup', { values: MARGIN_GROUPS });
  builder.objectType('MarginTotals', {
    description: 'In credits, of calls whose cost at the provider is known.',
    fields: (t) => ({
      calls: t.float({ resolve: ({ calls }) => Number(calls) }),
      cost: t.float({
        description: 'What the providers charge for them, by the costs of their targets when they ended.',
        resolve: ({ costMicro }) => creditsAsNumber(costMicro),
      }),
      revenue: t.float({ resolve: ({ revenueMicro }) => creditsAsNumber(revenueMicro) }),
      margin: t.float({
        resolve: ({ costMicro, revenueMicro }) => creditsAsNumber(revenueMicro - costMicro),
      }),
      marginPercent: t.float({
        nullable: true,
        description: 'In percent of revenue. Null without revenue.',
        resolve: marginPercent,
      }),
    }),
  });
  builder.objectType('MarginRow', {
    fields: (t) => ({
      key: t.exposeString('key', {
        description:
          'The alias that answered, the provider with its host, the company’s id, or the day (UTC).',
      }),
      name: t.exposeString('name', {
        description: 'The display name: the name of a company, otherwise the key.',
      }),
      totals: t.field({ type: 'MarginTotals', resolve: (row) => row }),
    }),
  });
  builder.objectType('MarginReport', {
    fields: (t) => ({
      rows: t.field({
        type: ['MarginRow'],
        extensions: { maxRows: MOST_MARGIN_ROWS } satisfies FieldSize,
        description: 'By descending cost, at most 1,000; by day in chronological order.',
        resolve: ({ rows }) => [...rows],
      }),
      totals: t.expose('totals', { type: 'MarginTotals' }),
      callsWithoutCost: t.float({
        description: 'Successful calls whose target has no cost. They are not included in any row.',
        resolve: ({ uncosted }) => Number(uncosted.calls),
      }),
      revenueWithoutCost: t.float({
        resolve: ({ uncosted }) => creditsAsNumber(uncosted.revenueMicro),
      }),
      unpricedCalls: t.float({
        description:
          'Calls whose provider reported a cost that no price covers, so that their cost is not fully known; as long as they are stored.',
        resolve: ({ unpriced }) => Number(unpriced.calls),
      }),
      unpricedTokens: t.float({
        description: 'The prompt and completion tokens of these calls.',
        resolve: ({ unpriced }) => Number(unpriced.promptTokens + unpriced.completionTokens),
      }),
    }),
  });
};

const margins: Declaration = (builder) =>
  builder.queryField('margins', (t) =>
    t.field({
      type: 'MarginReport',
      description: 'Cost, revenue and margin of all companies’ calls, in whole days (UTC), both included.',
      authScopes: { superAdmin: true },
      args: {
        from: t.arg({ type: 'DateTime', description: 'Default: 30 days ago.' }),
        to: t.arg({ type: 'DateTime', description: 'Left out: today.' }),
        groupBy: t.arg({ type: 'MarginGroup', required: true }),
      },
      async resolve(_root, { from, to, groupBy }, { parts }) {
        const range = usagePeriod({ from, to }, parts.clock.now());
        const { fromMs, beforeMs } = spanOf(range);
        const question = { from: dayOf(fromMs), to: dayOf(beforeMs - 1), groupBy };
        return await marginReport(parts.database, question);
      },
    }),
  );

function dayOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}

const warnings: Declaration = (builder) => {
  builder.objectField('ModelAlias', 'priceWarnings', (t) =>
    t.loadableList({
      type: 'String',
      nullable: true,
      extensions: { maxRows: 10 } satisfies FieldSize,
      description: 'For super admins: where a price of it is below what a target costs.',
      authScopes: { superAdmin: true },
      load: loadWarnings,
      resolve: ({ name }) => name,
    }),
  );
  builder.objectField('AliasPrice', 'warnings', (t) =>
    t.loadableList({
      type: 'String',
      nullable: true,
      extensions: { maxRows: 10 } satisfies FieldSize,
      description: 'For super admins: where the prices of its alias are below what a target costs.',
      authScopes: { superAdmin: true },
      load: loadWarnings,
      resolve: ({ alias }) => alias,
    }),
  );
};

const MOST_WARNINGS = 50;

async function loadWarnings(names: AliasName[], { parts }: RequestContext): Promise<string[][]> {
  const { targets } = await readCatalogue(parts.database);
  const prices = await readPrices(parts.database);
  return names.map((name) => {
    const alias = {
      alias: aliasOf(parts.aliasPrefix, name),
      prices: prices.filter((price) => price.alias === name),
      targets: targets.filter((target) => target.alias === name),
    };
    const below = pricesBelowCost([alias], parts.clock.now()).slice(0, MOST_WARNINGS);
    return below.map((one) => belowCostText(one, creditsOfMicro));
  });
}

export const marginDeclarations: readonly Declaration[] = [objects, margins, warnings];

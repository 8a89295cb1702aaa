import { NO_USAGE, type UsageDimension, usageReport } from '../../../domain/calls/usage-report.ts';
import { member } from '../access.ts';
import { badInput } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const DEFAULT_DAYS = 30;
const MOST_DAYS = 400;
const FIRST_DAY_MS = Date.UTC(2000, 0, 1);
const LAST_DAY_MS = Date.UTC(2199, 11, 31);

export const usage: Declaration = (builder) =>
  builder.queryField('usage', (t) =>
    t.field({
      type: 'UsageReport',
      description:
        'What the company’s keys have used: from the day of `from` to the day of `to`, both included, in UTC; the ' +
        'last 30 days unless told. A call is in it as soon as its answer has ended.',
      authScopes: { member: true },
      args: {
        from: t.arg({ type: 'DateTime' }),
        to: t.arg({ type: 'DateTime' }),
        groupBy: t.arg({ type: ['UsageGroup'], description: 'Without it there are totals and no rows.' }),
      },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        const { database, clock } = context.parts;
        const range = daysOf(args, clock.now());
        const dimensions: readonly UsageDimension[] = [...new Set(args.groupBy ?? [])];
        const question = { companyId, keyId: null, ...range };
        if (!dimensions.includes('key')) {
          const by = dimensions.length === 0 ? [[]] : [[], dimensions];
          const [totals = [], rows = []] = (await usageReport(database, { ...question, by })).groups;
          return { totals: totals[0] ?? NO_USAGE, rows };
        }
        // Keys have rows of their own beside the company's, so theirs is a report of its own.
        const [whole, keys] = await Promise.all([
          usageReport(database, { ...question, by: [[]] }),
          usageReport(database, { ...question, by: [dimensions] }),
        ]);
        return { totals: whole.groups[0]?.[0] ?? NO_USAGE, rows: keys.groups[0] ?? [] };
      },
    }),
  );

interface Range {
  readonly from?: Date | null | undefined;
  readonly to?: Date | null | undefined;
}

function daysOf({ from, to }: Range, nowMs: number): { readonly from: string; readonly to: string } {
  for (const [field, day] of Object.entries({ from, to })) {
    if (day == null || (day.getTime() >= FIRST_DAY_MS && day.getTime() < LAST_DAY_MS)) continue;
    throw badInput(field, 'a day from 2000 to 2199 is needed');
  }
  const lastMs = dayOf(to?.getTime() ?? nowMs);
  const firstMs = from == null ? lastMs - (DEFAULT_DAYS - 1) * DAY_MS : dayOf(from.getTime());
  if (firstMs > lastMs) throw badInput('from', 'it lies after the end of the period');
  if ((lastMs - firstMs) / DAY_MS >= MOST_DAYS) {
    throw badInput('from', `at most ${MOST_DAYS} days at once: ask for a later from or an earlier to`);
  }
  return { from: dayText(firstMs), to: dayText(lastMs) };
}

function dayOf(atMs: number): number {
  return Math.floor(atMs / DAY_MS) * DAY_MS;
}

function dayText(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}

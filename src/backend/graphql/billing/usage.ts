import {
  type CountedFailures,
  countFailures,
  type FailedCall,
  type FailureGroup,
  type FailureOutcome,
  type FailuresQuestion,
  latestFailures,
} from '../../../domain/calls/usage/usage-failures.ts';
import { spanOf, type UsageRange } from '../../../domain/calls/usage/usage-range.ts';
import {
  NO_USAGE,
  type UsageDimension,
  type UsageGroup,
  type UsageTotals,
  usageReport,
} from '../../../domain/calls/usage/usage-report.ts';
import {
  isSubjectDimension,
  type SubjectDimension,
  type SubjectGroup,
  subjectUsage,
} from '../../../domain/calls/usage/usage-subjects.ts';
import { creditsAsNumber } from '../../../domain/credits/ledger/credit-account.ts';
import { member } from '../access.ts';
import { badInput } from '../errors.ts';
import { usagePeriod } from '../input.ts';
import type { FieldSize } from '../query-cost.ts';
import type { Declaration } from '../schema-builder.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    UsageTotals: UsageTotals;
    UsageRow: ShownRow;
    UsageReport: {
      readonly range: UsageRange;
      readonly totals: UsageTotals;
      readonly rows: readonly ShownRow[];
    };
    UsageFailures: CountedFailures & { readonly question: Omit<FailuresQuestion, 'by'> };
    UsageFailureRow: FailureGroup;
    FailedCall: FailedCall;
  }
  interface SchemaScalars {
    UsageGroup: UsageDimension | SubjectDimension;
    FailureOutcome: FailureOutcome;
  }
}

const usageReportObjects: Declaration = (builder) => {
  builder.enumType('UsageGroup', {
    values: {
      DAY: { value: 'day' },
      ALIAS: { value: 'model' },
      KEY: { value: 'key' },
      PROJECT: { value: 'project', description: 'The value of the key when the call began.' },
      END_USER: { value: 'user', description: '`user` of the body.' },
      TAG: { value: 'tag', description: 'A call with several tags counts for each of them.' },
    } as const,
  });
  builder.objectType('UsageTotals', {
    description: 'Tokens of successful calls.',
    fields: (t) => ({
      calls: t.float({ resolve: ({ calls }) => Number(calls) }),
      failures: t.float({ resolve: ({ failures }) => Number(failures) }),
      promptTokens: t.float({ resolve: ({ promptTokens }) => Number(promptTokens) }),
      cachedTokens: t.float({ resolve: ({ cachedTokens }) => Number(cachedTokens) }),
      cacheWriteTokens: t.float({
        description: 'Tokens of prompts that providers wrote to their caches.',
        resolve: ({ cacheWriteTokens }) => Number(cacheWriteTokens),
      }),
      completionTokens: t.float({ resolve: ({ completionTokens }) => Number(completionTokens) }),
      credits: t.float({ resolve: ({ chargeMicro }) => creditsAsNumber(chargeMicro) }),
      toolCredits: t.float({
        description: 'The part of `credits` that is for hosted tools, such as web search.',
        resolve: ({ surchargeMicro }) => creditsAsNumber(surchargeMicro),
      }),
    }),
  });
  builder.objectType('UsageRow', {
    description: 'Null for dimensions that the report is not grouped by.',
    fields: (t) => ({
      day: t.exposeString('day', { nullable: true }),
      alias: t.exposeString('model', { nullable: true }),
      keyId: t.exposeID('keyId', { nullable: true }),
      project: t.exposeString('project', { nullable: true }),
      endUser: t.exposeString('endUser', { nullable: true }),
      tag: t.exposeString('tag', { nullable: true }),
      totals: t.field({ type: 'UsageTotals', resolve: (row) => row }),
    }),
  });
  builder.objectType('UsageReport', {
    fields: (t) => ({
      from: t.field({
        type: 'DateTime',
        description:
          'The first moment that the report covers: earlier than the one given where calls of a part of a day cannot be ' +
          'read one by one, because they are past their retention or more than 100,000; later where a company has too many ' +
          'names for the period to be read by PROJECT, END_USER or TAG together with KEY, or with DAY and ALIAS.',
        resolve: ({ range }) => new Date(spanOf(range).fromMs),
      }),
      to: t.field({
        type: 'DateTime',
        description: 'The end of the period, exclusive.',
        resolve: ({ range }) => new Date(spanOf(range).beforeMs),
      }),
      totals: t.expose('totals', { type: 'UsageTotals' }),
      rows: t.field({
        type: ['UsageRow'],
        extensions: { maxRows: 400 } satisfies FieldSize,
        resolve: ({ rows }) => [...rows],
      }),
    }),
  });
};

const usageFailuresObjects: Declaration = (builder) => {
  builder.enumType('FailureOutcome', {
    values: {
      FAILED: { description: 'It failed on the way to a model, or had a response that is not charged.' },
      REFUSED: {
        description: 'It was refused before it ran: no credits, a limit, a scope, an invalid request.',
      },
    },
  });
  builder.objectType('UsageFailureRow', {
    description: 'Null for dimensions that the report is not grouped by.',
    fields: (t) => ({
      outcome: t.expose('outcome', { type: 'FailureOutcome' }),
      reason: t.exposeString('reason', {
        nullable: true,
        description: 'A short code such as client-left or INSUFFICIENT_CREDITS.',
      }),
      httpStatus: t.exposeInt('httpStatus', { description: 'The response to the caller.' }),
      day: t.exposeString('day', { nullable: true }),
      alias: t.exposeString('model', { nullable: true }),
      keyId: t.exposeID('keyId', { nullable: true }),
      calls: t.float({ resolve: ({ calls }) => Number(calls) }),
      lastAt: t.expose('lastAt', { type: 'DateTime' }),
    }),
  });
  builder.objectType('FailedCall', {
    fields: (t) => ({
      id: t.exposeID('id'),
      requestId: t.exposeString('requestId', {
        description: 'The value of the x-request-id response header.',
      }),
      endpoint: t.exposeString('endpoint'),
      outcome: t.expose('outcome', { type: 'FailureOutcome' }),
      reason: t.exposeString('reason', { nullable: true }),
      httpStatus: t.exposeInt('httpStatus'),
      alias: t.exposeString('model', { nullable: true }),
      keyId: t.exposeID('keyId', { nullable: true }),
      startedAt: t.expose('startedAt', { type: 'DateTime' }),
      durationMs: t.exposeInt('durationMs'),
    }),
  });
  builder.objectType('UsageFailures', {
    fields: (t) => ({
      rows: t.field({
        type: ['UsageFailureRow'],
        description: 'Most frequent first, at most 1,000.',
        resolve: ({ groups }) => [...groups],
      }),
      countedFrom: t.expose('countedFrom', {
        type: 'DateTime',
        nullable: true,
        description: 'Set if there were more than 20,000: only those since this time are counted.',
      }),
      latest: t.field({
        type: ['FailedCall'],
        description: 'The newest 50.',
        async resolve({ question }, _args, context) {
          return [...(await latestFailures(context.parts.database, question))];
        },
      }),
    }),
  });
};

const usage: Declaration = (builder) =>
  builder.queryField('usage', (t) =>
    t.field({
      type: 'UsageReport',
      description:
        'What the company’s keys have used. `from` and `to` are days in UTC, both included, or moments, exact to the ' +
        'millisecond, of which `to` is not included; the last 30 days by default. A call is in it as soon as its answer ' +
        'has ended, and counts when it began.',
      authScopes: { member: true },
      args: {
        from: t.arg({ type: 'DateTime' }),
        to: t.arg({ type: 'DateTime' }),
        groupBy: t.arg({
          type: ['UsageGroup'],
          description:
            'Without it there are totals and no rows. Of PROJECT, END_USER and TAG one at a time; then the period is ' +
            'whole days, calls without one are in the totals alone, and names beyond USAGE_NAMES_PER_DAY are `(other)`.',
        }),
      },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        const { database, clock } = context.parts;
        const { dimensions, subject } = splitDimensions(args.groupBy ?? []);
        const question = { companyId, keyId: null, ...usagePeriod(args, clock.now()) };
        if (subject !== null) {
          const { range, groups } = await subjectUsage(database, { ...question, subject, by: dimensions });
          const whole = await usageReport(database, { ...question, ...range, by: [[]] });
          const totals = whole.groups[0]?.[0] ?? NO_USAGE;
          return { range, totals, rows: groups.map((row) => shownBy(subject, row)) };
        }
        if (!dimensions.includes('key')) {
          const by = dimensions.length === 0 ? [[]] : [[], dimensions];
          const { range, groups } = await usageReport(database, { ...question, by });
          const [totals = [], rows = []] = groups;
          return { range, totals: totals[0] ?? NO_USAGE, rows };
        }
        // Keys have rows of their own beside the company's, so they need a second report.
        const [whole, keys] = await Promise.all([
          usageReport(database, { ...question, by: [[]] }),
          usageReport(database, { ...question, by: [dimensions] }),
        ]);
        return { range: whole.range, totals: whole.groups[0]?.[0] ?? NO_USAGE, rows: keys.groups[0] ?? [] };
      },
    }),
  );

/** Dimensions that the report is not grouped by are undefined. */
type ShownRow = UsageGroup & {
  readonly project?: string;
  readonly endUser?: string;
  readonly tag?: string;
};

const SHOWN_AS = { project: 'project', user: 'endUser', tag: 'tag' } as const;

function shownBy(subject: SubjectDimension, { subject: name, ...group }: SubjectGroup): ShownRow {
  return { ...group, [SHOWN_AS[subject]]: name };
}

function splitDimensions(groupBy: readonly (UsageDimension | SubjectDimension)[]): {
  readonly dimensions: readonly UsageDimension[];
  readonly subject: SubjectDimension | null;
} {
  const all = [...new Set(groupBy)];
  const [subject = null, ...more] = all.filter(isSubjectDimension);
  if (more.length > 0) throw badInput('groupBy', 'name one of PROJECT, END_USER and TAG, not several');
  return { subject, dimensions: all.filter((one) => !isSubjectDimension(one)) };
}

const usageFailures: Declaration = (builder) =>
  builder.queryField('usageFailures', (t) =>
    t.field({
      type: 'UsageFailures',
      description:
        'Why calls of the company failed or were refused, in a period as `usage` takes it. Refused calls are in no other ' +
        'total.',
      authScopes: { member: true },
      args: {
        from: t.arg({ type: 'DateTime' }),
        to: t.arg({ type: 'DateTime' }),
        groupBy: t.arg({
          type: ['UsageGroup'],
          description: 'In addition to outcome, reason and status, which every row has.',
        }),
      },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        const { database, clock } = context.parts;
        const question = { companyId, ...usagePeriod(args, clock.now()) };
        const { dimensions: by, subject } = splitDimensions(args.groupBy ?? []);
        if (subject !== null) throw badInput('groupBy', 'failures are by DAY, ALIAS and KEY');
        return { question, ...(await countFailures(database, { ...question, by })) };
      },
    }),
  );

export const usageDeclarations: readonly Declaration[] = [
  usageReportObjects,
  usageFailuresObjects,
  usage,
  usageFailures,
];

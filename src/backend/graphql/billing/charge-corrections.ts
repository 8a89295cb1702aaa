import {
  type ChargeCorrection,
  correctCharge as correct,
  LONGEST_REASON,
  listCorrections,
} from '../../../domain/calls/corrections/correct-charge.ts';
import {
  rerateCalls as applyRerate,
  MOST_DEARER,
  MOST_RERATED_DAYS,
  RERATE_QUEUE,
  type RerateFilter,
  type RerateReport,
  rerateReport as rerate,
  storedFilter,
} from '../../../domain/calls/corrections/rerate-calls.ts';
import { type CallLogFilter, type LoggedCall, listCalls } from '../../../domain/calls/log/call-log.ts';
import { creditsAsNumber, publishLevel } from '../../../domain/credits/ledger/credit-account.ts';
import { isId } from '../../../domain/keys/api-key.ts';
import { freshCode } from '../access.ts';
import { microFrom } from '../amounts.ts';
import { badInput, conflict, notFound } from '../errors.ts';
import { bounded } from '../input.ts';
import type { FieldSize } from '../query-cost.ts';
import { recordedChange } from '../recorded-change.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';
import { callFilter, loadCompanies } from './calls.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    ChargeCorrection: ChargeCorrection;
    CallCorrections: readonly ChargeCorrection[];
    RerateReport: RerateReport;
    RerateOfCompany: RerateReport['companies'][number];
    DearerCall: RerateReport['dearer'][number];
  }
}

/** What a list of calls is expected to have in all. */
const USUAL_CORRECTIONS = 3;

const correctionFields: Declaration = (builder) => {
  builder.objectType('ChargeCorrection', {
    description: 'Credits of a call that were given back.',
    fields: (t) => ({
      id: t.exposeID('id'),
      credits: t.float({ resolve: ({ creditsMicro }) => creditsAsNumber(creditsMicro) }),
      reason: t.exposeString('reason'),
      createdAt: t.expose('createdAt', { type: 'DateTime' }),
    }),
  });
  builder.objectType('CallCorrections', {
    fields: (t) => ({
      credits: t.float({
        description: 'The sum of all.',
        resolve: (list) => creditsAsNumber(list.reduce((sum, { creditsMicro }) => sum + creditsMicro, 0n)),
      }),
      nodes: t.field({
        type: ['ChargeCorrection'],
        extensions: { maxRows: USUAL_CORRECTIONS } satisfies FieldSize,
        resolve: (list) => [...list],
      }),
    }),
  });
  builder.objectFields('Call', (t) => ({
    corrections: t.loadable({
      type: 'CallCorrections',
      description: 'What was given back of `credits`, which stays what the call was charged.',
      load: loadCorrections,
      resolve: ({ id }) => id,
    }),
  }));
};

async function loadCorrections(
  ids: string[],
  context: RequestContext,
): Promise<(readonly ChargeCorrection[])[]> {
  const found = Map.groupBy(await listCorrections(context.parts.database, ids), ({ callId }) => callId);
  return ids.map((id) => found.get(id) ?? []);
}

const correctCharge: Declaration = (builder) =>
  builder.mutationField('correctCharge', (t) =>
    t.field({
      type: 'Call',
      description:
        'Gives back credits of a call, once per reason. Who paid for it gets them; where a company pays by invoice, they come ' +
        'off its usage, or off the invoice by a credit note, which shows the reason.',
      authScopes: { superAdmin: true },
      args: {
        requestId: t.arg.string({ required: true, description: 'Of the call, or its id.' }),
        credits: t.arg.float({ required: true, description: 'What is given back, above zero.' }),
        reason: t.arg.string({ required: true }),
      },
      async resolve(_root, args, context) {
        await freshCode(context);
        const { clock, secrets, jobQueue, sharedState, log } = context.parts;
        const creditsMicro = microFrom('credits', args.credits);
        if (creditsMicro <= 0n) throw badInput('credits', 'it must be above zero: it is what is given back');
        const reason = bounded('paragraph', 'reason', args.reason);
        if (reason.length > LONGEST_REASON) throw badInput('reason', `at most ${LONGEST_REASON} characters`);
        const call = await chargedCall(context, bounded('line', 'requestId', args.requestId));
        const callId = call.id;
        const now = new Date(clock.now());
        const level = await recordedChange(context, async ({ transaction, record, nothingChanged }) => {
          const made = { id: secrets.newId(), callId, creditsMicro, reason, now };
          const done = await correct(transaction, jobQueue, made);
          switch (done.outcome) {
            case 'not-found':
              throw notFound('call');
            case 'refused':
              throw conflict(`The charge stays as it is: ${done.problem}.`);
            case 'corrected-before':
              nothingChanged();
              return null;
            case 'corrected': {
              const { companyId } = done;
              const details = { credits: args.credits, reason };
              await record({
                ...{ action: 'charge.corrected', objectKind: 'call', objectId: callId, companyId, details },
              });
              return done.level;
            }
          }
        });
        if (level !== null) await publishLevel(sharedState, level, log);
        return call;
      },
    }),
  );

async function chargedCall({ parts: { database } }: RequestContext, named: string): Promise<LoggedCall> {
  const page = { limit: 100, after: null };
  const byId = isId(named) ? (await listCalls(database, { id: named }, page)).calls : [];
  // A client's own request id may look like an id of ours.
  const calls = byId.length > 0 ? byId : (await listCalls(database, { requestId: named }, page)).calls;
  const charged = calls.filter(({ chargeMicro }) => chargeMicro > 0n);
  const [call] = charged;
  if (calls.length === 0) throw notFound('call');
  if (call === undefined) throw conflict('This call was not charged.');
  if (charged.length > 1) {
    throw conflict(`${charged.length} charged calls have this request id: name the one by its own id.`);
  }
  return call;
}

const DAY_MS = 24 * 60 * 60_000;
/** How many calls are corrected within the request. A job corrects the others. */
const MOST_AT_ONCE = 500;
const MOST_COMPANIES = 1_000;

const rerateObjects: Declaration = (builder) => {
  builder.objectType('RerateOfCompany', {
    fields: (t) => ({
      company: t.loadable({
        type: 'CallCompany',
        nullable: true,
        load: loadCompanies,
        resolve: ({ companyId }) => companyId,
      }),
      calls: t.exposeInt('calls'),
      difference: t.float({
        description: 'The credits that are given back.',
        resolve: ({ beforeMicro, afterMicro }) => creditsAsNumber(beforeMicro - afterMicro),
      }),
    }),
  });
  builder.objectType('DearerCall', {
    fields: (t) => ({
      id: t.exposeID('id'),
      requestId: t.exposeString('requestId'),
      credits: t.float({ resolve: ({ chargeMicro }) => creditsAsNumber(chargeMicro) }),
      newCredits: t.float({ resolve: ({ newMicro }) => creditsAsNumber(newMicro) }),
    }),
  });
  const sum = (report: RerateReport, of: (one: RerateReport['companies'][number]) => bigint) =>
    creditsAsNumber(report.companies.reduce((total, one) => total + of(one), 0n));
  builder.objectType('RerateReport', {
    fields: (t) => ({
      calls: t.int({
        description: 'Calls that cost less at the prices that are now valid for their start.',
        resolve: ({ companies }) => companies.reduce((count, { calls }) => count + calls, 0),
      }),
      creditsBefore: t.float({ resolve: (report) => sum(report, ({ beforeMicro }) => beforeMicro) }),
      creditsAfter: t.float({ resolve: (report) => sum(report, ({ afterMicro }) => afterMicro) }),
      companies: t.field({
        type: ['RerateOfCompany'],
        extensions: { maxRows: MOST_COMPANIES } satisfies FieldSize,
        resolve: ({ companies }) => companies.slice(0, MOST_COMPANIES),
      }),
      dearer: t.field({
        type: ['DearerCall'],
        description: 'Calls that would cost more, which keep their charge: the first hundred.',
        extensions: { maxRows: MOST_DEARER } satisfies FieldSize,
        resolve: ({ dearer }) => [...dearer],
      }),
    }),
  });
};

const rerateCalls: Declaration = (builder) =>
  builder.mutationField('rerateCalls', (t) =>
    t.field({
      type: 'RerateReport',
      description:
        'Prices calls again by the prices that are now valid for their start, and gives back what they cost less: once for each ' +
        `call and price. Of many calls the first ${MOST_AT_ONCE} at once, the others by a job. A dry run only reports.`,
      authScopes: { superAdmin: true },
      args: {
        filter: t.arg({
          type: 'CallFilter',
          required: true,
          description: `\`model\`, \`from\` and \`to\` are required, at most ${MOST_RERATED_DAYS} days apart.`,
        }),
        dryRun: t.arg.boolean({ defaultValue: true }),
      },
      async resolve(_root, args, context) {
        const { parts } = context;
        const filter = rerateFilter(await callFilter(context, args.filter));
        const report = await rerate(parts.database, filter);
        if (args.dryRun !== false || report.companies.length === 0) return report;
        await freshCode(context);
        await recordedChange(context, async ({ transaction, record }) => {
          const { model, from, to } = filter;
          const details = {
            ...{ model, from: from.toISOString(), to: to.toISOString() },
            calls: report.companies.reduce((count, { calls }) => count + calls, 0),
          };
          const object = { objectKind: 'model-alias', objectId: model, companyId: filter.companyId ?? null };
          await record({ action: 'calls.rerated', ...object, details });
          const data = { filter: storedFilter(filter) };
          await parts.jobQueue.enqueue(RERATE_QUEUE.name, data, { within: transaction });
        });
        await applyRerate({ ...parts, log: context.log }, filter, { most: MOST_AT_ONCE });
        return report;
      },
    }),
  );

function rerateFilter(filter: CallLogFilter): RerateFilter {
  const { model, from, to } = filter;
  if (model == null) throw badInput('filter.model', 'name the alias whose price was wrong');
  if (from == null) throw badInput('filter.from', 'it is required');
  if (to == null) throw badInput('filter.to', 'it is required');
  if (to.getTime() - from.getTime() > MOST_RERATED_DAYS * DAY_MS) {
    throw badInput('filter.to', `at most ${MOST_RERATED_DAYS} days after \`from\``);
  }
  return { ...filter, model, from, to };
}

export const chargeCorrectionDeclarations: readonly Declaration[] = [
  correctionFields,
  rerateObjects,
  correctCharge,
  rerateCalls,
];

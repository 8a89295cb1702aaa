import { fromMinorUnits } from '../../../domain/catalog/currency.ts';
import { creditsAsNumber } from '../../../domain/credits/ledger/credit-account.ts';
import { requestAudit } from '../../../domain/reconciliation/audit-work.ts';
import type { CashTotals, CreditTotals } from '../../../domain/reconciliation/credit-totals.ts';
import type { Difference } from '../../../domain/reconciliation/difference.ts';
import {
  type AuditReport,
  auditDaily,
  readReport,
} from '../../../domain/reconciliation/provider/provider-audit.ts';
import { badInput, conflict } from '../errors.ts';
import { recordedChange } from '../recorded-change.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    AuditReport: AuditReport;
    AuditDifference: Difference;
    AuditCredits: CreditTotals;
    AuditCash: CashTotals;
  }
}

const auditReportObjects: Declaration = (builder) => {
  builder.objectType('AuditDifference', {
    description: 'A problem and its remedy.',
    fields: (t) => ({
      kind: t.exposeString('kind', { description: 'docs/audit.md lists them.' }),
      subject: t.exposeString('subject', {
        description: 'The subject: ids of this system or of the provider.',
      }),
      expected: t.exposeString('expected'),
      found: t.exposeString('found'),
      remedy: t.exposeString('remedy', {
        description: 'The command to run, or what to do at the provider.',
      }),
    }),
  });
  builder.objectType('AuditCredits', {
    description: 'Over all companies: incoming minus outgoing equals the remaining balance.',
    fields: (t) => ({
      sold: t.float({ resolve: ({ soldMicro }) => creditsAsNumber(soldMicro) }),
      granted: t.float({ resolve: ({ grantedMicro }) => creditsAsNumber(grantedMicro) }),
      invoiced: t.float({
        description: 'Usage that was invoiced and paid.',
        resolve: ({ invoicedMicro }) => creditsAsNumber(invoicedMicro),
      }),
      adjusted: t.float({ resolve: ({ adjustedMicro }) => creditsAsNumber(adjustedMicro) }),
      refunded: t.float({ resolve: ({ refundedMicro }) => creditsAsNumber(refundedMicro) }),
      spent: t.float({ resolve: ({ spentMicro }) => creditsAsNumber(spentMicro) }),
      expired: t.float({ resolve: ({ expiredMicro }) => creditsAsNumber(expiredMicro) }),
      left: t.float({ resolve: ({ leftMicro }) => creditsAsNumber(leftMicro) }),
    }),
  });
  builder.objectType('AuditCash', {
    description: 'The money of one currency, in its major units.',
    fields: (t) => ({
      currency: t.exposeString('currency'),
      received: t.float({ resolve: (cash) => major(cash, cash.receivedMinor) }),
      refunded: t.float({ resolve: (cash) => major(cash, cash.refundedMinor) }),
      disputed: t.float({
        description: 'Lost disputes.',
        resolve: (cash) => major(cash, cash.disputedMinor),
      }),
      customerBalance: t.float({
        description: 'Customer balances at the provider that apply to the next invoices.',
        resolve: (cash) => major(cash, cash.customerBalanceMinor),
      }),
      outstanding: t.float({
        description: 'What was paid for the remaining credits, taxes included.',
        resolve: (cash) => major(cash, cash.outstandingMinor),
      }),
    }),
  });
  builder.objectType('AuditReport', {
    description: 'The last audit of the books and of the payment provider’s money.',
    fields: (t) => ({
      checkedAt: t.expose('checkedAt', { type: 'DateTime' }),
      from: t.expose('from', {
        type: 'DateTime',
        description: 'The start of the period that was read from the provider.',
      }),
      to: t.expose('to', { type: 'DateTime' }),
      objectsRead: t.float({ resolve: ({ objectsRead }) => Number(objectsRead) }),
      foreignCharges: t.float({
        description: 'Charges of customers that are not companies here. They are not compared.',
        resolve: ({ foreignCharges }) => Number(foreignCharges),
      }),
      differences: t.expose('differences', { type: ['AuditDifference'] }),
      isCut: t.exposeBoolean('isCut', { description: 'There are more differences than these 1,000.' }),
      credits: t.field({ type: 'AuditCredits', resolve: ({ totals }) => totals.credits }),
      cash: t.field({ type: ['AuditCash'], resolve: ({ totals }) => [...totals.cash] }),
    }),
  });
};

function major({ currency }: CashTotals, minor: bigint): number {
  return Number(fromMinorUnits(minor, currency));
}

/** Long enough for a new system. On a large one the workers produce the first report. */
const FIRST_AUDIT_MS = 15_000;

const auditReport: Declaration = (builder) =>
  builder.queryField('auditReport', (t) =>
    t.field({
      type: 'AuditReport',
      description:
        'What the last audit found: the books against themselves and against the payment provider. The workers run it once ' +
        'a day, `startAudit` and `turnpike audit --provider` at once.',
      authScopes: { superAdmin: true },
      async resolve(_root, _args, { parts }) {
        return (await readReport(parts.database)) ?? (await firstReport(parts));
      },
    }),
  );

/** Runs an audit if the workers have not run one yet. */
async function firstReport(parts: RequestContext['parts']): Promise<AuditReport> {
  const signal = AbortSignal.timeout(FIRST_AUDIT_MS);
  const run = await auditDaily(parts, signal).catch((error: unknown) => {
    if (signal.aborted) return null;
    throw error;
  });
  if (run?.outcome === 'done') return run.report;
  const why = run?.outcome === 'paused' ? `paused: ${run.message}` : 'under way. Try again in some minutes.';
  throw conflict(`The first audit is ${why}`);
}

const startAudit: Declaration = (builder) =>
  builder.mutationField('startAudit', (t) =>
    t.boolean({
      description:
        'Has the workers audit a range of time at once; `auditReport` then shows it. False where that is under way.',
      authScopes: { superAdmin: true },
      args: {
        from: t.arg({ type: 'DateTime', required: true }),
        to: t.arg({ type: 'DateTime', required: true }),
      },
      async resolve(_root, { from, to }, context) {
        if (from > to) throw badInput('from', 'it must not be after to');
        if (to.getTime() - from.getTime() > LONGEST_MS) throw badInput('from', 'at most 800 days before to');
        const isStarted = await requestAudit(context.parts.jobQueue, { from, to });
        const range = `${from.toISOString()}/${to.toISOString()}`;
        await recordedChange(context, ({ record }) =>
          record({
            action: 'audit.started',
            objectKind: 'audit',
            objectId: range,
            companyId: null,
            details: { from: from.toISOString(), to: to.toISOString() },
          }),
        );
        return isStarted;
      },
    }),
  );

const LONGEST_MS = 800 * 24 * 60 * 60_000;

export const auditReportDeclarations: readonly Declaration[] = [auditReportObjects, auditReport, startAudit];

import type { JobQueue, QueueDefinition, QueueWork } from '../../ports/job-queue.ts';
import { auditDaily, auditRange, type ProviderAuditParts } from './provider/provider-audit.ts';
import { type DifferencesReportParts, reportDifferences } from './report-differences.ts';

/** Audits against the payment provider: scheduled ones, and those of a requested range. */
const PAYMENT_AUDIT_QUEUE: QueueDefinition = {
  name: 'payment-audit',
  runSeconds: 3_600,
  ...{ retries: 3, retryDelaySeconds: 60, retryDelayMaxSeconds: 600, heartbeatSeconds: 120 },
};

export const AUDIT_QUEUES: readonly QueueDefinition[] = [PAYMENT_AUDIT_QUEUE];

/**
 * Every ten minutes, continues a paused audit or, about a day after the last one, starts the next. Then reports new
 * differences.
 */
export function auditWork(parts: ProviderAuditParts & DifferencesReportParts): readonly QueueWork[] {
  return [
    {
      queue: PAYMENT_AUDIT_QUEUE,
      concurrency: 1,
      cron: '*/10 * * * *',
      handler: async ({ data, signal }) => {
        const range = rangeIn(data);
        if (range === null) {
          await auditDaily(parts, signal);
          await reportDifferences(parts);
          return;
        }
        const run = await auditRange(parts, range, signal);
        // The queue retries the job, which continues the audit.
        if (run.outcome === 'paused') throw new Error(`the audit is paused: ${run.message}`);
      },
    },
  ];
}

/** Enqueues an audit of a range. False if an audit of the same range is already waiting or running. */
export async function requestAudit(
  jobQueue: Pick<JobQueue, 'enqueue'>,
  { from, to }: { readonly from: Date; readonly to: Date },
): Promise<boolean> {
  const data = { from: from.toISOString(), to: to.toISOString() };
  const id = await jobQueue.enqueue(PAYMENT_AUDIT_QUEUE.name, data, { dedupeKey: `${data.from} ${data.to}` });
  return id !== null;
}

function rangeIn({ from, to }: Readonly<Record<string, unknown>>): { from: Date; to: Date } | null {
  if (typeof from !== 'string' || typeof to !== 'string') return null;
  return { from: new Date(from), to: new Date(to) };
}

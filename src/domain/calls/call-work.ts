import type { QueueDefinition, QueueWork } from '../../ports/job-queue.ts';
import { createRerateHandler, RERATE_QUEUE, type RerateParts } from './corrections/rerate-calls.ts';
import {
  createIdempotencyRetentionHandler,
  IDEMPOTENCY_RETENTION_CRON,
  IDEMPOTENCY_RETENTION_QUEUE,
} from './idempotency/key-claims.ts';
import type { CallPartitionParts } from './partitions/call-partitions.ts';
import {
  CALLS_RETENTION_CRON,
  CALLS_RETENTION_QUEUE,
  createCallsRetentionHandler,
} from './partitions/call-retention.ts';
import {
  reportWithheldUsage,
  type UsageReportParts,
  WITHHELD_USAGE_CRON,
  WITHHELD_USAGE_QUEUE,
} from './settlement/report-withheld-usage.ts';
import {
  createUnpricedReport,
  UNPRICED_CALLS_CRON,
  UNPRICED_CALLS_QUEUE,
} from './usage/report-unpriced-calls.ts';
import { createUsageMonthsHandler, USAGE_MONTHS_CRON, USAGE_MONTHS_QUEUE } from './usage/usage-months.ts';

interface CallWorkParts extends CallPartitionParts, UsageReportParts, RerateParts {
  /** Whole months, besides the current one, for which calls are stored; 0 is unlimited. */
  readonly keepMonths: number;
  /** Whole months, besides the current one, for which sums by project, end user and tag are stored; 0 is unlimited. */
  readonly keepNamesMonths: number;
  /** How long idempotency keys and their answers are stored. */
  readonly idempotencyKeepMs: number;
}

export const CALL_QUEUES: readonly QueueDefinition[] = [
  USAGE_MONTHS_QUEUE,
  IDEMPOTENCY_RETENTION_QUEUE,
  CALLS_RETENTION_QUEUE,
  WITHHELD_USAGE_QUEUE,
  UNPRICED_CALLS_QUEUE,
  RERATE_QUEUE,
];

export function callWork(parts: CallWorkParts): readonly QueueWork[] {
  const reportUnpriced = createUnpricedReport(parts);
  return [
    {
      queue: USAGE_MONTHS_QUEUE,
      concurrency: 1,
      cron: USAGE_MONTHS_CRON,
      handler: createUsageMonthsHandler(parts),
    },
    {
      queue: IDEMPOTENCY_RETENTION_QUEUE,
      concurrency: 1,
      cron: IDEMPOTENCY_RETENTION_CRON,
      handler: createIdempotencyRetentionHandler({ ...parts, keepMs: parts.idempotencyKeepMs }),
    },
    {
      queue: CALLS_RETENTION_QUEUE,
      concurrency: 1,
      cron: CALLS_RETENTION_CRON,
      handler: createCallsRetentionHandler(parts),
    },
    {
      queue: WITHHELD_USAGE_QUEUE,
      concurrency: 1,
      cron: WITHHELD_USAGE_CRON,
      handler: async () => void (await reportWithheldUsage(parts)),
    },
    {
      queue: UNPRICED_CALLS_QUEUE,
      concurrency: 1,
      cron: UNPRICED_CALLS_CRON,
      handler: async () => void (await reportUnpriced()),
    },
    { queue: RERATE_QUEUE, concurrency: 1, handler: createRerateHandler(parts) },
  ];
}

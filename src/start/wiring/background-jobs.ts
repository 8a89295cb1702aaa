import { openJobQueue } from '../../adapters/job-queue/pg-boss.ts';
import { createWorkerRegistry, type WorkerRegistry } from '../../ai-service/health.ts';
import { ACCOUNT_QUEUES, accountWork } from '../../domain/accounts/account-work.ts';
import { ALERT_QUEUES, alertWork } from '../../domain/alerts/deliveries.ts';
import { createAlertDispatch } from '../../domain/alerts/dispatch.ts';
import { ANSWER_CACHE_QUEUES, answerCacheWork } from '../../domain/answer-cache/answer-cache.ts';
import { CALL_HOOK_QUEUE, callHookWork } from '../../domain/call-hooks/hook-deliveries.ts';
import { PAYLOAD_QUEUES, payloadWork } from '../../domain/call-payloads/call-payloads.ts';
import { CALL_QUEUES, callWork } from '../../domain/calls/call-work.ts';
import { CREDIT_QUEUES, creditWork, postpaidTerms } from '../../domain/credits/credit-work.ts';
import { DOCUMENT_QUEUE } from '../../domain/jobs/job-changes.ts';
import { MAIL_QUEUES, mailWork } from '../../domain/mail/mail-worker.ts';
import { MEETING_QUEUES } from '../../domain/meetings/meeting-work.ts';
import { PAYMENT_QUEUES } from '../../domain/payments/payment-jobs.ts';
import { createJobRates, type JobRates } from '../../domain/processes/job-rates.ts';
import { AUDIT_QUEUES } from '../../domain/reconciliation/audit-work.ts';
import { LEDGER_QUEUES, ledgerWork } from '../../domain/reconciliation/proofs/ledger-digests.ts';
import {
  STORED_RESPONSE_QUEUES,
  storedResponseWork,
} from '../../domain/stored-responses/stored-responses.ts';
import { CV_QUEUE } from '../../domain/talents/talent-changes.ts';
import type { JobQueue, QueueDefinition, QueueWork } from '../../ports/job-queue.ts';
import type { Mail } from '../../ports/mail.ts';
import type { Opening } from '../processes/start-service.ts';
import { consoleUrl } from '../settings/addresses.ts';
import { alertParts } from './open-alerts.ts';
import { hookDeliveryParts } from './open-hook-deliveries.ts';
import { mailOutbox, openMail } from './open-mail.ts';

export interface Jobs {
  readonly queue: JobQueue;
  readonly rates: JobRates;
  /** Starts to process jobs: those of every process with workers, and `more`. */
  startWorkers(more: readonly QueueWork[]): Promise<WorkerRegistry>;
}

/** All queues: a process that only enqueues or lists jobs defines them too. */
const QUEUES: readonly QueueDefinition[] = [
  ...MAIL_QUEUES,
  ...ALERT_QUEUES,
  CALL_HOOK_QUEUE,
  ...CREDIT_QUEUES,
  ...CALL_QUEUES,
  ...ACCOUNT_QUEUES,
  ...STORED_RESPONSE_QUEUES,
  ...ANSWER_CACHE_QUEUES,
  ...PAYLOAD_QUEUES,
  ...PAYMENT_QUEUES,
  ...AUDIT_QUEUES,
  ...LEDGER_QUEUES,
  CV_QUEUE,
  DOCUMENT_QUEUE,
  ...MEETING_QUEUES,
];

const MAIL_CLOSES_WITHIN_MS = 5_000;

export async function openJobs(opening: Opening): Promise<Jobs> {
  const { database, log, configuration, whenClosing } = opening;
  let mail: Mail | null = null;
  // Registered before the queue, so that it is closed after the jobs that send mail have ended.
  whenClosing('mail', async () => await mail?.close(MAIL_CLOSES_WITHIN_MS));
  const rates = createJobRates(opening.clock);
  const queue = rates.counted(await openJobQueue({ database, log }));
  whenClosing('job queue', () => queue.stop(configuration.shutdownTimeoutMs));
  for (const definition of QUEUES) await queue.define(definition);
  return {
    queue,
    rates,
    async startWorkers(more) {
      const registry = createWorkerRegistry();
      mail = await openMail(opening);
      for (const work of [...ownWork(opening, queue, mail), ...more]) {
        const { name } = work.queue;
        registry.add(work.reportedAs ?? name, await queue.work(name, work, work.handler));
        if (work.cron !== undefined) await queue.schedule(name, work.cron, {});
      }
      for (const name of RENAMED_QUEUES) await queue.unschedule(name);
      return registry;
    },
  };
}

/** Schedules of earlier versions whose queues have been renamed. They would fill queues that have no worker. */
const RENAMED_QUEUES = [
  'accounts-upkeep',
  'calls-upkeep',
  'idempotency-upkeep',
  'mail-upkeep',
  'meeting-upkeep',
  'payment-upkeep',
  'subscription-upkeep',
];

/** The work that needs neither models nor the payment provider. */
function ownWork(opening: Opening, jobQueue: JobQueue, mail: Mail): readonly QueueWork[] {
  const { configuration, databaseClock } = opening;
  const { from: address, fromName: name } = configuration.mail;
  const outbox = mailOutbox(opening, jobQueue);
  const alerts = createAlertDispatch({ ...opening, jobQueue, mail: outbox });
  return [
    ...mailWork({
      ...{ ...opening, clock: databaseClock, jobQueue, mail, sender: { name, address } },
      consoleUrl: consoleUrl(configuration),
    }),
    ...alertWork({
      ...{ ...opening, clock: databaseClock, jobQueue, ...alertParts(opening) },
      keepDays: configuration.alerts.keepDays,
    }),
    ...callHookWork(hookDeliveryParts(opening)),
    ...creditWork({
      ...{ ...opening, jobQueue, mail: outbox, alerts },
      terms: postpaidTerms(configuration.postpaid),
      expiryNoticeDays: configuration.creditExpiryNoticeDays,
    }),
    ...callWork({
      ...{ ...opening, ...configuration.calls, jobQueue, mail: outbox, alerts },
      idempotencyKeepMs: configuration.idempotency.keepMs,
    }),
    ...accountWork(opening),
    ...ledgerWork(opening),
    ...storedResponseWork(opening),
    ...answerCacheWork(opening),
    ...payloadWork(opening),
  ];
}

import { openJobQueue } from '../../adapters/job-queue/pg-boss.ts';
import { createWorkerBoard, type WorkerBoard } from '../../ai-service/health.ts';
import {
  ACCOUNTS_UPKEEP_CRON,
  ACCOUNTS_UPKEEP_QUEUE,
  createAccountsUpkeepHandler,
} from '../../domain/accounts/sessions.ts';
import {
  createIdempotencyUpkeepHandler,
  IDEMPOTENCY_UPKEEP_CRON,
  IDEMPOTENCY_UPKEEP_QUEUE,
} from '../../domain/calls/idempotency/key-claims.ts';
import {
  CALLS_UPKEEP_CRON,
  CALLS_UPKEEP_QUEUE,
  createCallsUpkeepHandler,
} from '../../domain/calls/partitions/call-retention.ts';
import {
  createUsageMonthsHandler,
  USAGE_MONTHS_CRON,
  USAGE_MONTHS_QUEUE,
} from '../../domain/calls/usage/usage-months.ts';
import { toMinorUnits } from '../../domain/catalog/currency.ts';
import {
  ALERTS_QUEUE,
  createAlertHandler,
  createAlertMails,
  DISPATCH_ALERTS_CRON,
  DISPATCH_ALERTS_QUEUE,
  dispatchAlerts,
} from '../../domain/credits/alerts/dispatch-alerts.ts';
import {
  createMonthlyInvoiceHandler,
  INVOICE_ISSUED_QUEUE,
  MONTHLY_INVOICES_CRON,
  MONTHLY_INVOICES_QUEUE,
  type PostpaidTerms,
} from '../../domain/credits/invoices/monthly-invoices.ts';
import { DOCUMENT_QUEUE } from '../../domain/jobs/job-changes.ts';
import { createMailWorker } from '../../domain/mail/mail-worker.ts';
import { MAIL_QUEUE, MAIL_UPKEEP_QUEUE } from '../../domain/mail/outbox.ts';
import { MEETING_QUEUE, MEETING_UPKEEP_QUEUE } from '../../domain/meetings/meeting.ts';
import { PAYMENT_QUEUES } from '../../domain/payments/payment-jobs.ts';
import { createJobRates, type JobRates } from '../../domain/processes/job-rates.ts';
import { CV_QUEUE } from '../../domain/talents/talent-changes.ts';
import type { JobHandler, JobQueue, QueueDefinition, QueueWorker } from '../../ports/job-queue.ts';
import type { Mail } from '../../ports/mail.ts';
import type { Opening } from '../processes/start-service.ts';
import { consoleUrl } from '../settings/addresses.ts';
import type { Configuration } from '../settings/configuration.ts';
import { mailOutbox, openMail } from './open-mail.ts';

export interface Jobs {
  readonly queue: JobQueue;
  readonly rates: JobRates;
  /** This process takes jobs from now on, and does this work too. */
  startWorkers(more: readonly Work[]): Promise<WorkerBoard>;
}

export interface Work {
  readonly queue: QueueDefinition;
  /** Its name in readiness; the queue's where it is not told. */
  readonly board?: string;
  readonly concurrency: number;
  /** For what runs by the clock. */
  readonly cron?: string;
  readonly handler: JobHandler;
}

const MAIL_CLOSES_WITHIN_MS = 5_000;

/** Every queue there is. A process that only enqueues or looks knows them too. */
const QUEUES: readonly QueueDefinition[] = [
  MAIL_QUEUE,
  MAIL_UPKEEP_QUEUE,
  DISPATCH_ALERTS_QUEUE,
  ALERTS_QUEUE,
  MONTHLY_INVOICES_QUEUE,
  INVOICE_ISSUED_QUEUE,
  USAGE_MONTHS_QUEUE,
  IDEMPOTENCY_UPKEEP_QUEUE,
  CALLS_UPKEEP_QUEUE,
  ACCOUNTS_UPKEEP_QUEUE,
  ...PAYMENT_QUEUES,
  CV_QUEUE,
  DOCUMENT_QUEUE,
  MEETING_QUEUE,
  MEETING_UPKEEP_QUEUE,
];

export async function openJobs(opening: Opening): Promise<Jobs> {
  const { database, log, configuration, whenClosing } = opening;
  const mail = await openMail(opening);
  whenClosing('mail', () => mail.close(MAIL_CLOSES_WITHIN_MS));
  const rates = createJobRates(opening.clock);
  const queue = rates.counted(await openJobQueue({ database, log }));
  whenClosing('job queue', () => queue.stop(configuration.shutdownTimeoutMs));
  for (const definition of QUEUES) await queue.define(definition);
  return {
    queue,
    rates,
    async startWorkers(more) {
      const board = createWorkerBoard();
      board.add('email_worker', await startMailWorker(opening, queue, mail));
      for (const { queue: definition, board: name, concurrency, cron, handler } of [
        ...creditWork(opening, queue),
        ...more,
      ]) {
        board.add(name ?? definition.name, await queue.work(definition.name, { concurrency }, handler));
        if (cron !== undefined) await queue.schedule(definition.name, cron, {});
      }
      return board;
    },
  };
}

function creditWork(opening: Opening, jobQueue: JobQueue): readonly Work[] {
  const { database, configuration } = opening;
  const terms = postpaidTerms(configuration.postpaid);
  const handOn: JobHandler = async () => void (await dispatchAlerts({ ...opening, jobQueue }));
  return [
    { queue: DISPATCH_ALERTS_QUEUE, concurrency: 1, cron: DISPATCH_ALERTS_CRON, handler: handOn },
    {
      queue: ALERTS_QUEUE,
      concurrency: 2,
      handler: createAlertHandler({ database, receive: createAlertMails(mailOutbox(opening, jobQueue)) }),
    },
    {
      queue: MONTHLY_INVOICES_QUEUE,
      concurrency: 1,
      cron: MONTHLY_INVOICES_CRON,
      handler: createMonthlyInvoiceHandler({ ...opening, jobQueue, terms }),
    },
    {
      queue: USAGE_MONTHS_QUEUE,
      concurrency: 1,
      cron: USAGE_MONTHS_CRON,
      handler: createUsageMonthsHandler(opening),
    },
    {
      queue: IDEMPOTENCY_UPKEEP_QUEUE,
      concurrency: 1,
      cron: IDEMPOTENCY_UPKEEP_CRON,
      handler: createIdempotencyUpkeepHandler({ ...opening, keepMs: configuration.idempotency.keepMs }),
    },
    {
      queue: CALLS_UPKEEP_QUEUE,
      concurrency: 1,
      cron: CALLS_UPKEEP_CRON,
      handler: createCallsUpkeepHandler({ ...opening, ...configuration.calls }),
    },
    {
      queue: ACCOUNTS_UPKEEP_QUEUE,
      concurrency: 1,
      cron: ACCOUNTS_UPKEEP_CRON,
      handler: createAccountsUpkeepHandler(opening),
    },
  ];
}

/** Mail is closed after the queue that hands it mails: it is opened, and so registered, before. */
async function startMailWorker(opening: Opening, jobQueue: JobQueue, mail: Mail): Promise<QueueWorker> {
  const { configuration, database, clock, log } = opening;
  const { from: address, fromName: name } = configuration.mail;
  const worker = createMailWorker({
    database,
    jobQueue,
    mail,
    clock,
    log,
    sender: { name, address },
    consoleUrl: consoleUrl(configuration),
  });
  return (await worker.start()).sending;
}

/** The currency is known: the settings refuse any other. */
export function postpaidTerms({ currency, ...rest }: Configuration['postpaid']): PostpaidTerms {
  const minor = (price: string) => {
    const converted = toMinorUnits(price, currency);
    return converted.outcome === 'converted' ? converted.amountMinor : null;
  };
  const minorPerMajor = minor('1');
  if (minorPerMajor === null) throw new Error(`${currency} is no currency`);
  return { currency, ...rest, minorPerMajor, leastMinor: minor('0.01') ?? minorPerMajor };
}

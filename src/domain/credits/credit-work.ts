import type { QueueDefinition, QueueWork } from '../../ports/job-queue.ts';
import type { AlertDispatch } from '../alerts/dispatch.ts';
import { leastMinorOf, toMinorUnits } from '../catalog/currency.ts';
import {
  ALERTS_QUEUE,
  type AlertOutbox,
  createAlertHandler,
  createAlertMails,
  DISPATCH_ALERTS_CRON,
  DISPATCH_ALERTS_QUEUE,
  dispatchAlerts,
} from './alerts/dispatch-alerts.ts';
import {
  countBusyLots,
  EXPIRE_CREDITS_CRON,
  EXPIRE_CREDITS_QUEUE,
  expireCredits,
} from './expiry/expire-credits.ts';
import {
  EXPIRY_NOTICES_CRON,
  EXPIRY_NOTICES_QUEUE,
  type ExpiryOutbox,
  noticeExpiry,
} from './expiry/expiry-mails.ts';
import {
  createMonthlyInvoiceHandler,
  INVOICE_ISSUED_QUEUE,
  MONTHLY_INVOICES_CRON,
  MONTHLY_INVOICES_QUEUE,
  type MonthlyInvoiceParts,
  type PostpaidTerms,
} from './invoices/monthly-invoices.ts';
import { sealOldTransactions } from './ledger/ledger-seals.ts';
import { returnCreditsOfFormerUsers } from './ledger/user-account.ts';

interface CreditWorkParts extends MonthlyInvoiceParts {
  readonly alerts: AlertDispatch;
  readonly mail: AlertOutbox & ExpiryOutbox;
  readonly expiryNoticeDays: number;
}

/** Returns credits of former members to their companies. Usually there are none. */
const RETURNED_CREDITS_QUEUE: QueueDefinition = {
  name: 'returned-credits',
  retries: 3,
  retryDelaySeconds: 60,
  retryDelayMaxSeconds: 600,
  runSeconds: 300,
  heartbeatSeconds: 60,
};

/** Clocks synchronized by NTP differ by milliseconds. */
const MOST_AHEAD_MS = 5 * 60_000;

/** Seals transactions that are older than the seals. On a new system there are none. */
const OLD_SEALS_QUEUE: QueueDefinition = {
  name: 'old-ledger-seals',
  retries: 3,
  retryDelaySeconds: 60,
  retryDelayMaxSeconds: 600,
  runSeconds: 3_600,
  heartbeatSeconds: 60,
};

/** INVOICE_ISSUED_QUEUE is filled here and processed by `payments`. */
export const CREDIT_QUEUES: readonly QueueDefinition[] = [
  DISPATCH_ALERTS_QUEUE,
  ALERTS_QUEUE,
  MONTHLY_INVOICES_QUEUE,
  INVOICE_ISSUED_QUEUE,
  EXPIRE_CREDITS_QUEUE,
  EXPIRY_NOTICES_QUEUE,
  RETURNED_CREDITS_QUEUE,
  OLD_SEALS_QUEUE,
];

export function creditWork(parts: CreditWorkParts): readonly QueueWork[] {
  const { database, mail } = parts;
  return [
    {
      queue: DISPATCH_ALERTS_QUEUE,
      concurrency: 1,
      cron: DISPATCH_ALERTS_CRON,
      handler: async () => void (await dispatchAlerts(parts)),
    },
    {
      queue: ALERTS_QUEUE,
      concurrency: 2,
      handler: createAlertHandler({ database, receive: createAlertMails(mail, parts.alerts) }),
    },
    {
      queue: MONTHLY_INVOICES_QUEUE,
      concurrency: 1,
      cron: MONTHLY_INVOICES_CRON,
      handler: createMonthlyInvoiceHandler(parts),
    },
    {
      queue: EXPIRE_CREDITS_QUEUE,
      concurrency: 1,
      cron: EXPIRE_CREDITS_CRON,
      handler: async ({ signal }) => {
        await countBusyLots(parts, { signal });
        await expireCredits({ ...parts, mostAheadMs: MOST_AHEAD_MS }, signal);
      },
    },
    {
      queue: EXPIRY_NOTICES_QUEUE,
      concurrency: 1,
      cron: EXPIRY_NOTICES_CRON,
      handler: async ({ signal }) => void (await noticeExpiry(parts, signal)),
    },
    {
      queue: RETURNED_CREDITS_QUEUE,
      concurrency: 1,
      cron: '41 * * * *',
      handler: async () => void (await returnCreditsOfFormerUsers(parts)),
    },
    {
      queue: OLD_SEALS_QUEUE,
      concurrency: 1,
      cron: '23 * * * *',
      handler: async ({ signal }) => void (await sealOldTransactions(parts, signal)),
    },
  ];
}

/** The terms from the settings. Throws for an unknown currency, which the settings refuse. */
export function postpaidTerms({
  currency,
  ...rest
}: Pick<PostpaidTerms, 'currency' | 'pricePerCredit' | 'dueDays'>): PostpaidTerms {
  const major = toMinorUnits('1', currency);
  if (major.outcome === 'refused') throw new Error(`${currency} is no currency`);
  return { currency, ...rest, minorPerMajor: major.amountMinor, leastMinor: leastMinorOf(currency) };
}

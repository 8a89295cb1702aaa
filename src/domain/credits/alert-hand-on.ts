import type { Clock } from '../../ports/clock.ts';
import type { Database, Transaction } from '../../ports/database.ts';
import type { JobQueue, QueueDefinition } from '../../ports/job-queue.ts';

/** A threshold that was passed, by what it is told apart by. */
export interface AlertName {
  readonly companyId: string;
  readonly kind: 'LOW_BALANCE' | 'KEY_SPENDING' | 'CREDIT_LINE';
  /** The key's id; of a balance that the company set itself its micro-credits; else empty. */
  readonly subject: string;
  readonly thresholdPercent: number;
  /** What it can be passed once in: a top-up, a month. */
  readonly episode: string;
}

/** The balance that the company set itself, where it is about one. */
export function ownBalanceMicro({ kind, subject }: Pick<AlertName, 'kind' | 'subject'>): bigint | null {
  return kind === 'LOW_BALANCE' && subject !== '' ? BigInt(subject) : null;
}

/** Looks for alerts that wait. */
export const HAND_ON_ALERTS_QUEUE: QueueDefinition = {
  name: 'hand-on-alerts',
  retries: 3,
  retryDelaySeconds: 10,
  retryDelayMaxSeconds: 60,
  runSeconds: 60,
  heartbeatSeconds: 30,
};
export const HAND_ON_ALERTS_CRON = '* * * * *';

/** One job an alert, with its AlertName as data. */
export const ALERTS_QUEUE: QueueDefinition = {
  name: 'alerts',
  retries: 10,
  retryDelaySeconds: 30,
  retryDelayMaxSeconds: 3_600,
  runSeconds: 60,
  heartbeatSeconds: 30,
};

const PAGE = 200;
const MOST_PAGES = 50;

/**
 * Makes a job of every alert that waits: once each, for the job and the mark are of one transaction, and rows that
 * another process is handing on are left to it. Alerts are written by the statement that charges calls; to enqueue
 * there would hold up every call for the few that pass a threshold. Returns how many.
 */
export async function handOnAlerts(parts: {
  readonly database: Database;
  readonly jobQueue: Pick<JobQueue, 'enqueue'>;
  readonly clock: Clock;
}): Promise<number> {
  const { database, jobQueue, clock } = parts;
  let handedOn = 0;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const count = await database.transaction(async (transaction) => {
      const alerts = await takeWaiting(transaction, new Date(clock.now()));
      for (const alert of alerts) {
        await jobQueue.enqueue(ALERTS_QUEUE.name, { ...alert }, { within: transaction });
      }
      return alerts.length;
    });
    handedOn += count;
    if (count < PAGE) break;
  }
  return handedOn;
}

/** `array(…)` runs the search once; behind a join PostgreSQL may run it again, and find others. */
async function takeWaiting(transaction: Transaction, now: Date): Promise<readonly AlertName[]> {
  return await transaction.query<AlertName>(
    `update credit_alerts set handed_on_at = $1
     where ctid = any (array(
       select ctid from credit_alerts where handed_on_at is null order by created_at limit ${PAGE}
       for update skip locked))
     returning company_id as "companyId", kind, subject, threshold_percent as "thresholdPercent", episode`,
    [now],
  );
}

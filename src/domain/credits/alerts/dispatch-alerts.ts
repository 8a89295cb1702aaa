import { z } from 'zod';
import type { Clock } from '../../../ports/clock.ts';
import type { Database, Transaction } from '../../../ports/database.ts';
import type { JobData, JobHandler, JobQueue, QueueDefinition } from '../../../ports/job-queue.ts';
import { findCompany } from '../../accounts/company.ts';
import { findUser } from '../../accounts/user.ts';
import type { AlertDispatch } from '../../alerts/dispatch.ts';
import { findKey } from '../../keys/key-lifecycle.ts';
import { findBudget, nameBudgets } from '../budgets/budgets.ts';
import { readKeyMonth } from '../holds/holds.ts';
import { type AlertContent, eventOf } from './alert-content.ts';
import { type AlertKind, mailReceivers, ownBalanceMicro, readAlertSettings } from './alert-settings.ts';

/** Identifies a crossed threshold. */
interface AlertName {
  /** The account: a company's id, or a user's. */
  readonly companyId: string;
  readonly kind: AlertKind;
  /** The id of the key or budget; for a balance threshold that the company set, its micro-credits; otherwise empty. */
  readonly subject: string;
  readonly thresholdPercent: number;
  /** The period in which it can be crossed once: a top-up, a month. */
  readonly episode: string;
}

/** Queues alerts that have not been queued. */
export const DISPATCH_ALERTS_QUEUE: QueueDefinition = {
  name: 'hand-on-alerts',
  retries: 3,
  retryDelaySeconds: 10,
  retryDelayMaxSeconds: 60,
  runSeconds: 60,
  heartbeatSeconds: 30,
};
export const DISPATCH_ALERTS_CRON = '* * * * *';

/** One job per alert, with its AlertName as data. */
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
 * Enqueues a job for every new alert, once each: the job and the mark are in one transaction, and rows that another
 * process has locked are skipped. Alerts are written by the statement that charges calls; enqueueing there would delay
 * every call for the few that cross a threshold. Returns the number of alerts.
 */
export async function dispatchAlerts(parts: {
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

/** `array(…)` runs the search once; in a join PostgreSQL may run it again and find other rows. */
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

/** An alert with the content of its mail, as of the commit that raised it. */
export interface AlertNotice extends AlertName, AccountInNotice {
  readonly companyName: string;
  /** The id of the account's company, or of the company of the account's user. */
  readonly mailedAs: string;
  readonly isOfUser: boolean;
  readonly raisedAt: Date;
  /** The recipients' addresses: the members that the company chose and still has, otherwise its admins. */
  readonly receivers: readonly string[];
  /** The key that KEY_SPENDING is about. */
  readonly key: KeyInNotice | null;
  /** The budget that BUDGET is about. */
  readonly budget: BudgetInNotice | null;
}

interface AccountInNotice {
  readonly balanceMicro: bigint;
  /** 0 if prepaid, null if unlimited. */
  readonly lineMicro: bigint | null;
  /** The balance that percentages of low balance refer to. */
  readonly toppedUpMicro: bigint;
}

interface BudgetInNotice {
  readonly id: string;
  /** The owner of the budget, for display. */
  readonly of: string;
  readonly isHard: boolean;
  readonly limitMicro: bigint;
  readonly spentMicro: bigint;
}

interface KeyInNotice {
  readonly id: string;
  readonly name: string;
  /** Null if the limit has been removed since. */
  readonly limitMicro: bigint | null;
  readonly spentMicro: bigint;
}

/**
 * Notifies the recipients. It runs within the transaction and may run again for the same alert after a crash, so its
 * effects must be part of the transaction or idempotent.
 */
type AlertReceiver = (notice: AlertNotice, within: Transaction) => Promise<void>;

const alertName = z.object({
  companyId: z.uuid(),
  kind: z.enum(['LOW_BALANCE', 'KEY_SPENDING', 'CREDIT_LINE', 'BUDGET']),
  subject: z.string().max(200),
  thresholdPercent: z.number().int(),
  episode: z.string().max(200),
});

/** The handler of ALERTS_QUEUE. */
export function createAlertHandler(parts: {
  readonly database: Database;
  readonly receive: AlertReceiver;
}): JobHandler {
  return async ({ data }) => {
    const alert = alertName.parse(data satisfies JobData);
    await parts.database.transaction(async (transaction) => {
      const notice = await readNotice(transaction, alert);
      if (notice !== null) await parts.receive(notice, transaction);
    });
  };
}

/**
 * Null if no mail is sent: the company may have switched alerts off, the user may have left, or the same commit has
 * crossed a further threshold, which is mailed instead. An alert about a user's balance goes to that user.
 */
async function readNotice(transaction: Transaction, alert: AlertName): Promise<AlertNotice | null> {
  const owner = await findUser(transaction, alert.companyId);
  const companyId = owner === null ? alert.companyId : owner.companyId;
  if (companyId === null) return null;
  const company = await findCompany(transaction, companyId);
  const raised = await readRaised(transaction, alert);
  const settings = await readAlertSettings(transaction, companyId);
  if (company === null || raised === null || raised.isOvertaken || !settings.isOn) return null;
  const { balanceMicro, lineMicro, toppedUpMicro, raisedAt } = raised;
  const receivers = owner === null ? await mailReceivers(transaction, companyId, settings) : [owner];
  return {
    ...alert,
    ...{ balanceMicro, lineMicro, toppedUpMicro, raisedAt },
    companyName: company.name,
    isOfUser: owner !== null,
    mailedAs: companyId,
    receivers: receivers.map(({ email }) => email),
    key: alert.kind === 'KEY_SPENDING' ? await readKey(transaction, alert, raised) : null,
    budget: alert.kind === 'BUDGET' ? await readBudget(transaction, alert, raised) : null,
  };
}

interface RaisedAlert extends AccountInNotice {
  readonly raisedAt: Date;
  /** Null in alerts raised before these were stored. */
  readonly spentMicro: bigint | null;
  readonly limitMicro: bigint | null;
  /** The same commit has crossed a further threshold. */
  readonly isOvertaken: boolean;
}

/** As stored with the alert, or the current account if it was not stored. Null if there is no account. */
async function readRaised(transaction: Transaction, alert: AlertName): Promise<RaisedAlert | null> {
  const { companyId, kind, subject, thresholdPercent, episode } = alert;
  const [raised] = await transaction.query<RaisedAlert>(
    `select coalesce(alert.created_at, now()) as "raisedAt", alert.spent_micro as "spentMicro", alert.limit_micro as "limitMicro",
       coalesce(alert.balance_micro, account.balance_micro) as "balanceMicro",
       case when alert.balance_micro is null then account.line_micro else alert.line_micro end as "lineMicro",
       coalesce(alert.topped_up_micro, account.topped_up_micro) as "toppedUpMicro",
       exists (select 1 from credit_alerts as further
         where further.company_id = alert.company_id and further.kind = alert.kind and further.episode = alert.episode
           and further.created_at = alert.created_at
           and case alert.kind
             when 'LOW_BALANCE' then case when alert.subject = '' or further.subject = ''
               then further.threshold_percent < alert.threshold_percent
               else further.subject::numeric < alert.subject::numeric end
             else further.subject = alert.subject and further.threshold_percent > alert.threshold_percent end
       ) as "isOvertaken"
     from credit_accounts as account left join credit_alerts as alert on alert.company_id = account.id
       and alert.kind = $2 and alert.subject = $3 and alert.threshold_percent = $4 and alert.episode = $5
     where account.id = $1`,
    [companyId, kind, subject, thresholdPercent, episode],
  );
  return raised ?? null;
}

async function readKey(
  transaction: Transaction,
  alert: AlertName,
  raised: RaisedAlert,
): Promise<KeyInNotice | null> {
  const key = await findKey(transaction, alert.companyId, alert.subject);
  if (key === null) return null;
  const { id, name, monthlySpendingLimitMicro } = key;
  // No mail about a limit that has been removed since.
  const limitMicro =
    monthlySpendingLimitMicro === null ? null : (raised.limitMicro ?? monthlySpendingLimitMicro);
  const spentMicro = raised.spentMicro ?? (await readKeyMonth(transaction, id, `${alert.episode}-01`));
  return { id, name, limitMicro, spentMicro };
}

/** Null if it has been deleted since. */
async function readBudget(
  transaction: Transaction,
  { companyId, subject }: AlertName,
  { spentMicro, limitMicro }: RaisedAlert,
): Promise<BudgetInNotice | null> {
  const budget = await findBudget(transaction, companyId, subject);
  if (budget === null || spentMicro === null || limitMicro === null) return null;
  const of = (await nameBudgets(transaction, companyId)).get(budget.id) ?? budget.subject;
  return { id: budget.id, of, isHard: budget.isHard, limitMicro, spentMicro };
}

/** The mails that alerts become. */
export type AlertMail = AlertContent & {
  readonly to: string;
  readonly companyId: string;
  /** The same alert to the same user is one mail, however often it is dispatched. */
  readonly dedupeKey: string;
};

/** Takes mails within a transaction: they are sent if and only if it commits. */
export interface AlertOutbox {
  send(mail: AlertMail, within: Transaction): Promise<unknown>;
}

/** Mails every alert to the receivers of its company's settings, and dispatches it to the company's channels. */
export function createAlertMails(outbox: AlertOutbox, alerts: AlertDispatch | null = null): AlertReceiver {
  return async (notice, within) => {
    const content = contentOf(notice);
    if (content === null) return;
    const { companyId, kind, subject, thresholdPercent, episode } = notice;
    const fact = [subject, thresholdPercent, episode].join(':');
    for (const to of notice.receivers) {
      const dedupeKey = ['alert', companyId, kind, fact, to].join(':');
      await outbox.send({ to, companyId: notice.mailedAs, dedupeKey, ...content }, within);
    }
    // A user's own balance is not reported to the company's channels.
    if (alerts !== null && !notice.isOfUser) await alerts.dispatch(eventOf(notice, content, fact), within);
  };
}

/** Null if the key, its limit or the budget no longer exists. */
function contentOf(notice: AlertNotice): AlertContent | null {
  const { companyName, kind, key, balanceMicro, toppedUpMicro, lineMicro, raisedAt: at } = notice;
  const percent = BigInt(notice.thresholdPercent);
  switch (kind) {
    case 'LOW_BALANCE': {
      const thresholdMicro = ownBalanceMicro(notice) ?? (toppedUpMicro * percent) / 100n;
      const ofUser = notice.isOfUser ? { isOfUser: true as const } : {};
      return { kind: 'low-balance', data: { companyName, balanceMicro, thresholdMicro, at, ...ofUser } };
    }
    case 'CREDIT_LINE': {
      if (lineMicro === null) return null;
      // For a credit line, show what is left of it.
      const thresholdMicro = (lineMicro * (100n - percent)) / 100n;
      return {
        kind: 'low-balance',
        data: { companyName, balanceMicro: balanceMicro + lineMicro, thresholdMicro, at },
      };
    }
    case 'KEY_SPENDING': {
      if (key === null || key.limitMicro === null) return null;
      const { name: keyName, limitMicro, spentMicro } = key;
      const data = { companyName, keyName, limitMicro, spentMicro, resetsAt: monthAfter(notice.episode) };
      return { kind: 'spending-limit', data: { ...data, percent: notice.thresholdPercent } };
    }
    case 'BUDGET': {
      if (notice.budget === null) return null;
      const { of: budgetOf, isHard, limitMicro, spentMicro } = notice.budget;
      const data = { companyName, budgetOf, isHard, limitMicro, spentMicro };
      const when = { percent: notice.thresholdPercent, resetsAt: monthAfter(notice.episode) };
      return { kind: 'budget', data: { ...data, ...when } };
    }
  }
}

/** `YYYY-MM`. */
function monthAfter(episode: string): Date {
  const [year, month] = episode.split('-').map(Number);
  return new Date(Date.UTC(year ?? 0, month ?? 0));
}

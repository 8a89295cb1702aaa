import { z } from 'zod';
import type { Database, Transaction } from '../../ports/database.ts';
import type { JobData, JobHandler } from '../../ports/job-queue.ts';
import type { AlertName } from './alert-hand-on.ts';

/** An alert with what there is to say about it, as it stands when it is told. */
export interface AlertNotice extends AlertName {
  readonly companyName: string;
  /** The addresses of those who are told: whom the company chose and still has, else its admins. */
  readonly receivers: readonly string[];
  readonly balanceMicro: bigint;
  /** 0 where prepaid, null for no end. */
  readonly lineMicro: bigint | null;
  /** What low balances are shares of. */
  readonly toppedUpMicro: bigint;
  /** The key that KEY_SPENDING is about. */
  readonly key: KeyInNotice | null;
}

export interface KeyInNotice {
  readonly id: string;
  readonly name: string;
  /** Null where the limit has been taken away since. */
  readonly limitMicro: bigint | null;
  readonly spentMicro: bigint;
}

/**
 * Whoever tells people. It runs within the transaction and may run again for the same alert, if a process dies: what
 * it does must be of that transaction, or be harmless twice.
 */
export type AlertReceiver = (notice: AlertNotice, within: Transaction) => Promise<void>;

const MOST_RECEIVERS = 100;

const alertName = z.object({
  companyId: z.uuid(),
  kind: z.enum(['LOW_BALANCE', 'KEY_SPENDING', 'CREDIT_LINE']),
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

/** Null where nobody is to be told: a user's own account has no company, and a company may have switched alerts off. */
async function readNotice(transaction: Transaction, alert: AlertName): Promise<AlertNotice | null> {
  const [company] = await transaction.query<Omit<AlertNotice, keyof AlertName | 'key'>>(
    `select company.name as "companyName", account.balance_micro as "balanceMicro", account.line_micro as "lineMicro",
       account.topped_up_micro as "toppedUpMicro",
       array(select email from users where company_id = company.id and removed_at is null
           and case when chosen.count > 0 then id = any (own.receiver_ids) else role = 'COMPANY_ADMIN' end
         order by created_at, id limit ${MOST_RECEIVERS}) as receivers
     from companies as company join credit_accounts as account on account.id = company.id
     left join alert_settings as own on own.company_id = company.id
     cross join lateral (select count(*) from users
       where company_id = company.id and removed_at is null and id = any (own.receiver_ids)) as chosen
     where company.id = $1 and coalesce(own.is_on, true)`,
    [alert.companyId],
  );
  if (company === undefined) return null;
  return {
    ...alert,
    ...company,
    key: alert.kind === 'KEY_SPENDING' ? await readKey(transaction, alert) : null,
  };
}

async function readKey(transaction: Transaction, alert: AlertName): Promise<KeyInNotice | null> {
  const [key] = await transaction.query<KeyInNotice>(
    `select key.id, key.name, key.monthly_spending_limit_micro as "limitMicro",
       coalesce(spent.charge_micro, 0)::bigint as "spentMicro"
     from api_keys as key
     left join key_months as spent on spent.key_id = key.id and spent.month = ($3 || '-01')::date
     where key.id = $1::uuid and key.company_id = $2`,
    [alert.subject, alert.companyId, alert.episode],
  );
  return key ?? null;
}

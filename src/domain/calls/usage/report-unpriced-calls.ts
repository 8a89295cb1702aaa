import type { Clock } from '../../../ports/clock.ts';
import type { Database } from '../../../ports/database.ts';
import type { QueueDefinition } from '../../../ports/job-queue.ts';
import type { Log } from '../../../ports/log.ts';
import { findCompany } from '../../accounts/company.ts';
import type { AlertDispatch } from '../../alerts/dispatch.ts';

interface UnpricedReportParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly alerts?: AlertDispatch;
}

export const UNPRICED_CALLS_QUEUE: QueueDefinition = {
  name: 'unpriced-calls',
  retries: 3,
  retryDelaySeconds: 10,
  retryDelayMaxSeconds: 60,
  runSeconds: 60,
  heartbeatSeconds: 30,
};
export const UNPRICED_CALLS_CRON = '* * * * *';

const DAY_MS = 86_400_000;

/**
 * Alerts the operators of the first call of each day (UTC) whose provider reported a cost that no price covers. A day that was
 * reported is not looked at again; after a restart, or by another process, the alert is dispatched once all the same.
 */
export function createUnpricedReport({ database, clock, log, alerts }: UnpricedReportParts) {
  let reported = '';

  /** Returns the day that was reported; null if there is nothing new. */
  return async (): Promise<string | null> => {
    const nowMs = clock.now();
    // A call of the last minute of a day may be found on the next day.
    for (const atMs of [nowMs - DAY_MS, nowMs]) {
      const day = new Date(atMs).toISOString().slice(0, 10);
      if (day <= reported) continue;
      const [first] = await database.query<FirstCall>(FIRST_CALL, [day]);
      if (first === undefined) continue;
      const { alias, companyId, requestId, names } = first;
      await database.transaction(async (transaction) => {
        const company = (await findCompany(transaction, companyId))?.name ?? companyId;
        await alerts?.dispatch(
          {
            ...{ kind: 'UNPRICED_CALLS', companyId: null, companyName: null, raisedAt: new Date(nowMs) },
            fact: day,
            title: `A provider reported a cost that no price of ${alias} covers`,
            message: `A call of ${company} was charged by the prices there are, without ${names.join(', ')}. Set a price factor or tool price for ${alias}, or UNPRICED_FIELDS=refuse. Further calls of ${day} are under Margins.`,
            data: { day, model: alias, company_id: companyId, request_id: requestId, unpriced: names },
          },
          transaction,
        );
      });
      log.warn('a provider reported a cost that no price covers: set a price factor or tool price', {
        ...{ day, alias, companyId, requestId, names },
      });
      reported = day;
      return day;
    }
    return null;
  };
}

interface FirstCall {
  readonly alias: string;
  readonly companyId: string;
  readonly requestId: string;
  readonly names: readonly string[];
}

const FIRST_CALL = `select coalesce(served_by, alias) as alias, company_id as "companyId",
    request_id as "requestId", unpriced as names
  from calls where unpriced is not null and started_at >= $1::date::timestamp at time zone 'utc'
    and started_at < ($1::date + 1)::timestamp at time zone 'utc'
  order by started_at limit 1`;

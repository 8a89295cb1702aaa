import type { Clock } from '../../../ports/clock.ts';
import type { Database, Transaction } from '../../../ports/database.ts';
import type { QueueDefinition } from '../../../ports/job-queue.ts';
import type { Log } from '../../../ports/log.ts';
import { findCompany } from '../../accounts/company.ts';
import { listSuperAdmins } from '../../accounts/members.ts';
import type { AlertDispatch } from '../../alerts/dispatch.ts';
import { creditsAsNumber, creditsOfMicro, MOST_MICRO } from '../../credits/ledger/credit-account.ts';

/** Accepts mails within a transaction: they are sent if and only if it commits. */
interface OperatorOutbox {
  send(
    mail: {
      readonly kind: 'withheld-usage';
      readonly to: string;
      readonly dedupeKey: string;
      readonly data: {
        readonly calls: number;
        readonly creditsMicro: bigint;
        readonly companies: string[];
        readonly aliases: string[];
      };
    },
    within: Transaction,
  ): Promise<unknown>;
}

export interface UsageReportParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly mail: OperatorOutbox;
  readonly alerts?: AlertDispatch;
}

export const WITHHELD_USAGE_QUEUE: QueueDefinition = {
  name: 'withheld-usage',
  retries: 3,
  retryDelaySeconds: 10,
  retryDelayMaxSeconds: 60,
  runSeconds: 60,
  heartbeatSeconds: 30,
};
export const WITHHELD_USAGE_CRON = '* * * * *';

/** A provider that misreports does so for every call, so mails are at least this far apart. */
const BETWEEN_MAILS_MS = 60 * 60_000;
const MOST_NAMED = 10;
/** Calls in one mail; the next mail has the rest. */
const MOST_REPORTED = 100_000;

/**
 * Mails the super admins about withheld usage and logs it: the first within a minute, further usage together in one mail, at
 * least an hour later. Returns the number of calls reported.
 */
export async function reportWithheldUsage(parts: UsageReportParts): Promise<number> {
  const { database, clock, log, mail } = parts;
  const now = new Date(clock.now());
  return await database.transaction(async (transaction) => {
    const [last] = await transaction.query<{ isRecent: boolean }>(
      `select coalesce(max(reported_at) > $1, false) as "isRecent" from withheld_usage
       where exists (select 1 from withheld_usage where reported_at is null)`,
      [new Date(now.getTime() - BETWEEN_MAILS_MS)],
    );
    if (last === undefined || last.isRecent) return 0;
    const [found] = await transaction.query<Found>(TAKE_UNREPORTED, [now]);
    if (found === undefined || found.calls === 0) return 0;
    const excessMicro = BigInt(found.excess);
    const companies: string[] = [];
    for (const id of found.companies) companies.push((await findCompany(transaction, id))?.name ?? id);
    const { calls, aliases, lastCall } = found;
    const creditsMicro = excessMicro > MOST_MICRO ? MOST_MICRO : excessMicro;
    for (const to of await listSuperAdmins(transaction)) {
      const dedupeKey = `withheld-usage:${lastCall}:${to}`;
      const data = { calls, creditsMicro, companies, aliases: [...aliases] };
      await mail.send({ kind: 'withheld-usage', to, dedupeKey, data }, transaction);
    }
    await parts.alerts?.dispatch(
      {
        ...{ kind: 'WITHHELD_USAGE', companyId: null, companyName: null, raisedAt: now },
        ...{ fact: String(lastCall), mailKey: `withheld-usage:${lastCall}` },
        title: `Usage of ${calls} ${calls === 1 ? 'call' : 'calls'} was withheld`,
        message: `Providers reported more usage than a call can have, worth ${creditsOfMicro(creditsMicro)} credits. Post or drop it under Withheld usage.`,
        data: { calls, credits: creditsAsNumber(creditsMicro), companies, aliases },
      },
      transaction,
    );
    log.error(
      'providers reported more usage than a call can have; the excess is not charged: see turnpike withheld-usage',
      {
        ...{ calls, aliases, companies: found.companies, lastCall, excessMicro: String(excessMicro) },
      },
    );
    return calls;
  });
}

interface Found {
  readonly calls: number;
  readonly excess: string;
  readonly companies: readonly string[];
  readonly aliases: readonly string[];
  readonly lastCall: string | null;
}

const TAKE_UNREPORTED = `with taken as (
    update withheld_usage set reported_at = $1
    where call_id = any (array(
      select call_id from withheld_usage where reported_at is null order by call_id limit ${MOST_REPORTED}
      for update skip locked))
    returning call_id, company_id, alias, excess_micro)
  select count(*)::int as calls, coalesce(sum(excess_micro), 0)::text as excess, max(call_id::text) as "lastCall",
    array(select distinct company_id::text from taken order by 1 limit ${MOST_NAMED}) as companies,
    array(select distinct alias from taken order by 1 limit ${MOST_NAMED}) as aliases
  from taken`;

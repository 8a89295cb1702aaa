import type { Clock } from '../../ports/clock.ts';
import type { Database, Transaction } from '../../ports/database.ts';
import { listSuperAdmins } from '../accounts/members.ts';
import type { AlertDispatch } from '../alerts/dispatch.ts';

/** Accepts mails within a transaction: they are sent if and only if it commits. */
interface OperatorOutbox {
  send(
    mail: {
      readonly kind: 'audit-differences';
      readonly to: string;
      readonly dedupeKey: string;
      readonly data: {
        readonly differences: number;
        readonly newDifferences: number;
        readonly kinds: string[];
        readonly checkedAt: Date;
      };
    },
    within: Transaction,
  ): Promise<unknown>;
}

export interface DifferencesReportParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly mail: OperatorOutbox;
  readonly alerts: AlertDispatch;
}

const MOST_NAMED = 10;
/** Older audits were reported already, and the mails that would prevent a second report may have been deleted. */
const REPORTED_FOR_MS = 2 * 24 * 60 * 60_000;

/**
 * Mails the super admins and alerts the operators' channels if the newest daily audit has differences that the previous
 * one did not have. Each is reported once, no matter how many days it remains; running it again sends nothing again.
 * Returns how many are new.
 */
export async function reportDifferences(parts: DifferencesReportParts): Promise<number> {
  const { database, clock, mail, alerts } = parts;
  const now = new Date(clock.now());
  return await database.transaction(async (transaction) => {
    const [last, before] = await transaction.query<{ id: string; checkedAt: Date }>(LAST_TWO);
    if (last === undefined || now.getTime() - last.checkedAt.getTime() > REPORTED_FOR_MS) return 0;
    const { id, checkedAt } = last;
    const [found] = await transaction.query<Found>(FIND, [id, before?.id ?? null]);
    if (found === undefined || found.newDifferences === 0) return 0;
    const { differences, newDifferences } = found;
    const kinds = found.kinds.slice(0, MOST_NAMED);
    const data = { differences, newDifferences, kinds, checkedAt };
    for (const to of await listSuperAdmins(transaction)) {
      const dedupeKey = `audit-differences:${id}:${to}`;
      await mail.send({ kind: 'audit-differences', to, dedupeKey, data }, transaction);
    }
    await alerts.dispatch(
      {
        ...{ kind: 'AUDIT_DIFFERENCES', companyId: null, companyName: null, raisedAt: checkedAt },
        ...{ fact: id, mailKey: `audit-differences:${id}` },
        title: `The audit found ${differences} ${differences === 1 ? 'difference' : 'differences'}`,
        message: `New since the audit before: ${newDifferences}. The Audit page and turnpike audit --provider name the remedy of each.`,
        data: { differences, new_differences: newDifferences, kinds, audit_id: id },
      },
      transaction,
    );
    return newDifferences;
  });
}

interface Found {
  readonly differences: number;
  readonly newDifferences: number;
  readonly kinds: readonly string[];
}

const LAST_TWO = `
  select id, checked_at as "checkedAt" from audits where is_daily and status = 'DONE' order by checked_at desc limit 2`;

const FIND = `
  select count(*)::integer as differences, coalesce(array_agg(distinct kind order by kind), '{}') as kinds,
    (count(*) filter (where not exists (
      select 1 from audit_differences as before
      where before.audit_id = $2
        and (before.kind, before.subject, before.expected, before.found)
          = (present.kind, present.subject, present.expected, present.found)
    )))::integer as "newDifferences"
  from audit_differences as present where audit_id = $1`;

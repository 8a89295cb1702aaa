import type { Statements } from '../../ports/database.ts';

export type AlertKind = 'LOW_BALANCE' | 'KEY_SPENDING' | 'CREDIT_LINE';

export interface RaisedAlert {
  readonly kind: AlertKind;
  readonly thresholdPercent: number;
  /** The balance that the company had set itself; null for a share. */
  readonly thresholdMicro: bigint | null;
  /** The key whose spending it is about; null where the company itself is meant. */
  readonly keyId: string | null;
  readonly keyName: string | null;
  readonly raisedAt: Date;
  /** When it was handed on to be mailed; null while it waits. */
  readonly mailedAt: Date | null;
}

const MOST_ALERTS = 100;

/** A company's newest alerts, the newest first. There are a few a month: they need no pages. */
export async function listAlerts(statements: Statements, companyId: string): Promise<readonly RaisedAlert[]> {
  return await statements.query<RaisedAlert>(
    `select alert.kind, alert.threshold_percent as "thresholdPercent",
       case when alert.kind = 'LOW_BALANCE' and alert.subject <> '' then alert.subject::bigint end as "thresholdMicro",
       key.id as "keyId", key.name as "keyName",
       alert.created_at as "raisedAt", alert.handed_on_at as "mailedAt"
     from credit_alerts as alert
     left join api_keys as key on alert.kind = 'KEY_SPENDING' and key.id::text = alert.subject
       and key.company_id = alert.company_id
     where alert.company_id = $1 order by alert.created_at desc, alert.threshold_percent limit ${MOST_ALERTS}`,
    [companyId],
  );
}

/**
 * The alerts that a change of balances raises, as the select behind an insert into credit_alerts. `changes` names a
 * relation with id, before, after, line, topped_up, topped_up_version and month ('YYYY-MM'), one row an account. The
 * thresholds stand in the database's function account_alerts, with the company's alert_settings: the charging of calls
 * passes them too.
 */
export function accountAlerts(changes: string): string {
  return `select id, alert.kind, alert.subject, alert.threshold_percent, alert.episode from ${changes},
    account_alerts(id, before, after, line, topped_up, topped_up_version, month) as alert`;
}

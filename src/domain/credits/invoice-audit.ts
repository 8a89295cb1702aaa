import type { AuditCheck } from './audit-check.ts';

/** Usage of POSTPAID times, by what is said of a transaction `used` and a span of its company. */
const IN_SPAN = `used.account_id = span.company_id and used.type = 'USAGE' and used.version > span.after_version
  and used.version <= coalesce(span.until_version, 9223372036854775807)`;

export const invoiceUsageCheck: AuditCheck = {
  holds: 'all usage of POSTPAID times up to the last invoice is in exactly one invoice',
  faults: `select format('invoice %s asks for %s micro-credits, but in its versions %s were used', invoice.id,
      usage_micro, coalesce(sum, 0))
    from invoices as invoice cross join lateral (
      select sum(-used.amount_micro) from postpaid_spans as span join credit_transactions as used on ${IN_SPAN}
      where span.company_id = invoice.company_id
        and used.version between invoice.first_version and invoice.last_version) as within
    where kind = 'POSTPAID' and usage_micro <> coalesce(sum, 0)
    union all
    select format('company %s has %s micro-credits of usage that count as invoiced, and invoices for %s', company_id,
      coalesce(counted.sum, 0), coalesce(asked.sum, 0))
    from (
      select span.company_id, sum(-used.amount_micro)
      from postpaid_spans as span join credit_transactions as used on ${IN_SPAN}
        and used.version <= span.invoiced_version
      group by span.company_id) as counted
    full join (
      select company_id, sum(usage_micro) from invoices where kind = 'POSTPAID' group by company_id) as asked
      using (company_id)
    where coalesce(counted.sum, 0) <> coalesce(asked.sum, 0)`,
};

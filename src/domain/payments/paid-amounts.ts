import type { Statements } from '../../ports/database.ts';

/** What was paid for a purchase or an invoice, what was given back of it, and the credits that are left of it. */
export interface PaidAmount {
  readonly currency: string;
  /** Taxes included; zero until it is paid. */
  readonly grossMinor: bigint;
  /** By refunds, lost disputes and credit notes. */
  readonly returnedMinor: bigint;
  /** Null for an invoice for usage. */
  readonly creditsLeftMicro: bigint | null;
}

type PaidRow = PaidAmount & { readonly id: string };

export async function paidForPurchases(
  statements: Statements,
  ids: readonly string[],
): Promise<ReadonlyMap<string, PaidAmount>> {
  const rows = await statements.query<PaidRow>(
    `select id, purchase.currency,
       case when status = 'COMPLETED' then purchase.amount_minor + tax_minor else 0 end as "grossMinor",
       coalesce(sum(refunded_minor), 0)::bigint as "returnedMinor",
       (case when status = 'COMPLETED' then credits_micro else 0 end
         - coalesce(sum(coalesce(taken_micro, refunded_micro)), 0))::bigint as "creditsLeftMicro"
     from credit_pack_purchases as purchase
     left join charge_refunds on source_kind = 'PURCHASE' and source_id = id::text
     where id = any($1::uuid[]) group by id`,
    [ids],
  );
  return new Map(rows.map(({ id, ...paid }) => [id, paid]));
}

/** A plan's credits are those that its invoice moved. Corrections of a usage invoice are credit notes. */
export async function paidForInvoices(
  statements: Statements,
  ids: readonly string[],
): Promise<ReadonlyMap<string, PaidAmount>> {
  const rows = await statements.query<PaidRow>(
    `select invoice.id, invoice.currency,
       case when invoice.status = 'PAID' then coalesce(plan.amount_minor, invoice.amount_minor) else 0 end as "grossMinor",
       (case when invoice.status = 'PAID' then invoice.credited_minor else 0 end
         + coalesce(sum(refunded_minor) filter (where usage_micro is null or not starts_with(charge_id, 'cn_')), 0))::bigint
         as "returnedMinor",
       (coalesce(purchase.credits_micro, plan.credits_micro)
         - coalesce(sum(coalesce(taken_micro, refunded_micro)), 0))::bigint as "creditsLeftMicro"
     from invoices as invoice
     left join credit_pack_purchases as purchase on purchase.company_id = invoice.company_id
       and purchase.invoice_id = invoice.id and purchase.status = 'COMPLETED'
     left join plan_grants as plan on plan.provider_invoice_id = invoice.provider_invoice_id
     left join charge_refunds on source_kind = 'INVOICE' and source_id = invoice.id::text
       or source_kind = 'PURCHASE' and source_id = purchase.id::text
       or source_kind = 'PLAN_GRANT' and source_id = plan.provider_invoice_id
     where invoice.id = any($1::uuid[]) group by invoice.id, purchase.id, plan.provider_invoice_id`,
    [ids],
  );
  return new Map(rows.map(({ id, ...paid }) => [id, paid]));
}

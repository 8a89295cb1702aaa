import type { Transaction } from '../../ports/database.ts';

export interface CompanyHints {
  readonly customerId: string | null;
  readonly subscriptionId?: string | null;
  /** Out of the object's metadata. */
  readonly companyId: string | null;
}

/**
 * Whose an object of the provider's is: the company of its customer; else that of its subscription; else the one
 * named in the metadata, unless that one has another customer.
 */
export async function companyOf(transaction: Transaction, hints: CompanyHints): Promise<string | null> {
  const [row] = await transaction.query<{ id: string }>(
    `select id from (
       select id, 1 as place from companies where provider_customer_id = $1
       union all
       select company_id, 2 from subscriptions where provider_subscription_id = $2
       union all
       select id, 3 from companies where id = $3::uuid and (provider_customer_id is null or $1::text is null)
     ) as found order by place limit 1`,
    [hints.customerId, hints.subscriptionId ?? null, hints.companyId],
  );
  return row?.id ?? null;
}

/**
 * Everything that an event does to a company is done under this lock, taken first: so events of one company come one
 * after the other, and nobody who locks the account before the company, as all do, can be waited for in a circle.
 */
export async function lockCompany(transaction: Transaction, companyId: string): Promise<void> {
  await transaction.query('select 1 from credit_accounts where id = $1 for update', [companyId]);
}

/** Notes a company's customer where it has none and nobody else has that one. True where it did. */
export async function linkCustomer(
  transaction: Transaction,
  companyId: string,
  customerId: string | null,
): Promise<boolean> {
  if (customerId === null) return false;
  const linked = await transaction.query(
    `update companies set provider_customer_id = $2, updated_at = now()
     where id = $1 and provider_customer_id is null
       and not exists (select 1 from companies where provider_customer_id = $2)
     returning id`,
    [companyId, customerId],
  );
  return linked.length > 0;
}

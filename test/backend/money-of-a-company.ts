import type { BackendUnderTest } from './backend-under-test.ts';

export interface MoneyOf {
  readonly invoiceId: string;
  readonly purchaseId: string;
  readonly subscriptionId: string;
  readonly idempotencyKey: string;
}

/** What a company may have bought and owe. */
export async function makeMoneyOf(backend: BackendUnderTest, companyId: string): Promise<MoneyOf> {
  const { newId } = backend.parts.secrets;
  const [planId, packId, now] = [newId(), newId(), new Date(backend.clock.now())];
  const made = { invoiceId: newId(), purchaseId: newId(), subscriptionId: newId(), idempotencyKey: newId() };
  const { database } = backend;
  await database.query(
    `insert into plans (id, name, billing_mode, price_minor, currency, credits_micro, billing_interval)
     values ($1, 'Theirs', 'PREPAID', 1, 'usd', 1, 'MONTH')`,
    [planId],
  );
  await database.query(
    `insert into credit_packs (id, name, credits_micro, price_minor, currency, sort_order, status)
     values ($1, 'Theirs', 1, 1, 'usd', 1, 'RETIRED')`,
    [packId],
  );
  await database.query(
    `insert into invoices (id, company_id, kind, status, amount_minor, currency) values ($1, $2, 'MANUAL', 'OPEN', 1, 'usd')`,
    [made.invoiceId, companyId],
  );
  await database.query(
    `insert into credit_pack_purchases (id, company_id, credit_pack_id, status, credits_micro, amount_minor, currency,
       created_at, updated_at) values ($1, $2, $3, 'PENDING', 1, 1, 'usd', $4, $4)`,
    [made.purchaseId, companyId, packId, now],
  );
  await database.query(
    `insert into subscriptions (id, company_id, plan_id, status, is_active, told_at, told_rank, created_at, updated_at)
     values ($1, $2, $3, 'ACTIVE', true, $4, 1, $4, $4)`,
    [made.subscriptionId, companyId, planId, now],
  );
  await backend.people.superAdmin.ask(
    `mutation($id: ID!, $key: String!) {
      adjustCredits(companyId: $id, credits: 1, reason: "x", idempotencyKey: $key) { id } }`,
    { id: companyId, key: made.idempotencyKey },
  );
  return made;
}

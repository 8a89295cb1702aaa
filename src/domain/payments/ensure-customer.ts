import type { Database } from '../../ports/database.ts';
import type { PaymentProvider } from '../../ports/payment-provider.ts';
import type { Secrets } from '../../ports/secrets.ts';

export interface CustomerParts {
  readonly database: Database;
  readonly provider: Pick<PaymentProvider, 'createCustomer'>;
  readonly secrets: Pick<Secrets, 'sha256'>;
  /** Told of each customer that was noted: events may wait for it. */
  readonly onCustomer?: (customerId: string) => Promise<void>;
}

export type EnsuredCustomer =
  | { readonly outcome: 'ensured'; readonly customerId: string }
  | { readonly outcome: 'no-such-company' }
  | { readonly outcome: 'provider-failed'; readonly message: string };

interface CompanyRow {
  readonly name: string;
  readonly customerId: string | null;
  readonly email: string | null;
}

/**
 * The company's customer at the provider, made before anything is bought: so every event about it finds its company.
 * One a company, also when asked for twice at once: the provider gives the same one for the same key, and the first
 * that is noted counts. The key holds what the customer is made of, for the provider refuses a key with other words.
 */
export async function ensureCustomer(parts: CustomerParts, companyId: string): Promise<EnsuredCustomer> {
  const { database, provider, secrets, onCustomer } = parts;
  const company = await readCompany(database, companyId);
  if (company === null) return { outcome: 'no-such-company' };
  if (company.customerId !== null) return { outcome: 'ensured', customerId: company.customerId };
  const { name, email } = company;
  const words = secrets
    .sha256(JSON.stringify([name, email]))
    .toHex()
    .slice(0, 16);
  const wanted = { name, email, metadata: { companyId } };
  const made = await provider.createCustomer(wanted, `company:${companyId}:customer:${words}`);
  if (made.outcome === 'failed') return { outcome: 'provider-failed', message: made.failure.message };
  await database.query(
    `update companies set provider_customer_id = $2, updated_at = now()
     where id = $1 and provider_customer_id is null`,
    [companyId, made.value.id],
  );
  const customerId = (await readCompany(database, companyId))?.customerId ?? made.value.id;
  await onCustomer?.(customerId);
  return { outcome: 'ensured', customerId };
}

/** The address is that of the first admin: whoever asks, the words are the same. */
async function readCompany(database: Database, companyId: string): Promise<CompanyRow | null> {
  const [row] = await database.query<CompanyRow>(
    `select name, provider_customer_id as "customerId",
       (select email from users where company_id = companies.id and role = 'COMPANY_ADMIN' and removed_at is null
        order by created_at, id limit 1) as email
     from companies where id = $1`,
    [companyId],
  );
  return row ?? null;
}

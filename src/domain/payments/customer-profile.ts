import type { Database } from '../../ports/database.ts';
import type { Log } from '../../ports/log.ts';
import type { CustomerProfile, PaymentProvider } from '../../ports/payment-provider.ts';
import { type Company, companiesWithStaleCustomer, markCustomerFresh } from '../accounts/company.ts';
import { listAdmins } from '../accounts/members.ts';

interface CustomerProfileParts {
  readonly database: Database;
  readonly provider: Pick<PaymentProvider, 'updateCustomer'>;
  readonly log: Log;
}

const COMPANIES_AT_ONCE = 100;

/**
 * Updates the customers at the provider, whose invoices show the companies' profiles: one company at once, or by the
 * job all whose update failed. Returns how many were updated.
 */
export async function updateStaleCustomers(
  { database, provider, log }: CustomerProfileParts,
  { companyId = null }: { readonly companyId?: string | null } = {},
): Promise<number> {
  const stale = await companiesWithStaleCustomer(database, { companyId, limit: COMPANIES_AT_ONCE });
  let brought = 0;
  for (const company of stale) {
    const { id, providerCustomerId } = company;
    if (providerCustomerId === null) continue;
    const profile = profileOf(company, (await listAdmins(database, id, { limit: 1 }))[0]?.email ?? null);
    const answer = await provider.updateCustomer(providerCustomerId, profile);
    // A customer that the provider does not have is replaced at the next checkout, with the profile of that time.
    if (answer.outcome === 'failed' && answer.failure.reason !== 'not-found') {
      const { reason, message } = answer.failure;
      log.warn('the payment provider did not take the profile of a company', {
        companyId: id,
        reason,
        message,
      });
      if (reason !== 'refused') continue;
    }
    await markCustomerFresh(database, company);
    brought += 1;
  }
  return brought;
}

/** The parameters of a customer. */
function profileOf(
  { name, address, taxId, billingEmail }: Company,
  adminEmail: string | null,
): CustomerProfile {
  return { name, email: billingEmail ?? adminEmail, address, taxId };
}

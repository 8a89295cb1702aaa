import type { Statements, Transaction } from '../../ports/database.ts';
import type { GrantSource } from '../credits/ledger/credit-lots.ts';

/**
 * The states of a purchase: PENDING, then COMPLETED by a paid checkout, or CANCELED if the checkout could not be opened
 * or has expired. A later payment completes a CANCELED one too; COMPLETED is final, even after a refund.
 */
export type PurchaseStatus = 'PENDING' | 'COMPLETED' | 'CANCELED';

export interface CreditPackPurchase {
  readonly id: string;
  readonly companyId: string;
  readonly creditPackId: string;
  readonly status: PurchaseStatus;
  readonly creditsMicro: bigint;
  /** Days from the grant until they expire; null is never. */
  readonly creditsExpireAfterDays: number | null;
  readonly amountMinor: bigint;
  /** Paid on top of the amount. */
  readonly taxMinor: bigint;
  readonly currency: string;
  readonly providerSessionId: string | null;
  readonly providerPaymentIntentId: string | null;
  readonly invoiceId: string | null;
  readonly createdAt: Date;
  readonly completedAt: Date | null;
  readonly updatedAt: Date;
}

/** A row of `credit_pack_purchases` as a CreditPackPurchase. */
const PURCHASE_COLUMNS = `id, company_id as "companyId", credit_pack_id as "creditPackId", status,
  credits_micro as "creditsMicro", credits_expire_after_days as "creditsExpireAfterDays", amount_minor as "amountMinor", tax_minor as "taxMinor", currency,
  provider_session_id as "providerSessionId", provider_payment_intent_id as "providerPaymentIntentId",
  invoice_id as "invoiceId", created_at as "createdAt", completed_at as "completedAt", updated_at as "updatedAt"`;

const MOST_PURCHASES = 500;

/** The posting of a completed purchase. */
export function purchaseGrantOf(purchaseId: string): GrantSource {
  return { sourceKind: 'credit-pack-purchase', sourceId: purchaseId };
}

/** A company's purchases, newest first. `after` is the last id of the previous page. */
export async function listPurchases(
  statements: Statements,
  companyId: string,
  { limit = MOST_PURCHASES, after }: { readonly limit?: number; readonly after?: string } = {},
): Promise<readonly CreditPackPurchase[]> {
  return await statements.query<CreditPackPurchase>(
    `select ${PURCHASE_COLUMNS} from credit_pack_purchases
     where company_id = $1 and ($2::uuid is null or id < $2) order by id desc limit $3`,
    [companyId, after ?? null, Math.max(1, Math.min(Math.trunc(limit), MOST_PURCHASES))],
  );
}

/** By the session, otherwise by the payment, otherwise by the id in the metadata. */
export async function purchaseOf(
  transaction: Transaction,
  hints: {
    readonly sessionId?: string | null;
    readonly paymentId: string | null;
    readonly purchaseId: string | null;
  },
): Promise<CreditPackPurchase | null> {
  const [row] = await transaction.query<CreditPackPurchase>(
    `select ${PURCHASE_COLUMNS} from credit_pack_purchases
     where provider_session_id = $1 or provider_payment_intent_id = $2 or id = $3::uuid
     order by provider_session_id is not distinct from $1::text and $1::text is not null desc,
       provider_payment_intent_id is not distinct from $2::text and $2::text is not null desc
     limit 1`,
    [hints.sessionId ?? null, hints.paymentId, hints.purchaseId],
  );
  return row ?? null;
}

/** By the invoice that was written for it. */
export async function purchaseOfInvoice(
  transaction: Transaction,
  invoiceId: string,
): Promise<CreditPackPurchase | null> {
  const [row] = await transaction.query<CreditPackPurchase>(
    `select ${PURCHASE_COLUMNS} from credit_pack_purchases where invoice_id = $1 limit 1`,
    [invoiceId],
  );
  return row ?? null;
}

/** After the company's lock: what it was before the lock may be old. */
export async function lockPurchase(transaction: Transaction, id: string): Promise<CreditPackPurchase> {
  const [row] = await transaction.query<CreditPackPurchase>(
    `select ${PURCHASE_COLUMNS} from credit_pack_purchases where id = $1 for update`,
    [id],
  );
  if (row === undefined) throw new Error(`purchase ${id} has disappeared`);
  return row;
}

/** Nothing was paid, and the checkout has expired. A payment that still arrives completes the purchase. */
export async function cancelPurchase(statements: Statements, id: string, now: Date): Promise<void> {
  await statements.query(
    `update credit_pack_purchases set status = 'CANCELED', updated_at = $2 where id = $1 and status = 'PENDING'`,
    [id, now],
  );
}

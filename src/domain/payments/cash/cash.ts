import type { Statements, Transaction } from '../../../ports/database.ts';
import type { Invoice } from '../../credits/invoices/invoice.ts';
import { readInvoiceMoney } from '../plan-lines.ts';
import { minorIn } from '../provider-objects.ts';

/**
 * The money behind credits: `received` is money in, `refunded` and `disputed` (lost disputes) money out, and `balance`
 * what was paid from the customer's balance at the provider, negative for what was added to it. The provider knows all
 * of it except what is `outside`.
 */
export type CashAccount = 'received' | 'refunded' | 'disputed' | 'balance';
export type CashSource = 'credit-pack-purchase' | 'invoice' | 'charge-refund' | 'credit-note' | 'dispute';

interface CashEntry {
  readonly companyId: string;
  readonly account: CashAccount;
  readonly currency: string;
  /** Zero makes no entry. */
  readonly amountMinor: bigint;
  readonly outside?: boolean;
  readonly sourceKind: CashSource;
  readonly sourceId: string;
  /** Distinguishes several entries of one source and account. */
  readonly step?: string;
  readonly reason?: string | null;
  readonly happenedAt: Date;
}

/** Once per source, account and step, in the transaction that posts its credits. False if it was posted before. */
export async function postCash(transaction: Transaction, entry: CashEntry): Promise<boolean> {
  if (entry.amountMinor === 0n) return false;
  const rows = await transaction.query(
    `insert into cash_entries (company_id, account, currency, amount_minor, outside, source_kind, source_id, step, reason,
       happened_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) on conflict do nothing returning id`,
    [
      ...[entry.companyId, entry.account, entry.currency, entry.amountMinor, entry.outside ?? false],
      ...[entry.sourceKind, entry.sourceId, entry.step ?? '', entry.reason ?? null, entry.happenedAt],
    ],
  );
  return rows.length > 0;
}

/** For an invoice that the provider reports as paid. The money of a pack belongs to its purchase. */
export async function postInvoiceCash(
  transaction: Transaction,
  { id, companyId, currency, kind }: Invoice,
  wire: Readonly<Record<string, unknown>>,
  happenedAt: Date,
): Promise<void> {
  if (kind === 'PACK') return;
  const balanceMinor = takenFromBalance(wire);
  const receivedMinor = readInvoiceMoney(wire).paidMinor - balanceMinor;
  const source = { companyId, currency, happenedAt, sourceKind: 'invoice', sourceId: id } as const;
  const outside = wire.paid_out_of_band === true;
  if (receivedMinor > 0n) {
    await postCash(transaction, { ...source, account: 'received', amountMinor: receivedMinor, outside });
  }
  await postCash(transaction, { ...source, account: 'balance', amountMinor: balanceMinor });
}

/** What an invoice took from the customer's balance at the provider; negative if it added to it. */
export function takenFromBalance(wire: Readonly<Record<string, unknown>>): bigint {
  const startMinor = minorIn(wire.starting_balance) ?? 0n;
  return (minorIn(wire.ending_balance) ?? startMinor) - startMinor;
}

/** For a purchase: its provider invoice may have been reported before it was known to be a pack's. */
export async function postPurchaseCash(
  transaction: Transaction,
  purchase: Pick<CashEntry, 'companyId' | 'currency' | 'amountMinor' | 'happenedAt'> & {
    readonly id: string;
    readonly invoiceId: string;
  },
): Promise<void> {
  const { id, invoiceId, ...money } = purchase;
  const posted = await transaction.query<{ account: CashAccount; minor: bigint }>(
    `select account, sum(amount_minor)::bigint as minor from cash_entries
     where source_kind = 'invoice' and source_id = $1 group by account`,
    [invoiceId],
  );
  for (const { account, minor } of posted) {
    await postCash(transaction, {
      ...{ ...money, account, amountMinor: -minor, sourceKind: 'invoice', sourceId: invoiceId },
      ...{ step: 'of-purchase', reason: `the money is that of purchase ${id}` },
    });
  }
  await postCash(transaction, {
    ...{ ...money, account: 'received', sourceKind: 'credit-pack-purchase', sourceId: id },
  });
}

/**
 * Adds entries for payments from before the cash accounts, and for those that processes of the previous version wrote.
 * Returns how many.
 */
export async function postMissingCash(statements: Statements): Promise<number> {
  const [row] = await statements.query<{ posted: bigint }>('select post_missing_cash() as posted');
  return Number(row?.posted ?? 0n);
}

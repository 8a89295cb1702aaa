import type { Statements, Transaction } from '../../../ports/database.ts';
import { lockCompanyRow } from '../../accounts/company.ts';
import { leastMinorOf } from '../../catalog/currency.ts';
import type { AccountLevel } from '../ledger/credit-account.ts';
import { postTransaction } from '../ledger/ledger.ts';
import { findInvoice, INVOICE_COLUMNS, type Invoice } from './invoice.ts';

/** A part of what is given back of a call that a POSTPAID company pays by invoice. */
export interface InvoicePart {
  /** The version of the account at which the call was charged. */
  readonly version: bigint;
  readonly creditsMicro: bigint;
  /** Null until its usage is invoiced. */
  readonly invoice: Invoice | null;
}

interface Correction {
  readonly correctionId: string;
  readonly companyId: string;
  /** Shown on a credit note. */
  readonly memo: string;
}

/**
 * Where the call is invoiced: its charge, and what was withheld of it and posted. Empty for what the company paid in advance.
 * The company stays locked until the transaction ends, so that its usage is not invoiced in the meantime.
 */
export async function partsOnInvoices(
  transaction: Transaction,
  companyId: string,
  { callId, creditsMicro }: { readonly callId: string; readonly creditsMicro: bigint },
): Promise<readonly InvoicePart[]> {
  await lockCompanyRow(transaction, companyId);
  const charges = await transaction.query<{ version: bigint; leftMicro: bigint }>(
    `select version, (-amount_micro - coalesce((select sum(credits_micro) from invoice_credits as credit
         where credit.company_id = $1 and credit.version = posted.version), 0))::bigint as "leftMicro"
     from credit_transactions as posted
     where account_id = $1 and source_kind in ('call', 'withheld-usage') and source_id = $2 order by version`,
    [companyId, callId],
  );
  const parts: InvoicePart[] = [];
  let restMicro = creditsMicro;
  for (const { version, leftMicro } of charges) {
    const partMicro = leftMicro < restMicro ? leftMicro : restMicro;
    if (partMicro <= 0n) continue;
    restMicro -= partMicro;
    const place = await placeOf(transaction, companyId, version);
    if (place !== 'paid-before') parts.push({ version, creditsMicro: partMicro, invoice: place });
  }
  return parts;
}

async function placeOf(
  transaction: Transaction,
  companyId: string,
  version: bigint,
): Promise<'paid-before' | Invoice | null> {
  const [place] = await transaction.query<{ isInvoiced: boolean; invoiceId: string | null }>(
    `select late.version is not null or $2 <= invoiced_version as "isInvoiced", invoice_id as "invoiceId"
     from postpaid_spans as span
     left join usage_before_midnight as late on late.company_id = span.company_id and late.version = $2
     where span.company_id = $1 and $2 > after_version and $2 <= coalesce(until_version, $2)`,
    [companyId, version],
  );
  if (place === undefined) return 'paid-before';
  if (!place.isInvoiced) return null;
  const [invoice] = await transaction.query<Invoice>(
    `select ${INVOICE_COLUMNS} from invoices
     where company_id = $1 and kind = 'POSTPAID'
       and case when $3::uuid is null then $2 between first_version and last_version else id = $3 end
     order by first_version desc limit 1 for update`,
    [companyId, version, place.invoiceId],
  );
  // All usage of that time was given back before it was invoiced.
  return invoice ?? 'paid-before';
}

/**
 * Takes a part off its invoice: what that asks for and what its payment returns become less. A job makes the credit note at
 * the payment provider. What was paid already is returned there, to the customer's balance. If it is not invoiced yet, it
 * comes off the usage. Returns the level that this left, if it changed the balance.
 */
export async function creditInvoice(
  transaction: Transaction,
  correction: Correction,
  part: InvoicePart,
): Promise<AccountLevel | null> {
  const { creditsMicro } = part;
  // Another part of the correction may have changed it.
  const invoice = part.invoice === null ? null : await findInvoice(transaction, part.invoice.id);
  if (invoice === null) {
    await insertCredit(transaction, correction, part, null);
    return null;
  }
  const { id, companyId, usageMicro, creditedMicro, creditedMinor, status } = invoice;
  if (usageMicro === null) throw new Error(`invoice ${id} is not for usage`);
  const dueMinor = dueAfter(invoice, usageMicro - creditedMicro - creditsMicro);
  const amountMinor = invoice.amountMinor - creditedMinor - dueMinor;
  await insertCredit(transaction, correction, part, amountMinor);
  await transaction.query(
    `update invoices set credited_micro = credited_micro + $2, credited_minor = credited_minor + $3, updated_at = now()
     where id = $1`,
    [id, creditsMicro, amountMinor],
  );
  if (status !== 'PAID') return null;
  const posted = await postTransaction(transaction, {
    ...{ accountId: companyId, type: 'INVOICE_PAYMENT', contra: 'receivables', amountMicro: -creditsMicro },
    ...{ sourceKind: 'invoice-credit', sourceId: `${id}/${correction.correctionId}/${part.version}` },
    reason: `${amountMinor} ${invoice.currency} of invoice ${invoice.number} are on the customer's balance`,
  });
  if (posted.outcome !== 'posted') throw new Error(`a credit of invoice ${id}: ${posted.outcome}`);
  return posted.level;
}

/** What is due for a part of the usage, rounded up to the smallest amount payable: nothing for none. */
function dueAfter({ amountMinor, usageMicro, currency }: Invoice, leftMicro: bigint): bigint {
  const leastMinor = leastMinorOf(currency);
  const step = (usageMicro ?? 1n) * leastMinor;
  const minor = ((amountMinor * leftMicro + step - 1n) / step) * leastMinor;
  return minor < amountMinor ? minor : amountMinor;
}

async function insertCredit(
  transaction: Transaction,
  { correctionId, companyId, memo }: Correction,
  { version, creditsMicro, invoice }: InvoicePart,
  amountMinor: bigint | null,
): Promise<void> {
  await transaction.query(
    `insert into invoice_credits (correction_id, company_id, version, credits_micro, memo, invoice_id, is_counted, amount_minor)
     values ($1, $2, $3, $4, $5, $6, $6::uuid is not null, $7)`,
    [correctionId, companyId, version, creditsMicro, memo, invoice?.id ?? null, amountMinor],
  );
}

/** A credit note that the payment provider does not have yet. */
export interface NoteToMake {
  readonly correctionId: string;
  readonly version: bigint;
  readonly amountMinor: bigint;
  readonly memo: string;
}

const MOST_NOTES = 100;

/** In the order of the corrections. */
export async function listNotesToMake(
  statements: Statements,
  invoiceId: string,
): Promise<readonly NoteToMake[]> {
  return await statements.query<NoteToMake>(
    `select correction_id as "correctionId", version, amount_minor as "amountMinor", memo from invoice_credits
     where invoice_id = $1 and amount_minor > 0 and provider_credit_note_id is null
     order by correction_id, version limit ${MOST_NOTES}`,
    [invoiceId],
  );
}

export async function noteMade(
  statements: Statements,
  { correctionId, version }: NoteToMake,
  providerCreditNoteId: string,
): Promise<void> {
  await statements.query(
    'update invoice_credits set provider_credit_note_id = $3 where correction_id = $1 and version = $2',
    [correctionId, version, providerCreditNoteId],
  );
}
